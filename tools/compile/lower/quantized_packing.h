// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/quantized_packing.h - from dense integer weights to the packings of
// schema/ingot.fbs. What is padding is zero.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace ingot {

/// dims [O, kh, kw, C] or [O, K] -> [ceil(O/16)][groups of 4][16][4], a run of kw * C bytes (or K)
/// for each kernel row. @throws std::invalid_argument where dims and `dense` do not agree.
std::vector<uint8_t> pack_panels16x4(std::span<const int8_t> dense, std::span<const int64_t> dims);

/// dims [O, k] -> [ceil(O/16)][k][16].
std::vector<uint8_t> pack_panels16(std::span<const int8_t> dense, int64_t outputs, int64_t k);

/// Rows of k numbers of -8 .. 7 -> rows of ceil(k / 2) bytes, the first of two in the low half.
/// @throws std::invalid_argument for any other number.
std::vector<int8_t> pair_nibbles(std::span<const int8_t> numbers, int64_t k);

/// dims [C, kh, kw, 1] -> [kh * kw][ceil(C/16) * 16].
std::vector<uint8_t> pack_depthwise16(std::span<const int8_t> dense, int64_t channels,
                                      int64_t taps);

/// Numbers of channels, 4 bytes each, rows behind one another, each padded to a multiple of 16.
std::vector<uint8_t> pack_channels(std::span<const std::span<const uint8_t>> rows);

}  // namespace ingot
