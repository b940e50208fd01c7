// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/pixels.inl - all pixels of a call at once, where an instruction set has
// tiles that register tiles are not: lanes of AVX2, AMX.
#pragma once
#include "kernels/cpu/quantized/tile.inl"
#if defined(INGOT_SIMD_AMX)
#include "kernels/cpu/quantized/pixels_amx.inl"
#endif

namespace ingot::cpu {
namespace {

#if defined(INGOT_PIXEL_LANES)
/// Pixels [r) as runs of one row of the image: f(the first one, how many, where it is).
template <class F>
INGOT_INLINE void for_pixel_runs(const Int8TileShape& x, const Int8TileAt& t, const PixelRows& rows,
                                 Range r, F f) {
  for (int64_t i = r.begin, n; i < r.end; i += n) {
    const int64_t row = i / rows.row, column = i % rows.row;
    n = min_of(r.end - i, rows.row - column);
    Int8TileAt at = t;
    at.a += row * rows.down + column * x.pixel_stride;
    at.out += row * rows.out_down + column * x.out_stride;
    if (at.sums) at.sums += i;
    if (at.steps) at.steps += i * x.steps_stride;
    f(i, int(n), at);
  }
}

/// What store_lane_bytes() does not. Not a part of every call.
template <class V>
__attribute__((noinline)) void store_lane_tile(const Int8TileShape& x, const Int8TileAt& t,
                                               const PixelRows& rows, Range r,
                                               const LaneTile& tile) {
  alignas(64) int32_t sums[kLanePixels * kLanePanels * kPanel];
  const int stride = int(round_up(t.cols, kPanel));
  sums_of_pixels(tile, stride / int(kPanel), sums);
  const auto store = x.requantization->to_float() ? store_float_tile<V> : store_fixed_tile<V>;
  for_pixel_runs(x, t, rows, r, [&](int64_t i, int n, Int8TileAt at) {
    const int half = (n + 1) / 2;
    at.out_half = half * x.out_stride, at.sums_half = half, at.steps_half = half * x.steps_stride;
    store(x, at, sums + (i - r.begin) * stride, n, stride);
  });
}

/// All pixels of a call by the panels of x.bounds; `t` is where the first one is. Of those at the
/// end a few are not worth a vector.
template <class V>
__attribute__((noinline)) void int8_lanes(const Int8TileShape& x, const Int8TileAt& t,
                                          const PixelRows& rows, int64_t pixels) {
  const Requantization& q = *x.requantization;
  const int64_t few = pixels % 16 <= Dot::kTall ? pixels % 16 : 0, end = pixels - few;
  for (Range r = {0, 0}; r.begin < end; r.begin = r.end) {
    r.end = min_of(end, r.begin + kLanePixels);
    LaneTile tile;
    tile.vectors = r.count() > 16 ? 4 : 2;
    find_pixels(x, t, rows, r, &tile);
    (tile.vectors == 4 ? multiply_pixels<4> : multiply_pixels<2>)(x, t, r, &tile);
    if (q.mode == RequantMode::kFloatEven)
      store_lane_bytes(q, t, tile, r.count());
    else
      store_lane_tile<V>(x, t, rows, r, tile);
  }
  for_pixel_runs(x, t, rows, {end, pixels}, [&](int64_t, int n, Int8TileAt at) {
    const int half = (n + 1) / 2;
    at.half = half * x.pixel_stride, at.out_half = half * x.out_stride;
    at.sums_half = half, at.steps_half = half * x.steps_stride;
    for (int64_t left = t.cols; left > 0; left -= kPanel) {
      at.cols = min_of(left, kPanel);
      Int8Tiles<V>::kSingle.rows[n](x, at);
      at.b += x.panel_stride, at.output += kPanel;
      at.out += kPanel * x.requantization->element_bytes();
    }
  });
}
#endif

/// All pixels of a call; `t` is where the first one is. @return false: by register tiles, then
template <class V>
INGOT_INLINE bool int8_pixels(const Int8TileShape& x, const Int8TileAt& t, const PixelRows& rows,
                              int64_t pixels) {
#if defined(INGOT_SIMD_AMX)
  (t.cols > kPanel ? amx_pixels<V, 2> : amx_pixels<V, 1>)(x, t, rows, pixels);
  return true;
#elif defined(INGOT_PIXEL_LANES)
  if (x.bounds) int8_lanes<V>(x, t, rows, pixels);
  return x.bounds;
#else
  (void)x, (void)t, (void)rows, (void)pixels;
  return false;
#endif
}

}  // namespace
}  // namespace ingot::cpu
