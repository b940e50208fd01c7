// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/job.inl - what the tiles of products with weights in blocks share.
// Contract: runtime/op/block_linear.h.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/half.inl"
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/block_linear.h"

namespace ingot::cpu {
namespace {
namespace blocks {

using block_weights::kOutputs;

/// Rows of BlockQuantize; of f32, for f16 and bf16.
struct BlockRows {
  const uint8_t* bytes;
  int64_t stride, k, units;
  INGOT_INLINE const int8_t* codes(int64_t row) const {
    return reinterpret_cast<const int8_t*>(bytes + row * stride);
  }
  /// f32, as words: rows are views of bytes, aligned as such.
  INGOT_INLINE const uint8_t* scales(int64_t row) const { return bytes + row * stride + k; }
  /// i32 or f32, as the type has it.
  INGOT_INLINE const uint8_t* words(int64_t row) const {
    return bytes + row * stride + k + 4 * units;
  }
};
INGOT_INLINE int32_t integer_at(const uint8_t* words, int64_t i) {
  int32_t word;
  std::memcpy(&word, words + 4 * i, 4);
  return word;
}
INGOT_INLINE float float_at(const uint8_t* words, int64_t i) {
  float word;
  std::memcpy(&word, words + 4 * i, 4);
  return word;
}
/// Four bytes of a row, for a broadcast.
INGOT_INLINE int32_t quad(const int8_t* p) {
  int32_t four;
  std::memcpy(&four, p, 4);
  return four;
}

/// A slice of a panel: codes [32 k][group][half][16][4] from zero on (signed where tiles multiply
/// so), scales and minima f32 [sub][32], minima negative in types of 256.
struct Expanded {
  uint8_t* codes;
  float *scales, *minima;
};
inline Expanded expanded_at(void* scratch) {
  uint8_t* const p = static_cast<uint8_t*>(scratch);
  return {p, reinterpret_cast<float*>(p + block_weights::kExpandedScales),
          reinterpret_cast<float*>(p + block_weights::kExpandedMinima)};
}

/// What codes of 4 bits are multiplied as: level + zero.
template <BlockType t, int zero>
struct LevelBytes {
  alignas(16) uint8_t at[16] = {};
  constexpr LevelBytes() {
    for (int i = 0; i < 16; i++) at[i] = block_weights::level_at(block_format(t), i, zero);
  }
};
template <BlockType t, int zero>
constexpr LevelBytes<t, zero> kLevelBytes;

template <BlockType t>
struct OfType {
  static constexpr BlockType kType = t;
};
/// Calls f(OfType<type>()) where that is a type of codes.
template <int last = kBlockTypes - 1, class F>
void with_codes(BlockType type, const F& f) {
  constexpr BlockType kOwn = BlockType(last);
  if constexpr (!block_format(kOwn).is_float())
    if (type == kOwn) return f(OfType<kOwn>());
  if constexpr (last > 0) with_codes<last - 1>(type, f);
}

/// The first type whose sums and scales are laid out alike: one kernel serves both.
template <class Alike>
constexpr BlockType first_alike(BlockType type, Alike alike) {
  for (int i = 0; i < int(type); i++)
    if (alike(block_format(BlockType(i)), block_format(type))) return BlockType(i);
  return type;
}
constexpr bool sums_alike(const BlockFormat& a, const BlockFormat& b) {
  return a.unit == b.unit && a.sub == b.sub && a.has_min == b.has_min;
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
