// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/gemm.inl - a matrix of pixels times panels: pointwise convolutions, linear,
// matmul.
#pragma once
#include "kernels/cpu/gemm/narrow.inl"

namespace ingot::cpu {
namespace {

/// Pixels are rows of k channels, `a_stride` apart. Output and residual rows likewise. Elements
/// throughout.
struct GemmJob {
  const float* a = nullptr;
  int64_t a_stride = 0, k = 0;
  const float* weights = nullptr;  // panels16 [.][k][16]
  const float* bias = nullptr;     // vector16 or null
  float* out = nullptr;
  int64_t out_stride = 0, o = 0;
  const float* residual = nullptr;
  const Epilogue* epilogue = nullptr;
  bool reads_on = true;  // panels behind those of a call are read next
};

/// One row: panels stream from memory, several at a time so that their chains hide each other's
/// latency.
template <class V, int NP>
INGOT_INLINE int64_t gemv_panels(const GemmJob& g, const TileShape& shape, int64_t row, int64_t p,
                                 int64_t end) {
  for (; p + NP <= end; p += NP) {
    gemm_tile<V, 1, NP>(
        shape, g.a + row * g.a_stride, 0, g.weights + p * kPanel * g.k, bias_at(g.bias, p),
        g.out + row * g.out_stride + p * kPanel, 0,
        g.residual ? g.residual + row * g.epilogue->residual_stride + p * kPanel : nullptr, 0,
        min_of(g.o - p * kPanel, NP * kPanel));
  }
  return p;
}
template <class V>
void gemv(const GemmJob& g, const TileShape& shape, int64_t row, Range panels) {
  constexpr int kWide = TileSize<V::kLanes>::kWide;
  int64_t p = gemv_panels<V, kWide>(g, shape, row, panels.begin, panels.end);
  if constexpr (kWide >= 8) p = gemv_panels<V, 4>(g, shape, row, p, panels.end);
  if constexpr (kWide >= 4) p = gemv_panels<V, 2>(g, shape, row, p, panels.end);
  gemv_panels<V, 1>(g, shape, row, p, panels.end);
}

#if defined(INGOT_SIMD_NEON)
/// Tiles of five and four rows of a panel, or of four by half of one, which do the epilogue
/// themselves: calls would be a part of narrow products that counts. Returns how many rows.
template <bool half>
int64_t gemm_column_neon(const GemmJob& g, const TileShape& x, int64_t first, int64_t n, int64_t p,
                         int64_t cols) {
  const Epilogue& e = *g.epilogue;
  const bool later = finishes_later(e, g.residual != nullptr, cols);
  if (!later && !neon_finishes(e, g.residual != nullptr, cols)) return 0;
  const NeonTile t = neon_tile(x, g.weights + p * x.panel_stride, bias_at(g.bias, p),
                               !later && e.clamps, 2 * x.pixel_stride);
  constexpr int64_t kStored = 16;  // tiles whose 4 KiB are finished together
  const int64_t out_stride = g.out_stride * 4, residual_stride = e.residual_stride * 4;
  const FivesAndFours cut = half ? FivesAndFours{0, n / 4, n % 4} : fives_and_fours(n);
  const float* a = g.a + first * g.a_stride;
  float* out = g.out + first * g.out_stride + p * kPanel;
  const float* residual =
      g.residual ? g.residual + first * e.residual_stride + p * kPanel : nullptr;
  const auto pass = [&](int64_t rows) {
    a += rows * g.a_stride, out += rows * g.out_stride;
    if (residual) residual += rows * e.residual_stride;
  };
  for (int64_t i = 0; i < cut.fives;) {
    const int64_t tiles = later ? min_of(kStored, cut.fives - i) : cut.fives;
    neon_tiles_5(t, tiles, a, out, out_stride, residual, residual_stride);
    if (later) finish_stored(e, out, g.out_stride, 5 * tiles);
    i += tiles, pass(5 * tiles);
  }
  for (int64_t i = 0; i < cut.fours; i++) {
    neon_tile_4<half>(t, a, out, out_stride, out_stride, residual, residual_stride,
                      residual_stride);
    pass(4);
    const int64_t stored = i % kStored + 1;  // tiles
    if (later && (stored == kStored || i + 1 == cut.fours))
      finish_stored(e, out - 4 * stored * g.out_stride, g.out_stride, 4 * stored);
  }
  return cut.cut();
}
#endif

/// Rows [first, first + n) times `count` panels from p on, `cols` outputs. `fetching`: the shapes
/// of the last tiles, or null.
template <class V>
INGOT_INLINE void gemm_column(const GemmJob& g, const TileShape& shape, const TileShape* fetching,
                              int64_t first, int64_t n, int64_t p, int count, int64_t cols) {
  constexpr int kGroup = TileSize<V::kLanes>::kPanels;
  int64_t done = 0;
#if defined(INGOT_SIMD_NEON)
  done = cols == kPanel / 2 ? gemm_column_neon<true>(g, shape, first, n, p, cols)
                            : gemm_column_neon<false>(g, shape, first, n, p, cols);
#else
  done = narrow_pixels<V>(
      shape, g.a + first * g.a_stride, n, g.weights + p * shape.panel_stride, bias_at(g.bias, p),
      g.out + first * g.out_stride + p * kPanel,
      g.residual ? g.residual + first * g.epilogue->residual_stride + p * kPanel : nullptr, cols);
#endif
  const int64_t most = Tiles<V>::rows(count), tiles = ceil_div(n - done, most);
  for (int64_t t = 0; t < tiles; t++) {
    const Range r = tile_part<V>(n - done, t, most);
    const int64_t row = first + done + r.begin, h = (r.count() + 1) / 2;
    const int64_t left = tiles - 1 - t;
    Tiles<V>::tile(count, r.count())(
        left < kGroup && fetching ? fetching[left] : shape, g.a + row * g.a_stride, h * g.a_stride,
        g.weights + p * shape.panel_stride, bias_at(g.bias, p),
        g.out + row * g.out_stride + p * kPanel, h * g.out_stride,
        g.residual ? g.residual + row * g.epilogue->residual_stride + p * kPanel : nullptr,
        h * g.epilogue->residual_stride, cols);
  }
}

/// Rows [rows) times panels [panels): blocks of rows stay in L2 while the panels stream over them.
template <class V>
void gemm(const GemmJob& g, Range rows, Range panels) {
  if (rows.count() <= 0 || panels.count() <= 0) return;
  const Segment whole{0, 0};
  const TileShape shape{&whole, 1, g.k, g.a_stride, g.k * kPanel, g.out_stride, g.epilogue};
  // The last tiles of a group of panels fetch the next group, a panel each: with few rows memory is
  // only ever read by them.
  constexpr int kGroup = TileSize<V::kLanes>::kPanels;
  TileShape fetching[kGroup];
  for (int i = 0; i < kGroup; i++)
    fetching[i] = shape, fetching[i].ahead_first = (kGroup + i) * shape.panel_stride;
  if (rows.count() == 1) return gemv<V>(g, shape, rows.begin, panels);
  const int64_t fit = conv::kBandBytes / 4 / max_of(g.k, 1);
  const int64_t blocks = ceil_div(
      rows.count(), max_of(fit / conv::kTileGrain * conv::kTileGrain, 2 * conv::kTileGrain));
  // whole tiles but in the last block, where that matters
#if defined(INGOT_SIMD_NEON)
  constexpr int64_t kGrain = 5;
#else
  constexpr int64_t kGrain = 1;
#endif
  for (int64_t i = 0; i < blocks; i++) {
    const Range tiles_of_part = part(ceil_div(rows.count(), kGrain), i, blocks);
    const int64_t first = rows.begin + tiles_of_part.begin * kGrain,
                  n = min_of(rows.end - first, tiles_of_part.count() * kGrain);
    for_panels<V>(panels, g.o, [&](int64_t p, int count, int64_t cols) {
      gemm_column<V>(g, shape, g.reads_on ? fetching : nullptr, first, n, p, count, cols);
    });
  }
}

/// The whole product, divided among the team: by what is smaller to read twice. Tokens (32 and more
/// for each member) are divided by themselves: what one layer's rows leave in a core's cache is
/// what the next layer's want.
template <class V>
void gemm_team(const GemmJob& g, int64_t rows, const Team& team, bool tokens = false) {
  const int64_t panels = ceil_div(g.o, kPanel);
  if (tokens && rows >= 32 * team.size)
    return gemm<V>(g, part(rows, team.id, team.size), {0, panels});
  if (rows == 1 || (panels >= 2 * team.size && panels * kPanel > rows))
    return gemm<V>(g, {0, rows}, part(panels, team.id, team.size));
  const int64_t grain = TileSize<V::kLanes>::kRows;
  const Range tiles = part(ceil_div(rows, grain), team.id, team.size);
  gemm<V>(g, {min_of(rows, tiles.begin * grain), min_of(rows, tiles.end * grain)}, {0, panels});
}

}  // namespace
}  // namespace ingot::cpu
