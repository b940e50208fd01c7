// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/packing.h - from dense canonical weights to the packings of schema/ingot.fbs.
// Lanes past the last output are zero.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/op/tensor.h"

namespace ingot {

/// dims [O, ...] with K = the product of the rest -> [ceil(O/16)][K][16].
std::vector<float> pack_panels16(std::span<const float> dense, int64_t outputs, int64_t k);

/// dims [O, 3, 3, C] -> [ceil(O/16)][36][C][16]: U = G g G^T of F(4x4, 3x3), evaluated in double,
/// rounded once.
std::vector<float> pack_winograd_f43(std::span<const float> dense, int64_t outputs,
                                     int64_t channels);

/// dims [C, kh, kw, 1] -> [kh * kw][ceil(C/16) * 16].
std::vector<float> pack_depthwise16(std::span<const float> dense, int64_t channels, int64_t taps);

/// dims [C] -> zero-padded to a multiple of 16.
std::vector<float> pack_vector16(std::span<const float> dense);

/// Any of them, from the dims of the dense tensor. Throws std::invalid_argument where packing and
/// dims do not fit each other or `dense` has another number of elements.
std::vector<float> pack_weights(Packing packing, std::span<const int64_t> dims,
                                std::span<const float> dense);

}  // namespace ingot
