// SPDX-License-Identifier: Apache-2.0
// runtime/op/block_linear.h - products with weights in blocks, as language models are published:
// BlockQuantize, BlockLinear, BlockGather.
//
// A block is `unit` weights of one output that share a scale (and a minimum), or are numbers of 16
// bits. The types have the names of GGUF:
//
//   q4_0 q5_0 q8_0   w = d * (code - zero)               unit 32, zero 8, 16, 128
//   q4_1 q5_1        w = d * code + m                    unit 32
//   q4_k q5_k        w = d * s * code - dmin * m         unit 256, s and m of 6 bits for each 32
//   q6_k             w = d * s * (code - 32)             unit 256, s of 8 bits for each 16
//   q3_k             w = d * (s - 32) * (code - 4)       unit 256, s of 6 bits for each 16
//   q2_k             w = d * s * code - dmin * m         unit 256, s and m of 4 bits for each 16
//   iq4_nl           w = d * level[code]                 unit 32, levels of -127 .. 113
//   iq4_xs           w = d * (s - 32) * level[code]      unit 256, s of 6 bits for each 32
//   mxfp4            w = 2^(e - 128) * level[code]       unit 32, levels of -12 .. 12
//   f16 bf16         w                                   unit 32
//
// Where a code stands for a level, what is multiplied is level + zero, of zero 127 and 12.
//
// Packing blocks32, dims [O, bytes of a row]: panels of 32 outputs, [ceil(O/32)][K/unit][32
// blocks].
// The 32 blocks of a panel have the bytes of 32 blocks of GGUF in another order, so a panel is one
// sequential stream: nothing is repacked at load. Lanes past O are zero.
//   unit 32:  [d f16 x 32][m f16 x 32, if any][codes]
//   mxfp4     [e u8 x 32][codes]
//   f16 bf16  [k 32][32 outputs]
//   unit 256  [d x 32][dmin x 32, if any][scales][codes of 32] x 8
//   scales    q6_k: [s i8: 16 x 32]; q2_k: [16 x 32], s in the low half of a byte, m in the high
//             one; of 6 bits, n of them: [low 4 bits of s: n/2 x 32][of m][high 2 bits of s:
//             n/4 x 32][of m]. Low 4 bits: byte j has sub-block j in its low and j + n/2 in its
//             high half. High 2 bits: byte i has sub-blocks 4i .. 4i + 3 from the lowest bits on.
//   codes of 32, for 32 outputs: [fifth or third bits, 16 x 64 bits][low 4 bits][2 bits, 4 x 64
//             bytes] as the type has them; 8 bits: [group][half][16 outputs][4]. A group is four k
//             of one output, halves are outputs 0 .. 15 and 16 .. 31. Low 4 bits: [g][half][16][4],
//             byte g has group g and, in its high half, group g + 4. Fifth and third bits:
//             [group][half], bit i of byte i of that group. 2 bits, the high ones of 6 and the low
//             ones of 2 and 3: [group / 4][half][16][4], group % 4 in bits 2 (group % 4) and up.
//             Codes of 8 bits are code - 128, in two's complement.
//
// BlockQuantize   x f32 [..., K] -> y u8 [..., bytes]: a row is q i8 [K], s f32 [K/unit], then for
//           each `sub` of k (32 or 16) a word. In each unit: amax = max |x|, s = amax / 127,
//           q = round_to_even(x * (127 / amax)). amax below 2^-100: q = 0, s = 0. amax not finite:
//           q = 0, s = NaN. Word: of types with a zero, i32 -zero * sum(q); with a minimum, f32
//           sum(q), times s where unit is 32.
//           Not of f16 and bf16.
// BlockLinear     x as BlockQuantize of the same type gives it, w, [bias f32 [O]], [residual of
//           y's dims] -> y f32 [..., O]. i = sum(code * q) (+ word), exact in 32 bits.
//           unit 32:  y = fma(float(i), d * s, y); with minima then y = fma(m, word, y)
//           unit 256: for each sub: f = fma(float(i), d * s', f), f = fma(-(dmin * m'), word, f);
//                     y = fma(f, s, y)
//           units ascending, from zero; then + bias, + residual. Of f16 and bf16 x is f32 [..., K],
//           and y = fma(x, w, y), k ascending. The bits depend neither on the instruction set, the
//           number of threads nor on other rows.
// BlockGather     w, indices i32 or i64 -> y f32 [indices.., K]: weights of those outputs. With a
//           minimum fma(code, scale, minimum), else (code - zero) * scale.
#pragma once
#include <cstring>

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
  kQ6_K = 7,
  kQ2_K = 8,
  kQ3_K = 9,
  kIQ4_NL = 10,
  kIQ4_XS = 11,
  kMXFP4 = 12,
  kF16 = 13,
  kBF16 = 14
};
constexpr int kBlockTypes = 15;

/// What weights of a block are multiplied by.
enum class BlockScales : uint8_t {
  kHalf,      // d
  kExponent,  // 2^(e - 128)
  kSixBits,   // d * s, dmin * m; without minima d * (s - 32)
  kNibbles,   // d * s, dmin * m
  kBytes,     // d * s
};
/// What codes stand for.
enum class BlockLevels : uint8_t { kEven, kIq4, kFp4 };

struct BlockFormat {
  int bits = 0, zero = 0;
  bool has_min = false;
  int bytes = 0;          // of one block
  int unit = 0, sub = 0;  // weights of a block, and those with a scale of their own
  BlockScales scales = BlockScales::kHalf;
  BlockLevels levels = BlockLevels::kEven;

  constexpr bool is_super() const { return unit == 256; }
  constexpr int subs() const { return unit / sub; }
  /// Weights are f16 or bf16, and activations f32.
  constexpr bool is_float() const { return bits == 16; }
  /// The largest code that is multiplied.
  constexpr int largest() const {
    return levels == BlockLevels::kIq4 ? 240 : levels == BlockLevels::kFp4 ? 24 : (1 << bits) - 1;
  }
  /// Bytes of 32 outputs' codes of 32 k.
  constexpr int code_bytes() const { return 32 * 32 * bits / 8; }
  /// Bytes in front of the codes of a panel's block.
  constexpr int header_bytes() const { return 32 * bytes - unit / 32 * code_bytes(); }
};
constexpr BlockFormat kBlockFormats[kBlockTypes] = {
    {4, 8, false, 18, 32, 32},                                                // q4_0
    {4, 0, true, 20, 32, 32},                                                 // q4_1
    {5, 16, false, 22, 32, 32},                                               // q5_0
    {5, 0, true, 24, 32, 32},                                                 // q5_1
    {8, 128, false, 34, 32, 32},                                              // q8_0
    {4, 0, true, 144, 256, 32, BlockScales::kSixBits},                        // q4_k
    {5, 0, true, 176, 256, 32, BlockScales::kSixBits},                        // q5_k
    {6, 32, false, 210, 256, 16, BlockScales::kBytes},                        // q6_k
    {2, 0, true, 84, 256, 16, BlockScales::kNibbles},                         // q2_k
    {3, 4, false, 110, 256, 16, BlockScales::kSixBits},                       // q3_k
    {4, 127, false, 18, 32, 32, BlockScales::kHalf, BlockLevels::kIq4},       // iq4_nl
    {4, 127, false, 136, 256, 32, BlockScales::kSixBits, BlockLevels::kIq4},  // iq4_xs
    {4, 12, false, 17, 32, 32, BlockScales::kExponent, BlockLevels::kFp4},    // mxfp4
    {16, 0, false, 64, 32, 32},                                               // f16
    {16, 0, false, 64, 32, 32},                                               // bf16
};
/// Of a type that is none: all zero.
constexpr BlockFormat block_format(BlockType type) {
  return int(type) < kBlockTypes ? kBlockFormats[int(type)] : BlockFormat{};
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

/// What codes of 4 bits stand for: those of GGUF's IQ4 types; numbers of 4 bits (1 of sign, 2 of
/// exponent, 1 of fraction), twice as large.
constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113},
                 kFp4Levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Byte `lane` of 16: the level of that code + `zero`.
constexpr uint8_t level_at(const BlockFormat& f, int code, int zero) {
  const int8_t* const levels = f.levels == BlockLevels::kIq4 ? kIq4Levels : kFp4Levels;
  return uint8_t(levels[code] + zero);
}

/// Offsets of a panel's header. Of six bits: those of s, then (the same distance on) those of m.
struct BlockHeader {
  int scales, high, minima_apart, high_minima_apart;
};
constexpr BlockHeader block_header(const BlockFormat& f) {
  const int first = f.has_min ? 128 : 64, low = f.subs() / 2 * kOutputs, kinds = f.has_min ? 2 : 1;
  return {first, first + low * kinds, low, f.subs() / 4 * kOutputs};
}

/// What a row of BlockLinear's x has, in elements of its type.
constexpr int64_t row_of_x(const BlockFormat& f, int64_t k) {
  return f.is_float() ? k : quantized_row_bytes(f, k);
}
constexpr DType type_of_x(const BlockFormat& f) { return f.is_float() ? DType::kF32 : DType::kU8; }

/// Code of k (of a unit) of output `lane`, from zero on, of the panel's block at `panel`.
inline int code_at(const BlockFormat& f, const uint8_t* panel, int lane, int k) {
  const uint8_t* const c = panel + f.header_bytes() + k / 32 * f.code_bytes();
  const int group = k % 32 / 4, half = lane / 16, at = lane % 16 * 4 + k % 4;
  if (f.bits == 8) return c[(group * 2 + half) * 64 + at] ^ 128;
  const uint8_t* const low = c + (f.bits % 2 ? 128 : 0);
  const auto crumb = [&](const uint8_t* p) {
    return p[(group / 4 * 2 + half) * 64 + at] >> group % 4 * 2 & 3;
  };
  int code = f.bits < 4 ? crumb(low) : low[(group % 4 * 2 + half) * 64 + at] >> group / 4 * 4 & 15;
  if (f.bits % 2) code |= (c[(group * 2 + half) * 8 + at / 8] >> at % 8 & 1) << (f.bits - 1);
  if (f.bits == 6) code |= crumb(c + 512) << 4;
  return f.levels == BlockLevels::kEven ? code : level_at(f, code, f.zero);
}

/// 2^(e - 128), as bits.
constexpr uint32_t exponent_bits(int e) { return e < 2 ? 0x200000u << e : uint32_t(e - 1) << 23; }
inline float exponent_scale(int e) {
  const uint32_t bits = exponent_bits(e);
  float scale;
  std::memcpy(&scale, &bits, 4);
  return scale;
}

/// Of sub-block j of types of 256: the factor of d, and that of dmin.
struct SubScale {
  int scale, minimum;
};
constexpr SubScale sub_scale_at(const BlockFormat& f, const uint8_t* panel, int lane, int j) {
  const BlockHeader h = block_header(f);
  const int own = panel[h.scales + j * kOutputs + lane];
  if (f.scales == BlockScales::kBytes) return {int8_t(own), 0};
  if (f.scales == BlockScales::kNibbles) return {own & 15, own >> 4};
  const int half = f.subs() / 2;
  const auto six = [&](int low, int high) {
    return (panel[low + j % half * kOutputs + lane] >> j / half * 4 & 15) |
           (panel[high + j / 4 * kOutputs + lane] >> j % 4 * 2 & 3) << 4;
  };
  const int scale = six(h.scales, h.high);
  if (!f.has_min) return {scale - 32, 0};
  return {scale, six(h.scales + h.minima_apart, h.high + h.high_minima_apart)};
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

/// Scratch of a thread for more than one row: a panel's slice of kSliceK as bytes with f32 scales,
/// sums of rows that go on from one slice to the next, and minima, if any.
constexpr int64_t kSliceK = 2048, kChunkRows = 192;
constexpr int64_t kExpandedCodes = 0, kExpandedScales = kExpandedCodes + kSliceK * kOutputs,
                  kExpandedSums = kExpandedScales + kSliceK / 16 * kOutputs * 4,
                  kExpandedMinima = kExpandedSums + kChunkRows * kOutputs * 4;
constexpr int64_t expanded_bytes(const BlockFormat& f) {
  if (f.is_float()) return 0;
  return kExpandedMinima + (f.has_min ? kSliceK / f.sub * kOutputs * 4 : 0);
}

}  // namespace block_weights
}  // namespace ingot
