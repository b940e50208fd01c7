// SPDX-License-Identifier: Apache-2.0
// tools/session/make_inputs.h - valid inputs for a model that nobody gave any for.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

/// Numbers of input i stay below the returned bound (0: not an integer, or nothing known): where an
/// integer input reaches the indices of a gather, the shortest dimension of what is gathered from.
int64_t index_bound(const Engine& engine, uint32_t i);

/// The constant that a single integer, input i, is compared with for equality, as a sample rate is
/// that chooses a branch; 0: with none.
int64_t compared_with(const Engine& engine, uint32_t i);

/// The same for every call and machine. Floats lie in [0, 1); integers that reach a gather lie in
/// its range; a single integer that the program compares with a constant is that constant; other
/// integers and booleans are 1, as masks and lengths are. Another `draw` gives other numbers.
host::Array make_input(const Engine& engine, uint32_t i, const ingot_tensor& like,
                       uint64_t draw = 0);

}  // namespace ingot::cli
