// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/in_place.h - results that overwrite an operand read there for the last time
// (decisions D5).
#pragma once
#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Marks output 0 of an instruction as in-place over an operand where the contract allows it for
/// every trial binding, both are dense, the operand's storage is no port, constant or state and is
/// not touched afterwards, and no other operand lies in it. For the order the instructions have
/// now. Returns how many.
uint32_t apply_in_place(LoweredProgram* lowered);

}  // namespace ingot::convert
