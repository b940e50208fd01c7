// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/tile_lanes.inl - one row times a panel of 32 outputs without an
// instruction for products of bytes.
#pragma once
#include "kernels/cpu/block_linear/job.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

constexpr int kTileRows = 1, kFileTileRows = 1, kFileRows = 1;
constexpr auto expands_alike = sums_alike;
constexpr int kStepK = 32;  // of a panel: what its codes come in

/// The codes of k [k, k + 32) of a block, [group][32 outputs][4].
template <BlockType t>
void expand_codes(const uint8_t* panel, int k, uint8_t* codes) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kBytes = kStepK * kOutputs, kWord = 4;
  const uint8_t* const from = panel + f.header_bytes() + k / kStepK * f.code_bytes();
  uint32_t word;
  if constexpr (f.bits == 8) {
    for (int i = 0; i < kBytes; i += kWord) {
      std::memcpy(&word, from + i, sizeof word);
      word ^= 0x80808080u;
      std::memcpy(codes + i, &word, sizeof word);
    }
  } else if constexpr (f.bits <= 5 && f.bits >= 4 && f.levels == BlockLevels::kEven) {
    const uint8_t* const low = from + (f.bits == 5 ? kBytes / 8 : 0);
    for (int i = 0; i < kBytes / 2; i += kWord) {
      std::memcpy(&word, low + i, sizeof word);
      const uint32_t first = word & 0x0f0f0f0fu, second = word >> 4 & 0x0f0f0f0fu;
      std::memcpy(codes + i, &first, sizeof first);
      std::memcpy(codes + kBytes / 2 + i, &second, sizeof second);
    }
    for (int i = 0; i < kBytes && f.bits == 5; i++)
      codes[i] = uint8_t(codes[i] | (from[i / 8] >> i % 8 & 1) << 4);
  } else {
    for (int own = k; own < k + kStepK; own += 4)
      for (int lane = 0; lane < kOutputs; lane++)
        for (int i = 0; i < 4; i++)
          *codes++ = uint8_t(block_weights::code_at(f, panel, lane, own + i));
  }
}

/// Scales and minima of sub-block j of a block.
template <BlockType t>
void expand_scales(const uint8_t* panel, int j, float* scales, float* minima) {
  constexpr BlockFormat f = block_format(t);
  const auto half = [&](int at) {
    uint16_t bits;
    std::memcpy(&bits, panel + at, 2);
    return f16_to_f32(bits);
  };
  for (int lane = 0; lane < kOutputs; lane++) {
    const float d = f.scales == BlockScales::kExponent ? block_weights::exponent_scale(panel[lane])
                                                       : half(2 * lane),
                m = f.has_min ? half(64 + 2 * lane) : 0;
    const block_weights::SubScale s = f.is_super() ? block_weights::sub_scale_at(f, panel, lane, j)
                                                   : block_weights::SubScale{1, 1};
    scales[lane] = f.is_super() ? d * float(s.scale) : d;
    if (f.has_min) minima[lane] = f.is_super() ? -m * float(s.minimum) : m;
  }
}

template <BlockType t>
void expand_block(const uint8_t* panel, const Expanded& e, int64_t unit) {
  constexpr BlockFormat f = block_format(t);
  for (int k = 0; k < f.unit; k += kStepK)
    expand_codes<t>(panel, k, e.codes + (unit * f.unit + k) * kOutputs);
  for (int j = 0; j < f.subs(); j++) {
    const int64_t at = (unit * f.subs() + j) * kOutputs;
    expand_scales<t>(panel, j, e.scales + at, e.minima + at);
  }
}

/// Sums of 32 outputs, to which codes times four bytes of a row are added.
INGOT_INLINE void add_quads(const uint8_t* codes, const int8_t* q, int32_t* products) {
  for (int lane = 0; lane < kOutputs; lane++)
    products[lane] += codes[4 * lane] * q[0] + codes[4 * lane + 1] * q[1] +
                      codes[4 * lane + 2] * q[2] + codes[4 * lane + 3] * q[3];
}

/// One sub-block: codes times the row's bytes, scaled, added to 32 sums. `word`: of the row.
template <class V, BlockType t>
void add_products(const uint8_t* codes, const float* scales, const float* minima, const int8_t* q,
                  const uint8_t* word, float scale, float* to) {
  constexpr BlockFormat f = block_format(t);
  using F = typename V::F;
  alignas(64) int32_t products[kOutputs];
  const int32_t start = f.has_min ? 0 : integer_at(word, 0);
  for (int lane = 0; lane < kOutputs; lane++) products[lane] = start;
  for (int k = 0; k < f.sub; k += 4) add_quads(codes + k * kOutputs, q + k, products);
  const F minimum = V::splat(f.has_min ? float_at(word, 0) : 0);
  for (int lane = 0; lane < kOutputs; lane += V::kLanes) {
    const F own = V::load(scales + lane);
    F sum = V::fma(V::to_float(V::iload(products + lane)),
                   f.is_super() ? own : V::mul(own, V::splat(scale)), V::load(to + lane));
    if (f.has_min) sum = V::fma(V::load(minima + lane), minimum, sum);
    V::store(to + lane, sum);
  }
}

/// Of types of 256: a block's sums, scaled, are added to those of the row.
template <class V>
INGOT_INLINE void add_inner(const float* inner, float scale, float* sums) {
  for (int lane = 0; lane < kOutputs; lane += V::kLanes)
    V::store(sums + lane, V::fma(V::load(inner + lane), V::splat(scale), V::load(sums + lane)));
}

/// Units [first, first + units) of a row, whose expanded panel begins with the first of them, added
/// to 32 sums.
template <class V, BlockType t, int R>
void tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
          float* sums) {
  static_assert(R == 1, "one row at a time");
  constexpr BlockFormat f = block_format(t);
  for (int64_t unit = 0; unit < units; unit++) {
    const float scale = float_at(x.scales(row), first + unit);
    alignas(64) float inner[kOutputs] = {};
    for (int j = 0; j < f.subs(); j++) {
      const int64_t at = (unit * f.subs() + j) * kOutputs, k = unit * f.unit + j * f.sub;
      add_products<V, t>(
          e.codes + k * kOutputs, e.scales + at, e.minima + at, x.codes(row) + first * f.unit + k,
          x.words(row) + 4 * ((first + unit) * f.subs() + j), scale, f.is_super() ? inner : sums);
    }
    if (f.is_super()) add_inner<V>(inner, scale, sums);
  }
}

/// One row times a panel as it lies in the file, 32 k of a block at a time: what is expanded lies
/// on the stack, which a microcontroller has little of.
template <class V, BlockType t, int R>
void rows_times_panel(const uint8_t* p, const BlockRows& x, int64_t row, float* sums) {
  static_assert(R == 1, "one row at a time");
  constexpr BlockFormat f = block_format(t);
  constexpr BlockType kAlike = first_alike(t, expands_alike);
  alignas(64) uint8_t codes[kStepK * kOutputs];
  alignas(64) float scales[kOutputs], minima[kOutputs];
  std::memset(sums, 0, kOutputs * sizeof(float));
  for (int64_t unit = 0; unit < x.units; unit++, p += kOutputs * f.bytes) {
    const float scale = float_at(x.scales(row), unit);
    alignas(64) float inner[kOutputs] = {};
    for (int k = 0; k < f.unit; k += f.sub) {
      const int j = k / f.sub;
      if (k % kStepK == 0) expand_codes<t>(p, k, codes);
      expand_scales<t>(p, j, scales, minima);
      add_products<V, kAlike>(
          codes + k % kStepK * kOutputs, scales, minima, x.codes(row) + unit * f.unit + k,
          x.words(row) + 4 * (unit * f.subs() + j), scale, f.is_super() ? inner : sums);
    }
    if (f.is_super()) add_inner<V>(inner, scale, sums);
  }
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
