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

template <BlockType t>
void expand_block(const uint8_t* panel, const Expanded& e, int64_t unit) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs();
  uint8_t* codes = e.codes + unit * f.unit * kOutputs;
  for (int k = 0; k < f.unit; k += 4)
    for (int lane = 0; lane < kOutputs; lane++)
      for (int i = 0; i < 4; i++) *codes++ = uint8_t(block_weights::code_at(f, panel, lane, k + i));
  const auto half = [&](int at) {
    uint16_t bits;
    std::memcpy(&bits, panel + at, 2);
    return f16_to_f32(bits);
  };
  for (int lane = 0; lane < kOutputs; lane++) {
    const float d = f.scales == BlockScales::kExponent ? block_weights::exponent_scale(panel[lane])
                                                       : half(2 * lane),
                m = f.has_min ? half(64 + 2 * lane) : 0;
    for (int j = 0; j < kSubs; j++) {
      const int64_t at = (unit * kSubs + j) * kOutputs + lane;
      const block_weights::SubScale s = f.is_super()
                                            ? block_weights::sub_scale_at(f, panel, lane, j)
                                            : block_weights::SubScale{1, 1};
      e.scales[at] = f.is_super() ? d * float(s.scale) : d;
      if (f.has_min) e.minima[at] = f.is_super() ? -m * float(s.minimum) : m;
    }
  }
}

/// Units [first, first + units) of a row, whose expanded panel begins with the first of them, added
/// to 32 sums.
template <class V, BlockType t, int R>
void tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
          float* sums) {
  static_assert(R == 1, "one row at a time");
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs();
  using F = typename V::F;
  const int8_t* q = x.codes(row) + first * f.unit;
  const uint8_t* codes = e.codes;
  for (int64_t unit = 0; unit < units; unit++) {
    const float scale = float_at(x.scales(row), first + unit);
    alignas(64) float inner[kOutputs] = {};
    float* const to = f.is_super() ? inner : sums;
    for (int j = 0; j < kSubs; j++) {
      const int64_t word = (first + unit) * kSubs + j, at = (unit * kSubs + j) * kOutputs;
      alignas(64) int32_t products[kOutputs];
      const int32_t start = f.has_min ? 0 : integer_at(x.words(row), word);
      for (int lane = 0; lane < kOutputs; lane++) products[lane] = start;
      for (int k = 0; k < f.sub; k += 4, q += 4, codes += 4 * kOutputs)
        for (int lane = 0; lane < kOutputs; lane++)
          products[lane] += codes[4 * lane] * q[0] + codes[4 * lane + 1] * q[1] +
                            codes[4 * lane + 2] * q[2] + codes[4 * lane + 3] * q[3];
      const F minimum = V::splat(f.has_min ? float_at(x.words(row), word) : 0);
      for (int lane = 0; lane < kOutputs; lane += V::kLanes) {
        const F own = V::load(e.scales + at + lane);
        F sum = V::fma(V::to_float(V::iload(products + lane)),
                       f.is_super() ? own : V::mul(own, V::splat(scale)), V::load(to + lane));
        if (f.has_min) sum = V::fma(V::load(e.minima + at + lane), minimum, sum);
        V::store(to + lane, sum);
      }
    }
    for (int lane = 0; lane < kOutputs && f.is_super(); lane += V::kLanes)
      V::store(sums + lane, V::fma(V::load(inner + lane), V::splat(scale), V::load(sums + lane)));
  }
}

/// One row times a panel as it lies in the file, block after block.
template <class V, BlockType t, int R>
void rows_times_panel(const uint8_t* p, const BlockRows& x, int64_t row, float* sums) {
  static_assert(R == 1, "one row at a time");
  constexpr BlockFormat f = block_format(t);
  alignas(64) uint8_t codes[f.unit * kOutputs];
  alignas(64) float scales[f.subs() * kOutputs], minima[f.subs() * kOutputs];
  std::memset(sums, 0, kOutputs * sizeof(float));
  for (int64_t unit = 0; unit < x.units; unit++) {
    expand_block<t>(p + unit * kOutputs * f.bytes, {codes, scales, minima}, 0);
    tile<V, t, 1>({codes, scales, minima}, x, row, unit, 1, sums);
  }
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
