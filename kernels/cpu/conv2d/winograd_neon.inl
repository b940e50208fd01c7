// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/winograd_neon.inl - both transforms of a Winograd tile on 64-bit Arm, four
// channels at a time. The 36 numbers of a tile do not fit 32 registers: columns go through a small
// array, whose rows are read by pairs. Pointers move in the loads and stores themselves. The order
// of each sum is that of winograd_transform.inl, so the bits are.
#pragma once
#include "kernels/cpu/conv2d/winograd_transform.inl"
#include "kernels/cpu/gemm/tile.inl"

namespace ingot::cpu {
namespace {

/// Loads and moves p by `step` bytes.
INGOT_INLINE V::F neon_load_step(const float*& p, int64_t step) {
  V::F v;
  asm volatile("ld1 {%0.4s}, [%1], %2" : "=w"(v), "+r"(p) : "r"(step) : "memory");
  return v;
}
INGOT_INLINE void neon_store_step(float*& p, int64_t step, V::F v) {
  asm volatile("st1 {%1.4s}, [%0], %2" : "+r"(p) : "w"(v), "r"(step) : "memory");
}

/// 6 x 6 pixels. A row begins at the first column inside of the image; one outside is zeros, whose
/// step is 0.
struct WinogradWindow {
  const float* row[6];
  int64_t step[6];              // bytes from a pixel to the next
  int64_t first = 0, last = 6;  // columns inside
};

/// p: the first pixel, `y` rows and `x` columns from that of an image of h x w.
inline WinogradWindow winograd_window(const float* p, int64_t pixel, int64_t y, int64_t x,
                                      int64_t h, int64_t w) {
  WinogradWindow r;
  r.first = min_of(6, max_of(0, -x)), r.last = max_of(r.first, min_of(6, w - x));
  for (int64_t i = 0; i < 6; i++) {
    const bool inside = y + i >= 0 && y + i < h;
    r.row[i] = inside ? p + (i * w + r.first) * pixel : kZeros;
    r.step[i] = inside ? pixel * 4 : 0;
  }
  return r;
}

/// Four channels of a window to 36 planes, which are `plane` bytes apart.
template <bool edge>
INGOT_INLINE void neon_input_tile(const WinogradWindow& w, int64_t channel, float* v,
                                  int64_t plane) {
  alignas(16) float columns[6][6][4];
  const float* r[6];
  int64_t step[6];
  INGOT_UNROLL for (int i = 0; i < 6; i++) {
    step[i] = w.step[edge ? i : 0];
    r[i] = w.row[i] + (edge && step[i] == 0 ? 0 : channel);
  }
  if (edge) {
    for (int64_t c = 0; c < w.first; c++)
      INGOT_UNROLL for (int i = 0; i < 6; i++) V::store(columns[c][i], V::zero());
    for (int64_t c = w.last; c < 6; c++)
      INGOT_UNROLL for (int i = 0; i < 6; i++) V::store(columns[c][i], V::zero());
  }
  for (int64_t c = w.first; c < w.last; c++) {
    V::F d[6], t[6];
    INGOT_UNROLL for (int i = 0; i < 6; i++) d[i] = neon_load_step(r[i], step[i]);
    input_transform<V>(d, t);
    INGOT_UNROLL for (int i = 0; i < 6; i++) V::store(columns[c][i], t[i]);
  }
  for (int i = 0; i < 6; i += 2) {
    V::F a[6], b[6], t[6];
    INGOT_UNROLL for (int c = 0; c < 6; c++) a[c] = V::load(columns[c][i]),
                                             b[c] = V::load(columns[c][i + 1]);
    input_transform<V>(a, t);
    INGOT_UNROLL for (int c = 0; c < 6; c++) neon_store_step(v, plane, t[c]);
    input_transform<V>(b, t);
    INGOT_UNROLL for (int c = 0; c < 6; c++) neon_store_step(v, plane, t[c]);
  }
}

/// A plane's products of a panel by fives and fours of tiles. Returns how many tiles.
inline int64_t neon_products(const TileShape& shape, const float* v, const float* weights, float* m,
                             int64_t count) {
  const NeonTile t = neon_tile(shape, weights, kZeros, false, 2 * shape.pixel_stride);
  const int64_t row = shape.out_stride * 4;
  const FivesAndFours cut = fives_and_fours(count);
  if (cut.fives) neon_tiles_5(t, cut.fives, v, m, row, nullptr, 0);
  for (int64_t i = 0; i < cut.fours; i++) {
    const int64_t at = 5 * cut.fives + 4 * i;
    neon_tile_4<false>(t, v + at * shape.pixel_stride, m + at * shape.out_stride, row, row, nullptr,
                       0, 0);
  }
  return cut.cut();
}

/// Four outputs of a tile from 36 planes, `plane` bytes apart: f(row, its four pixels), biases in.
template <class Rows>
INGOT_INLINE void neon_output_rows(const float* m, int64_t plane, const float* bias, Rows f) {
  alignas(16) float columns[6][4][4];
  for (int c = 0; c < 6; c++) {
    V::F d[6], t[4];
    const float* p = m;
    INGOT_UNROLL for (int i = 0; i < 6; i++) d[i] = neon_load_step(p, 6 * plane);
    output_transform<V>(d, t);
    INGOT_UNROLL for (int i = 0; i < 4; i++) V::store(columns[c][i], t[i]);
    m += plane / 4;
  }
  const V::F b = V::load(bias);
  for (int i = 0; i < 4; i += 2) {
    V::F even[6], odd[6], t[4];
    INGOT_UNROLL for (int c = 0; c < 6; c++) even[c] = V::load(columns[c][i]),
                                             odd[c] = V::load(columns[c][i + 1]);
    output_transform<V>(even, t);
    INGOT_UNROLL for (int c = 0; c < 4; c++) t[c] = V::add(t[c], b);
    f(i, t);
    output_transform<V>(odd, t);
    INGOT_UNROLL for (int c = 0; c < 4; c++) t[c] = V::add(t[c], b);
    f(i + 1, t);
  }
}

/// Where the outputs of a tile go: `rows` x `cols` pixels of it are inside. Strides in elements.
struct WinogradOutput {
  float* out;
  const float* residual;  // or null
  int64_t pixel, row, residual_row, rows, cols;
};

enum class WinogradLimits { kNone, kLow, kBoth };

/// Four outputs of a tile whose epilogue is limits.
template <WinogradLimits limits>
INGOT_INLINE void neon_output_tile(const WinogradOutput& o, const Epilogue& e, const float* m,
                                   int64_t plane, const float* bias, int64_t output) {
  const V::F low = V::splat(e.low), high = V::splat(e.high);
  neon_output_rows(m + output, plane, bias + output, [&](int64_t i, V::F(&t)[4]) {
    if (i >= o.rows) return;
    const float* res = o.residual ? o.residual + i * o.residual_row + output : nullptr;
    float* to = o.out + i * o.row + output;
    INGOT_UNROLL for (int c = 0; c < 4; c++) {
      if (c >= o.cols) break;
      V::F v = t[c];
      if (res && e.residual_first) v = V::add(v, V::load(res));
      if (limits != WinogradLimits::kNone) v = V::max(low, v);
      if (limits == WinogradLimits::kBoth) v = V::min(high, v);
      if (res && !e.residual_first) v = V::add(v, V::load(res));
      V::store(to, v);
      to += o.pixel;
      if (res) res += e.residual_stride;
    }
  });
}

/// A panel's outputs of a tile.
inline void neon_output_panel(const WinogradOutput& o, const Epilogue& e, const float* m,
                              int64_t plane, const float* bias, int64_t outputs) {
  if (e.in_registers && outputs % 4 == 0) {
    const auto all = [&](auto tile) {
      for (int64_t k = 0; k < outputs; k += 4) tile(k);
    };
    if (!e.clamps)
      all([&](int64_t k) { neon_output_tile<WinogradLimits::kNone>(o, e, m, plane, bias, k); });
    else if (e.high == __builtin_inff())
      all([&](int64_t k) { neon_output_tile<WinogradLimits::kLow>(o, e, m, plane, bias, k); });
    else
      all([&](int64_t k) { neon_output_tile<WinogradLimits::kBoth>(o, e, m, plane, bias, k); });
    return;
  }
  alignas(64) float tile[4][4][kPanel];
  for (int64_t k = 0; k < outputs; k += 4)
    neon_output_rows(m + k, plane, bias + k, [&](int64_t i, V::F(&t)[4]) {
      INGOT_UNROLL for (int c = 0; c < 4; c++) V::store(&tile[i][c][k], t[c]);
    });
  for (int64_t i = 0; i < o.rows; i++)
    finish_tile<V>(e, tile[i][0], kPanel, o.cols, outputs, o.out + i * o.row, o.pixel,
                   o.residual ? o.residual + i * o.residual_row : nullptr);
}

}  // namespace
}  // namespace ingot::cpu
