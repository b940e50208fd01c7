// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/winograd.inl - F(4x4, 3x3): Y = A^T [U . (B^T d B)] A on 6x6 inputs for 4x4
// outputs; the file has U.
// Order  V: columns, then rows of d by input_transform. M[plane][o]: one chain of fma from zero
//        over c. Y: columns, then rows of M by output_transform, then + bias, then the epilogue.
//        The 36 products are tiles of gemm/tile.inl.
//
//   V [36][block][v_row]   tiles of one block, channels padded to 16        M [36][block][32]   two
//   panels of outputs
#pragma once
#include "kernels/cpu/conv2d/direct.inl"
#include "kernels/cpu/conv2d/winograd_transform.inl"
#if defined(INGOT_SIMD_NEON)
#include "kernels/cpu/conv2d/winograd_neon.inl"
#endif

namespace ingot::cpu {
namespace {

using conv::WinogradBlocks;

struct WinogradJob {
  WinogradBlocks g;
  conv::Extents e;
  const Conv2dAttributes* t = nullptr;
  const TensorView *x = nullptr, *y = nullptr, *residual = nullptr;
  const float* weights = nullptr;  // [O/16][36][C][16]
  const float* bias = nullptr;
  const Epilogue* epilogue = nullptr;
};

/// One vector of channels of one tile. Pixels outside read zeros.
template <class V, bool edge, bool whole>
INGOT_INLINE void winograd_input_tile(const WinogradJob& j, const float* p, int64_t y, int64_t x,
                                      int64_t lanes, float* v) {
  using F = typename V::F;
  const int64_t pixel = j.x->row_stride, row = j.e.w * pixel;
  F half[6][6], d[6], r[6];
  INGOT_UNROLL for (int c = 0; c < 6; c++) {
    INGOT_UNROLL for (int i = 0; i < 6; i++) {
      const float* q = p + i * row + c * pixel;
      if (edge && (y + i < 0 || y + i >= j.e.h || x + c < 0 || x + c >= j.e.w)) q = kZeros;
      if constexpr (whole)
        d[i] = V::load(q);
      else
        d[i] = V::load_partial(q, lanes);
    }
    input_transform<V>(d, r);
    INGOT_UNROLL for (int i = 0; i < 6; i++) half[i][c] = r[i];
  }
  INGOT_UNROLL for (int i = 0; i < 6; i++) {
    input_transform<V>(half[i], r);
    INGOT_UNROLL for (int c = 0; c < 6; c++) V::store(v + (i * 6 + c) * j.g.v_plane, r[c]);
  }
}

template <class V, bool edge>
void winograd_input_channels(const WinogradJob& j, const float* p, int64_t y, int64_t x,
                             Range channels, float* v) {
  const int64_t end = min_of(channels.end, j.e.c);
  int64_t c = channels.begin;
#if defined(INGOT_SIMD_NEON)
  const WinogradWindow window = winograd_window(p, j.x->row_stride, y, x, j.e.h, j.e.w);
  for (; c + V::kLanes <= end; c += V::kLanes)
    neon_input_tile<edge>(window, c, v + c, j.g.v_plane * 4);
#endif
  for (; c + V::kLanes <= end; c += V::kLanes)
    winograd_input_tile<V, edge, true>(j, p + c, y, x, V::kLanes, v + c);
  if (V::kLanes > 1 && c < end)
    winograd_input_tile<V, edge, V::kLanes == 1>(j, p + c, y, x, end - c, v + c);
}

/// Tiles [first, first + count) of the batch, channels [channels), to V.
template <class V>
void winograd_input(const WinogradJob& j, int64_t first, int64_t count, Range channels, float* v) {
  for (int64_t t = 0; t < count; t++) {
    const int64_t n = (first + t) / j.g.tiles, tile = (first + t) % j.g.tiles;
    const int64_t y = tile / j.g.tiles_w * 4 - j.t->pad_top,
                  x = tile % j.g.tiles_w * 4 - j.t->pad_left;
    const float* p = j.x->as<float>() + ((n * j.e.h + y) * j.e.w + x) * j.x->row_stride;
    const bool edge = y < 0 || x < 0 || y + 6 > j.e.h || x + 6 > j.e.w;
    if (edge)
      winograd_input_channels<V, true>(j, p, y, x, channels, v + t * j.g.v_row);
    else
      winograd_input_channels<V, false>(j, p, y, x, channels, v + t * j.g.v_row);
  }
}

/// One vector of outputs of one tile: M -> rows x cols pixels.
template <class V>
INGOT_INLINE void winograd_output_tile(const WinogradJob& j, const float* m, const float* bias,
                                       float* out, const float* residual, int64_t rows,
                                       int64_t cols, int64_t lanes) {
  using F = typename V::F;
  const Epilogue& e = *j.epilogue;
  const int64_t pixel = j.y->row_stride;
  F half[4][6], d[6], r[4];
  INGOT_UNROLL for (int c = 0; c < 6; c++) {
    INGOT_UNROLL for (int i = 0; i < 6; i++) d[i] = V::load(m + (i * 6 + c) * j.g.m_plane);
    output_transform<V>(d, r);
    INGOT_UNROLL for (int i = 0; i < 4; i++) half[i][c] = r[i];
  }
  const F b = V::load(bias), low = V::splat(e.low), high = V::splat(e.high);
  if (e.in_registers && lanes >= V::kLanes) {
    for (int64_t i = 0; i < rows; i++) {
      output_transform<V>(half[i], r);
      float* to = out + i * j.e.ow * pixel;
      const float* res = residual ? residual + i * j.e.ow * e.residual_stride : nullptr;
      INGOT_UNROLL for (int c = 0; c < 4; c++) {
        if (c >= cols) break;
        F v = V::add(r[c], b);
        if (res && e.residual_first) v = V::add(v, V::load(res + c * e.residual_stride));
        if (e.clamps) v = V::min(high, V::max(low, v));
        if (res && !e.residual_first) v = V::add(v, V::load(res + c * e.residual_stride));
        V::store(to + c * pixel, v);
      }
    }
    return;
  }
  const bool whole = lanes >= V::kLanes;
  const auto residual_at = [&](int64_t i, int64_t c) {
    const float* p = residual + (i * j.e.ow + c) * e.residual_stride;
    return whole ? V::load(p) : V::load_partial(p, lanes);
  };
  // all sixteen outputs, so that the activation runs over them at once
  alignas(64) float tile[4][4][V::kLanes];
  INGOT_UNROLL for (int i = 0; i < 4; i++) {
    output_transform<V>(half[i], r);
    INGOT_UNROLL for (int c = 0; c < 4; c++) {
      F v = V::add(r[c], b);
      if (residual && e.residual_first && i < rows && c < cols) v = V::add(v, residual_at(i, c));
      V::store(tile[i][c], v);
    }
  }
  activate_rows<V>(e.activation, tile[0][0], 1, 16 * V::kLanes, 0);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < cols; c++) {
      float* to = out + (i * j.e.ow + c) * pixel;
      F v = V::load(tile[i][c]);
      if (residual && !e.residual_first) v = V::add(v, residual_at(i, c));
      if (whole)
        V::store(to, v);
      else
        V::store_partial(to, v, lanes);
    }
}

template <class V>
void winograd_output(const WinogradJob& j, int64_t first, int64_t count, int64_t panel,
                     int64_t outputs, const float* m) {
#if defined(INGOT_SIMD_NEON)
  const bool later = finishes_later(*j.epilogue, j.residual != nullptr, outputs);
  const Epilogue plain;
  int64_t stored = 0;  // pixels of a row of tiles that are not finished
#endif
  for (int64_t t = 0; t < count; t++) {
    const int64_t n = (first + t) / j.g.tiles, tile = (first + t) % j.g.tiles;
    const int64_t y = tile / j.g.tiles_w * 4, x = tile % j.g.tiles_w * 4,
                  pixel = (n * j.e.oh + y) * j.e.ow + x;
    const int64_t rows = min_of(4, j.e.oh - y), cols = min_of(4, j.e.ow - x);
    const float* bias = bias_at(j.bias, panel);
    float* out = j.y->as<float>() + pixel * j.y->row_stride + panel * kPanel;
    const float* residual =
        j.residual ? j.residual->as<float>() + pixel * j.residual->row_stride + panel * kPanel
                   : nullptr;
#if defined(INGOT_SIMD_NEON)
    const WinogradOutput to{out,
                            residual,
                            j.y->row_stride,
                            j.e.ow * j.y->row_stride,
                            j.e.ow * j.epilogue->residual_stride,
                            rows,
                            cols};
    neon_output_panel(to, later ? plain : *j.epilogue, m + t * 2 * kPanel, j.g.m_plane * 4, bias,
                      outputs);
    stored += later ? cols : 0;
    if (stored > 0 && (x + 4 >= j.e.ow || t + 1 == count)) {  // up to here in these rows
      for (int64_t i = 0; i < rows; i++)
        finish_stored(*j.epilogue, out + i * to.row + (cols - stored) * to.pixel, to.pixel, stored);
      stored = 0;
    }
    continue;
#endif
    for (int64_t o = 0; o < outputs; o += V::kLanes)
      winograd_output_tile<V>(j, m + t * 2 * kPanel + o, bias + o, out + o,
                              residual ? residual + o : nullptr, rows, cols, outputs - o);
  }
}

/// Panels [panels) for tiles [first, first + count), whose transformed input is v.
template <class V>
void winograd_panels(const WinogradJob& j, int64_t first, int64_t count, Range panels,
                     const float* v, float* m) {
  const Segment whole{0, 0};
  const Epilogue plain;
  const int64_t plane_weights = j.e.c * kPanel, m_row = 2 * kPanel;
  const TileShape shape{&whole, 1,     j.e.c, j.g.v_row, kWinogradPlanes * plane_weights,
                        m_row,  &plain};
  for_panels<V>(panels, j.e.o, [&](int64_t p, int np, int64_t outputs) {
    const int64_t most = Tiles<V>::rows(np);
    for (int plane = 0; plane < kWinogradPlanes; plane++) {
      const float* w = j.weights + (p * kWinogradPlanes + plane) * plane_weights;
      int64_t done = 0;  // tiles of the image
#if defined(INGOT_SIMD_NEON)
      done = neon_products(shape, v + plane * j.g.v_plane, w, m + plane * j.g.m_plane, count);
#endif
      const int64_t tiles = ceil_div(count - done, most);
      for (int64_t i = 0; i < tiles; i++) {
        const Range r = tile_part<V>(count - done, i, most);
        const int64_t h = (r.count() + 1) / 2, at = done + r.begin;
        Tiles<V>::tile(np, r.count())(shape, v + plane * j.g.v_plane + at * j.g.v_row,
                                      h * j.g.v_row, w, kZeros,
                                      m + plane * j.g.m_plane + at * m_row, h * m_row, nullptr, 0,
                                      tile_vectors<V>(np) * V::kLanes);
      }
    }
    winograd_output<V>(j, first, count, p, outputs, m);
  });
}

template <class V>
void winograd_team(const WinogradJob& j, const Team& team) {
  const int64_t panels = ceil_div(j.e.o, kPanel), groups = j.g.v_row / kPanel;
  float* own = static_cast<float*>(team.scratch);
  if (j.g.shared) {
    float* v = static_cast<float*>(team.shared);
    const Range mine = part(groups, team.id, team.size);
    winograd_input<V>(j, 0, j.g.total, {mine.begin * kPanel, mine.end * kPanel}, v);
    team.join();
    winograd_panels<V>(j, 0, j.g.total, part(panels, team.id, team.size), v, own);
    return;
  }
  const Range mine = part(j.g.total, team.id, team.size);
  float* m = own + round_up(j.g.v_elements, kPanel);
  const int64_t blocks = mine.count() > 0 ? ceil_div(mine.count(), j.g.block) : 0;
  for (int64_t i = 0; i < blocks; i++) {
    const Range block = part(mine.count(), i, blocks);
    winograd_input<V>(j, mine.begin + block.begin, block.count(), {0, j.g.v_row}, own);
    winograd_panels<V>(j, mine.begin + block.begin, block.count(), {0, panels}, own, m);
  }
}

}  // namespace
}  // namespace ingot::cpu
