// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/half_gemm.inl - products of halves on 64-bit Arm. Format (half_f16.inl,
// half_bf16.inl) also says how a tile reads its operands and multiplies them:
//   kTogether                  k of a row that lie together in a tile: [k / kTogether][row][k]
//   put(low, high, n, to)      eight channels of a row in a tile of n
//   put_pairs(from, pairs, n, to)          16 channels, `pairs` times
//   put_panel(from, rows, padding, k, to)  rows of a panel of k, then zeros; where the next go
//   tiles<n>(...)              as half_tiles() of half_f16.inl
#pragma once
#include <cstddef>
#include <cstring>

#include "kernels/cpu/gemm/half_job.inl"

namespace ingot::cpu {
namespace {

/// What tiles of rows multiply, and where.
struct HalfTile {
  const uint16_t* b;  // panel of halves
  const float* bias;
  float* sums;           // [pixel][16]: f16, for runs before the last
  int64_t groups, runs;  // of eight k; of groups, the longer ones behind
  const float* limits;   // low and high, or null
  int64_t stops;         // f16; 0: goes on where a sum is not finite
  int64_t eights;        // of a panel's columns: bf16 leaves the second one alone where it can
};
static_assert(offsetof(Epilogue, high) == offsetof(Epilogue, low) + 4, "ld2r of the limits");

/// c floats (of null: zeros) of a row in a tile of n, the last group filled up with zeros; where
/// the row goes on.
template <class Format>
INGOT_INLINE uint16_t* pack_channels(const float* from, int64_t c, int64_t n, uint16_t* to) {
  const float32x4_t zeros = vdupq_n_f32(0);
  if (!from) {
    for (int64_t i = 0; i < c; i += 8, to += 8 * n) Format::put(zeros, zeros, n, to);
    return to;
  }
  if (const int64_t pairs = c / 16) {
    Format::put_pairs(from, pairs, n, to);
    from += 16 * pairs, to += 16 * pairs * n;
  }
  if (c & 8) {
    Format::put(vld1q_f32(from), vld1q_f32(from + 4), n, to);
    from += 8, to += 8 * n;
  }
  if (c % 8 == 0) return to;
  Format::put(V::load_partial(from, c % 8), V::load_partial(from + 4, c % 8 - 4), n, to);
  return to + 8 * n;
}

/// Rows [row, row + count) as a tile of n, those that are not there as zeros.
template <class Format>
void pack_tile(const HalfJob& j, int64_t row, int64_t count, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; i++) {
    uint16_t* at = to + Format::kTogether * i;
    if (i < count)
      for_taps(
          j, row + i, [&](const float* from) __attribute__((always_inline)) {
            at = pack_channels<Format>(from, j.c, n, at);
          });
    else
      (void)pack_channels<Format>(nullptr, j.blocks.k, n, at);
  }
}

template <class Format>
void pack_panel(const HalfJob& j, int64_t panel, uint16_t* to) {
  const float* from = static_cast<const float*>(j.weights) + panel * j.taps * j.c * kPanel;
  const int64_t padding = j.blocks.channels - j.c;
  const int64_t rows = padding ? j.c : j.taps * j.c;
  for (int64_t t = 0; t < j.taps * j.c; t += rows, from += rows * kPanel)
    to = Format::put_panel(from, rows, padding, j.blocks.k, to);
}

/// Sums of a row of a panel in f32, in the contract's order.
inline void sum_in_f32(const HalfJob& j, int64_t row, int64_t panel, float* sums) {
  const float *w = static_cast<const float*>(j.weights) + panel * j.taps * j.c * kPanel,
              *bias = bias_at(j.bias, panel);
  float32x4_t acc[4];
  for (int i = 0; i < 4; i++) acc[i] = vld1q_f32(bias + 4 * i);
  for_taps(j, row, [&](const float* from) {
    for (int64_t c = 0; from && c < j.c; c++)
      for (int i = 0; i < 4; i++)
        acc[i] = vfmaq_n_f32(acc[i], vld1q_f32(w + c * kPanel + 4 * i), from[c]);
    w += j.c * kPanel;
  });
  for (int i = 0; i < 4; i++) vst1q_f32(sums + 4 * i, acc[i]);
}

/// A panel's outputs of a block of packed rows.
template <class Format>
class HalfPanel {
 public:
  HalfPanel(const HalfJob& j, int64_t panel, const uint16_t* b)
      : j_(j), e_(*j.epilogue), panel_(panel), cols_(min_of(kPanel, j.o - panel * kPanel)) {
    direct_ = neon_finishes(e_, j.residual != nullptr, cols_) && cols_ == kPanel;
    later_ = !direct_ && cols_ == kPanel && !j.residual;
    tile_ = {b,
             bias_at(j.bias, panel),
             sums_,
             j.blocks.k / half_products::kRows,
             j.blocks.runs(),
             direct_ && e_.clamps ? &e_.low : nullptr,
             1,
             cols_ > kPanel / 2 ? 2 : 1};
  }

  void run(int64_t row, int64_t count, const uint16_t* a) {
    constexpr int64_t kStored = 16;  // tiles whose sums are finished together
    int64_t tiles = count / 8;
    if (!direct_ && !later_) {
      for (; tiles > 0; tiles--, row += 8, a += 8 * j_.blocks.k) alone<8>(row, 8, a);
    }
    while (tiles > 0) {
      const int64_t some = later_ ? min_of(tiles, kStored) : tiles, rows = 8 * some;
      together<8>(row, some, a);
      if (later_) finish_stored(e_, out(row), j_.out_stride, rows);
      tiles -= some, row += rows, a += rows * j_.blocks.k;
    }
    const int64_t rest = count % 8;
    if (rest > 4)
      alone<8>(row, rest, a);
    else if (rest > 0)
      alone<4>(row, rest, a);
  }

 private:
  float* out(int64_t row) const { return j_.out_at(row) + panel_ * kPanel; }
  const float* residual(int64_t row) const {
    return j_.residual ? j_.residual_at(row) + panel_ * kPanel : nullptr;
  }

  /// Whole tiles, stored by themselves, as sums where they are finished later.
  template <int n>
  void together(int64_t row, int64_t tiles, const uint16_t* a) {
    while (tiles > 0) {
      const int64_t left = Format::template tiles<n>(tile_, tiles, a, out(row), j_.out_stride * 4,
                                                     residual(row), e_.residual_stride * 4);
      row += n * (tiles - left), a += n * (tiles - left) * j_.blocks.k, tiles = left;
      if (!left) return;
      alone<n>(row, n, a, !later_);
      row += n, a += n * j_.blocks.k, tiles--;
    }
  }

  /// One tile through the memory of its sums, of which `count` rows are.
  template <int n>
  void alone(int64_t row, int64_t count, const uint16_t* a, bool finishes = true) {
    HalfTile t = tile_;
    t.limits = nullptr;
    if (Format::template tiles<n>(t, 1, a, sums_, kPanel * 4, nullptr, 0)) {
      t.stops = 0;
      (void)Format::template tiles<n>(t, 1, a, sums_, kPanel * 4, nullptr, 0);
      for (int64_t i = 0; i < count; i++) repair(row + i, sums_ + i * kPanel);
    }
    if (!finishes)
      for (int64_t i = 0; i < count; i++)
        std::memcpy(out(row + i), sums_ + i * kPanel, kPanel * sizeof(float));
    else if (direct_)
      for (int64_t i = 0; i < count; i++) finish_row(row + i, sums_ + i * kPanel);
    else
      finish_tile<V>(e_, sums_, kPanel, count, cols_, out(row), j_.out_stride, residual(row));
  }

  /// What is not finite is computed again.
  void repair(int64_t row, float* sums) const {
    bool is_finite = true;
    for (int i = 0; i < kPanel; i++) is_finite = is_finite && sums[i] - sums[i] == 0;
    if (is_finite) return;
    float exact[kPanel];
    sum_in_f32(j_, row, panel_, exact);
    for (int i = 0; i < kPanel; i++)
      if (!(sums[i] - sums[i] == 0)) sums[i] = exact[i];
  }

  /// As tiles do it.
  void finish_row(int64_t row, const float* sums) const {
    const float* const r = residual(row);
    for (int i = 0; i < 4; i++) {
      float32x4_t x = vld1q_f32(sums + 4 * i);
      if (r) x = vaddq_f32(x, vld1q_f32(r + 4 * i));
      if (e_.clamps && e_.high != __builtin_inff()) x = vminq_f32(x, vdupq_n_f32(e_.high));
      if (e_.clamps) x = vmaxq_f32(x, vdupq_n_f32(e_.low));
      vst1q_f32(out(row) + 4 * i, x);
    }
  }

  const HalfJob& j_;
  const Epilogue& e_;
  int64_t panel_, cols_;
  bool direct_, later_;
  HalfTile tile_;
  alignas(64) float sums_[8 * kPanel];
};

template <class Format>
void half_gemm(const HalfJob& j, Range rows, Range panels) {
  if (rows.count() <= 0 || panels.count() <= 0) return;
  uint16_t* const block = reinterpret_cast<uint16_t*>(j.scratch);
  uint16_t* const panel = block + j.blocks.rows * j.blocks.k;
  const int64_t fit = max_of(64, conv::kBandBytes / 2 / j.blocks.k / half_products::kRows *
                                     half_products::kRows),  // of an L2 cache
      count = ceil_div(rows.count(), min_of(fit, j.blocks.rows)),
                step = round_up(ceil_div(rows.count(), count), half_products::kRows);
  for (int64_t r = rows.begin; r < rows.end; r += step) {
    const int64_t n = min_of(step, rows.end - r);
    for (int64_t i = 0; i < n; i += 8) {
      const int64_t own = min_of(8, n - i);
      pack_tile<Format>(j, r + i, own, own > 4 ? 8 : 4, block + i * j.blocks.k);
    }
    for (int64_t p = panels.begin; p < panels.end; p++) {
      pack_panel<Format>(j, p, panel);
      HalfPanel<Format>(j, p, panel).run(r, n, block);
    }
  }
}

/// Divided by panels where rounding them takes longer than rounding the rows.
template <class Format>
void half_gemm_team(const HalfJob& j, int64_t rows, const Team& team) {
  const int64_t panels = ceil_div(j.o, kPanel);
  if (panels >= 2 * team.size && panels * kPanel > rows)
    return half_gemm<Format>(j, {0, rows}, part(panels, team.id, team.size));
  const Range tiles = part(ceil_div(rows, half_products::kRows), team.id, team.size);
  half_gemm<Format>(j, {min_of(rows, tiles.begin * 8), min_of(rows, tiles.end * 8)}, {0, panels});
}

}  // namespace
}  // namespace ingot::cpu
