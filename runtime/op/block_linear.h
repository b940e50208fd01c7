// SPDX-License-Identifier: Apache-2.0
// runtime/op/block_linear.h - products with weights in blocks, as language models are published:
// BlockQuantize, BlockLinear, BlockGather.
//
// A block is `unit` weights of one output that share a scale (and a minimum) of 16 bits. The types
// have the names and the numbers of GGUF:
//
//   q4_0 q5_0 q8_0   w = d * (code - zero)               unit 32, zero 8, 16, 128
//   q4_1 q5_1        w = d * code + m                    unit 32
//   q4_k q5_k        w = d * s * code - dmin * m         unit 256, s and m of 6 bits for each 32
//   q6_k             w = d * s * (code - 32)             unit 256, s of 8 bits for each 16
//
// Packing blocks32, dims [O, bytes of a row]: panels of 32 outputs, [ceil(O/32)][K/unit][32
// blocks].
// The 32 blocks of a panel have the bytes of 32 blocks of GGUF in another order, so a panel is one
// sequential stream: nothing is repacked at load. Lanes past O are zero.
//   unit 32:  [d f16 x 32][m f16 x 32, if any][codes]
//   q4_k q5_k [d x 32][dmin x 32][low 4 bits of s: 4 x 32][of m][high 2 bits of s: 2 x 32][of m]
//             [codes of 32] x 8
//   q6_k      [d x 32][s i8: 16 x 32][codes of 32] x 8
//   Low 4 bits of s (and m): byte j has group j in its low and group j + 4 in its high half. High 2
//   bits: byte i has groups 4i .. 4i + 3 from the lowest bits on.
//   codes of 32, for 32 outputs: [fifth bits, 16 x 64 bits][low 4 bits][high 2 bits, 4 x 64 bytes]
//             as the type has them; 8 bits: [group][half][16 outputs][4]. A group is four k of one
//             output, halves are outputs 0 .. 15 and 16 .. 31. Low 4 bits: [g][half][16][4], byte
//             g has group g and, in its high half, group g + 4. Fifth bits: [group][half], bit i of
//             byte i of that group. High 2 bits: [group / 4][half][16][4], group % 4 in bits
//             2 (group % 4) and up. Codes of 8 bits are code - 128, in two's complement.
//
// BlockQuantize   x f32 [..., K] -> y u8 [..., bytes]: a row is q i8 [K], s f32 [K/unit], then for
//           each `sub` of k (32; 16 of q6_k) a word. In each unit: amax = max |x|, s = amax / 127,
//           q = round_to_even(x * (127 / amax)). amax below 2^-100: q = 0, s = 0. amax not finite:
//           q = 0, s = NaN. Word: of types with a zero, i32 -zero * sum(q); with a minimum, f32
//           sum(q), times s where unit is 32.
// BlockLinear     x as BlockQuantize of the same type gives it, w, [bias f32 [O]], [residual of
//           y's dims] -> y f32 [..., O]. i = sum(code * q) (+ word), exact in 32 bits.
//           unit 32:  y = fma(float(i), d * s, y); with minima then y = fma(m, word, y)
//           unit 256: for each sub: f = fma(float(i), d * s', f), f = fma(-(dmin * m'), word, f);
//                     y = fma(f, s, y)
//           units ascending, from zero; then + bias, + residual. The bits depend neither on the
//           instruction set, the number of threads nor on other rows.
// BlockGather     w, indices i32 or i64 -> y f32 [indices.., K]: weights of those outputs. With a
//           minimum fma(code, scale, minimum), else (code - zero) * scale.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class BlockType : uint8_t {
  kQ4_0 = 0,
  kQ4_1 = 1,
  kQ5_0 = 2,
  kQ5_1 = 3,
  kQ8_0 = 4,
  kQ4_K = 5,
  kQ5_K = 6,
  kQ6_K = 7
};
constexpr int kBlockTypes = 8;

struct BlockFormat {
  int bits, zero;
  bool has_min;
  int bytes, unit, sub;  // of one block; weights of a block, and those with a scale of their own

  constexpr bool is_super() const { return unit == 256; }
  /// Bytes of 32 outputs' codes of 32 k.
  constexpr int code_bytes() const { return 32 * 32 * bits / 8; }
  /// Bytes in front of the codes of a panel's block.
  constexpr int header_bytes() const { return 32 * bytes - unit / 32 * code_bytes(); }
};
constexpr BlockFormat block_format(BlockType type) {
  switch (type) {
    case BlockType::kQ4_0: return {4, 8, false, 18, 32, 32};
    case BlockType::kQ4_1: return {4, 0, true, 20, 32, 32};
    case BlockType::kQ5_0: return {5, 16, false, 22, 32, 32};
    case BlockType::kQ5_1: return {5, 0, true, 24, 32, 32};
    case BlockType::kQ8_0: return {8, 128, false, 34, 32, 32};
    case BlockType::kQ4_K: return {4, 0, true, 144, 256, 32};
    case BlockType::kQ5_K: return {5, 0, true, 176, 256, 32};
    case BlockType::kQ6_K: return {6, 32, false, 210, 256, 16};
  }
  return {};
}

/// As the schema names it; null for a type that is none.
const char* block_type_name(BlockType type);

namespace block_weights {

constexpr int kOutputs = 32;  // of a panel

/// Bytes of a row of BlockQuantize's y. @pre k is a multiple of the unit
constexpr int64_t quantized_row_bytes(const BlockFormat& f, int64_t k) {
  return k + 4 * (k / f.unit) + 4 * (k / f.sub);
}
/// Bytes of a row of weights.
constexpr int64_t weight_row_bytes(const BlockFormat& f, int64_t k) { return k / f.unit * f.bytes; }

/// Code of k (of a unit) of output `lane`, from zero on, of the panel's block at `panel`.
inline int code_at(const BlockFormat& f, const uint8_t* panel, int lane, int k) {
  const uint8_t* const c = panel + f.header_bytes() + k / 32 * f.code_bytes();
  const int group = k % 32 / 4, half = lane / 16, at = lane % 16 * 4 + k % 4;
  if (f.bits == 8) return c[(group * 2 + half) * 64 + at] ^ 128;
  const int fifths = f.bits == 5 ? 128 : 0;
  int code = c[fifths + (group % 4 * 2 + half) * 64 + at] >> (group / 4 * 4) & 15;
  if (f.bits == 5) code |= (c[(group * 2 + half) * 8 + at / 8] >> at % 8 & 1) << 4;
  if (f.bits == 6) code |= (c[512 + (group / 4 * 2 + half) * 64 + at] >> group % 4 * 2 & 3) << 4;
  return code;
}

/// Of sub-block j of types of 256: the factor of d, and that of dmin.
struct SubScale {
  int scale, minimum;
};
inline SubScale sub_scale_at(const BlockFormat& f, const uint8_t* panel, int lane, int j) {
  if (f.bits == 6) return {int8_t(panel[64 + j * 32 + lane]), 0};
  const auto six = [&](int low, int high) {
    return (panel[low + j % 4 * 32 + lane] >> j / 4 * 4 & 15) |
           (panel[high + j / 4 * 32 + lane] >> j % 4 * 2 & 3) << 4;
  };
  return {six(128, 384), six(256, 448)};
}

}  // namespace block_weights

struct BlockQuantizeAttributes {
  BlockType type = BlockType::kQ4_0;
};
struct BlockLinearAttributes {
  BlockType type = BlockType::kQ4_0;
};
struct BlockGatherAttributes {
  BlockType type = BlockType::kQ4_0;
};
extern const OpContract kBlockQuantizeContract, kBlockLinearContract, kBlockGatherContract;

namespace block_weights {

/// Scratch of a thread for more than one row: a panel's slice of kSliceK as bytes with f32 scales
/// and minima, and sums of rows that go on from one slice to the next.
constexpr int64_t kSliceK = 2048, kChunkRows = 192;
constexpr int64_t kExpandedCodes = 0, kExpandedScales = kExpandedCodes + kSliceK * kOutputs,
                  kExpandedMinima = kExpandedScales + kSliceK / 16 * kOutputs * 4,
                  kExpandedSums = kExpandedMinima + kSliceK / 32 * kOutputs * 4,
                  kExpandedBytes = kExpandedSums + kChunkRows * kOutputs * 4;

}  // namespace block_weights
}  // namespace ingot
