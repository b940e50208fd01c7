// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/codes.cuh - codes and scales of blocks, in registers: a lane of a warp
// has an output of a panel, so that 32 neighbouring words are a load. All follows from the type's
// row of kBlockFormats.
#pragma once
#include "kernels/cuda/block_linear/block_params.h"
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/device/f16.cuh"

namespace ingot::cuda {

constexpr int kCodesK = 32, kCodeWords = 8;  // of what is decoded at a time, four codes a word

GPU_FN float float_at(const uint8_t* p, bool is_aligned) {
  return cpu::bits_float(word_at(p, is_aligned));
}

/// What one lane loads of 32 k of its output.
template <BlockType t>
struct RawCodes {
  static constexpr BlockFormat f = block_format(t);
  static constexpr int kLow = f.bits == 8   ? 8
                              : f.bits >= 4 ? 4
                                            : 2,
                       kCrumbs = f.bits == 6 ? 2 : 0, kBits = f.bits % 2 ? 8 : 0;
  uint32_t low[kLow], crumbs[kCrumbs ? kCrumbs : 1];
  uint8_t bits[kBits ? kBits : 1];

  /// `from`: the codes of these 32 k of all outputs of the panel.
  GPU_MEMBER void load(const uint8_t* from, int lane, bool is_aligned) {
    constexpr int kApart = 4 * block_weights::kOutputs;  // bytes from a word of a lane to its next
    const uint8_t* const own = from + (kBits ? kApart : 0) + lane * 4;
    INGOT_UNROLL for (int i = 0; i < kLow; i++) low[i] = word_at(own + i * kApart, is_aligned);
    INGOT_UNROLL for (int i = 0; i < kCrumbs; i++) crumbs[i] =
        word_at(own + (kLow + i) * kApart, is_aligned);
    INGOT_UNROLL for (int i = 0; i < kBits; i++) bits[i] =
        uint8_t(from[i * 16 + lane / 2] >> lane % 2 * 4 & 15);
  }
};

/// Byte i of the result is that of 16 in `levels` which byte i of `codes`, below 16, numbers.
GPU_FN uint32_t look_up(const uint32_t (&levels)[4], uint32_t codes) {
  uint32_t choice = (codes | codes >> 4) & 0x00ff00ffu;
  choice = (choice | choice >> 8) & 0x7777u;
  const uint32_t low = pick_bytes(levels[0], levels[1], choice),
                 high = pick_bytes(levels[2], levels[3], choice),
                 is_high = (codes >> 3 & 0x01010101u) * 255u;
  return low ^ ((low ^ high) & is_high);
}
constexpr uint32_t level_word(const BlockFormat& f, int first) {
  uint32_t word = 0;
  for (int i = 0; i < 4; i++)
    word |= uint32_t(block_weights::level_at(f, first + i, f.zero)) << 8 * i;
  return word;
}

/// Four codes, or what they stand for, plus the zero.
template <BlockType t>
GPU_FN uint32_t levels_of(uint32_t codes) {
  constexpr BlockFormat f = block_format(t);
  if constexpr (f.levels == BlockLevels::kEven) {
    return codes;
  } else {
    constexpr uint32_t kLevels[4] = {level_word(f, 0), level_word(f, 4), level_word(f, 8),
                                     level_word(f, 12)};
    return look_up(kLevels, codes);
  }
}
/// Bit i of four to bit 0 of byte i.
GPU_FN uint32_t spread_bits(uint32_t four) { return four * 0x00204081u & 0x01010101u; }

/// Codes from zero on, or levels + zero: u8, four neighbouring k a word.
template <BlockType t>
GPU_FN void decode(const RawCodes<t>& raw, uint32_t (&w)[kCodeWords]) {
  constexpr BlockFormat f = block_format(t);
  INGOT_UNROLL for (int g = 0; g < kCodeWords; g++) {
    uint32_t word;
    if constexpr (f.bits == 8)
      word = raw.low[g] ^ 0x80808080u;
    else if constexpr (f.bits >= 4)
      word = raw.low[g % 4] >> g / 4 * 4 & 0x0f0f0f0fu;
    else
      word = raw.low[g / 4] >> g % 4 * 2 & 0x03030303u;
    if constexpr (f.bits == 6) word |= (raw.crumbs[g / 4] >> g % 4 * 2 & 0x03030303u) << 4;
    if constexpr (f.bits % 2 == 1) word |= spread_bits(raw.bits[g]) << (f.bits - 1);
    w[g] = levels_of<t>(word);
  }
}

/// d, and dmin or m, of a lane's output of the panel's block at p.
struct BlockScale {
  float d, m;
};
template <BlockType t>
GPU_FN BlockScale block_scale(const uint8_t* p, int lane, bool is_aligned) {
  constexpr BlockFormat f = block_format(t);
  if constexpr (f.scales == BlockScales::kExponent)
    return {cpu::bits_float(block_weights::exponent_bits(p[lane])), 0.0f};
  else
    return {widen_f16(uint16_t(half_at(p + 2 * lane, is_aligned))),
            f.has_min ? widen_f16(uint16_t(half_at(p + 64 + 2 * lane, is_aligned))) : 0.0f};
}
/// What codes of sub-block j are multiplied by, and what is added to that.
template <BlockType t>
GPU_FN BlockScale sub_scale(const BlockScale& s, const uint8_t* p, int lane, int j) {
  constexpr BlockFormat f = block_format(t);
  if constexpr (!f.is_super()) return s;
  const block_weights::SubScale own = block_weights::sub_scale_at(f, p, lane, j);
  return {s.d * float(own.scale), -s.m * float(own.minimum)};
}

}  // namespace ingot::cuda
