// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/carry.h - what a loop carries is written where it lies, instead of being
// copied there.
#pragma once
#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Drops the copies before a loop and at the end of its body where the instruction that makes the
/// value can write the carried storage itself: nobody reads the value of before after that. Returns
/// how many went.
uint32_t write_carried_in_place(LoweredProgram* lowered);

}  // namespace ingot::convert
