// SPDX-License-Identifier: Apache-2.0
// tools/compile/convert/bf16_weights.h - weights that a bf16 program rounds whenever it runs: the
// file has them rounded, at half the bytes.
#pragma once
#include <vector>

#include "tools/compile/write/program_builder.h"

namespace ingot::convert {

/// By value: whether it is a constant that nothing but products of bf16 reads.
std::vector<bool> find_bf16_weights(const ProgramSpec& program);

}  // namespace ingot::convert
