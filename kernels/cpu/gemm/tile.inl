// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/tile.inl - the register tile behind every product: MR pixels by NP panels of 16
// outputs.
//
//   out[i][o] = epilogue(bias[o] + sum over segments s, over t < length of a_i[s.a + t] * b[s.b + t
//   * 16 + o])
//
// One chain of fma per output in the order of the segments, whatever the tile. Pixels come in two
// halves, so that a tile may span two image rows: pixel i of the first half is at a + i *
// pixel_stride, of the second at a + half + (i - h) * pixel_stride with h = (MR + 1) / 2. Panel p
// of the tile is at b + p * panel_stride. Only the first `cols` outputs of a row are stored.
#pragma once
#include "kernels/cpu/gemm/epilogue.inl"
#include "runtime/op/conv_blocks.h"
#if defined(INGOT_SIMD_NEON)
#include "kernels/cpu/gemm/tile_neon_five.inl"
#elif defined(INGOT_SIMD_NEON32)
#include "kernels/cpu/gemm/tile_neon32.inl"
#endif

namespace ingot::cpu {
namespace {

using conv::Segment;

/// Register tiles measured best by lanes: rows x panels; `tall` rows of a single panel; panels of a
/// single row. AVX-512 14x32 and 28x16, AVX2 6x16, NEON 4x16 and 5x16 (tile_neon.inl,
/// tile_neon_five.inl), scalar 1x16.
/// `kHalf`: rows of half a panel in one vector, which is a count of panels of 0; 0: no such tiles.
/// `kWhole`: a tile of all rows is so much better that the last one has what is left; else tiles
/// are level.
template <int kLanes>
struct TileSize {
  static constexpr int kRows = 6, kPanels = 1, kTall = 6, kWide = 4;
#if defined(INGOT_SIMD_AVX2)
  static constexpr int kHalf = 12;
#else
  static constexpr int kHalf = 0;
#endif
  static constexpr bool kWhole = false;
};
#if defined(INGOT_SIMD_SSE2) || defined(INGOT_SIMD_NEON32)  // 16 registers
template <>
struct TileSize<4> {
  static constexpr int kRows = 3, kPanels = 1, kTall = 3, kHalf = 0, kWide = 2;
  static constexpr bool kWhole = false;
};
#else
template <>
struct TileSize<4> {
  static constexpr int kRows = 4, kPanels = 1, kTall = 4, kHalf = 0, kWide = 4;
  static constexpr bool kWhole = true;
};
#endif
template <>
struct TileSize<16> {
  static constexpr int kRows = 14, kPanels = 2, kTall = 28, kHalf = 0, kWide = 4;
  static constexpr bool kWhole = false;
};
template <>
struct TileSize<1> {
  static constexpr int kRows = 1, kPanels = 1, kTall = 1, kHalf = 0, kWide = 1;
  static constexpr bool kWhole = false;
};

/// Rows of a tile of `panels` panels at most.
template <class V>
constexpr int tallest(int panels) {
  using Size = TileSize<V::kLanes>;
  return panels == Size::kPanels ? Size::kRows : panels == 0 ? Size::kHalf : Size::kTall;
}
/// Vectors of outputs of a tile.
template <class V>
constexpr int tile_vectors(int panels) {
  return panels == 0 ? 1 : panels * (kPanel / V::kLanes);
}

constexpr int kWidest = 8;  // panels
alignas(64) constexpr float kZeros[kWidest * kPanel] = {};
constexpr int64_t kPrefetch = 1024;  // elements ahead in a weight panel: 4 KiB

/// What the tiles of one call share. Sizes in elements.
struct TileShape {
  const Segment* segments = nullptr;
  int64_t segment_count = 0, segment_length = 0;
  int64_t pixel_stride = 0, panel_stride = 0, out_stride = 0;
  const Epilogue* epilogue = nullptr;
  // What is fetched while a step of the first and of the second panel is used, counted from the
  // first; 0: 4 KiB ahead of itself.
  int64_t ahead_first = kPrefetch, ahead_second = 0;
};

using Tile = void (*)(const TileShape&, const float* a, int64_t half, const float* b,
                      const float* bias, float* out, int64_t out_half, const float* residual,
                      int64_t residual_half, int64_t cols);

/// Row i of a tile in two halves of h rows.
template <class T>
INGOT_INLINE T* tile_row(T* p, int h, int64_t half, int64_t stride, int i) {
  return i < h ? p + i * stride : p + half + (i - h) * stride;
}

/// Whether a V multiplies by one lane of a vector (NEON). A core without a C++ library asks, too.
template <class V>
constexpr auto has_lane_products(int)
    -> decltype(V::template fma_lane<0>(V::zero(), V::zero(), V::zero()), true) {
  return true;
}
template <class V>
constexpr bool has_lane_products(...) {
  return false;
}

/// Outputs j and j + 1 of step `lane` of four: that lane of each row times two columns.
template <class V, int lane, int j, int MR, int kVecs>
INGOT_INLINE void add_lane(const float* w, const typename V::F (&rows)[MR],
                           typename V::F (&acc)[MR][kVecs]) {
  typename V::F low, high;
  V::template load_pair<lane * kPanel + j * V::kLanes>(w, low, high);
  INGOT_UNROLL for (int i = 0; i < MR; i++) acc[i][j] =
      V::template fma_lane<lane>(low, rows[i], acc[i][j]);
  INGOT_UNROLL for (int i = 0; i < MR; i++) acc[i][j + 1] =
      V::template fma_lane<lane>(high, rows[i], acc[i][j + 1]);
}

/// Four steps of one load of each row: the first half of the rows begins at p0, the second at p2.
/// Nothing is fetched ahead: panels are read in order, which the processors' own prefetchers
/// follow.
template <class V, int MR, int kVecs>
INGOT_INLINE void add_four_steps(const float* p0, const float* p2, int64_t stride, const float* w,
                                 typename V::F (&acc)[MR][kVecs]) {
  static_assert(V::kLanes == 4, "columns are loaded by pairs of a panel");
  constexpr int kHalf = (MR + 1) / 2;
  typename V::F rows[MR];
  INGOT_UNROLL for (int i = 0; i < MR; i++) rows[i] =
      V::load(i < kHalf ? p0 + i * stride : p2 + (i - kHalf) * stride);
  add_lane<V, 0, 0>(w, rows, acc), add_lane<V, 0, 2>(w, rows, acc);
  add_lane<V, 1, 0>(w, rows, acc), add_lane<V, 1, 2>(w, rows, acc);
  add_lane<V, 2, 0>(w, rows, acc), add_lane<V, 2, 2>(w, rows, acc);
  add_lane<V, 3, 0>(w, rows, acc), add_lane<V, 3, 2>(w, rows, acc);
}

/// The sums of a tile, bias included.
template <class V, int MR, int NP>
INGOT_INLINE void accumulate_tile(const TileShape& x, const float* a, int64_t half, const float* b,
                                  const float* bias,
                                  typename V::F (&acc)[MR][tile_vectors<V>(NP)]) {
  using F = typename V::F;
  constexpr int kVecs = kPanel / V::kLanes, kAll = tile_vectors<V>(NP), kHalf = (MR + 1) / 2,
                kQuarter = kHalf > 7 ? (kHalf + 1) / 2 : kHalf;
  const int64_t panel = x.panel_stride, stride = x.pixel_stride, length = x.segment_length;
  const int64_t ahead = x.ahead_first, second = x.ahead_second ? x.ahead_second : panel + kPrefetch;
  INGOT_UNROLL for (int i = 0; i < MR; i++) INGOT_UNROLL for (int j = 0; j < kAll; j++) acc[i][j] =
      V::load(bias + j * V::kLanes);
  const Segment* const last = x.segments + x.segment_count;
  for (const Segment* s = x.segments; s != last; s++) {
    // up to seven pixels behind each pointer, so that strides need few registers
    const float* p0 = a + s->a;
    const float *p1 = p0 + kQuarter * stride, *p2 = p0 + half, *p3 = p2 + kQuarter * stride;
    const float* w = b + s->b;
    const float* const end = p0 + length;
    if constexpr (has_lane_products<V>(0) && MR > 1) {
      static_assert(NP == 1, "columns of one panel");
      const float* const fours = p0 + length / 4 * 4;
      const float* const eights = V::kLongLoops ? p0 + length / 8 * 8 : p0;
      for (; p0 != eights; p0 += 8, p2 += 8, w += 8 * kPanel) {
        add_four_steps<V>(p0, p2, stride, w, acc);
        add_four_steps<V>(p0 + 4, p2 + 4, stride, w + 4 * kPanel, acc);
      }
      for (; p0 != fours; p0 += 4, p2 += 4, w += 4 * kPanel)
        add_four_steps<V>(p0, p2, stride, w, acc);
      p1 = p0 + kQuarter * stride, p3 = p2 + kQuarter * stride;
    }
#if defined(INGOT_SIMD_NEON32)
    if constexpr (MR == 3 && NP == 1) {
      if (length > 0) add_steps_of_three(p0, p0 + stride, p2, w, length, ahead, acc);
      continue;
    }
#endif
    for (; p0 != end; p0++, p1++, p2++, p3++, w += kPanel) {
      if constexpr (MR == 1) {  // a column is used once: no register for it
        V::prefetch(w + ahead);
        INGOT_UNROLL for (int j = 1; j < NP; j++) V::prefetch(w + second + (j - 1) * panel);
        const F v = V::splat(*p0);
        INGOT_UNROLL for (int j = 0; j < kAll; j++) acc[0][j] =
            V::fma(v, V::load(w + (j / kVecs) * panel + (j % kVecs) * V::kLanes), acc[0][j]);
        continue;
      }
      F column[kAll];
      INGOT_UNROLL for (int j = 0; j < kAll; j++) column[j] =
          V::load(w + (j / kVecs) * panel + (j % kVecs) * V::kLanes);
      V::prefetch(w + ahead);
      INGOT_UNROLL for (int j = 1; j < NP; j++) V::prefetch(w + second + (j - 1) * panel);
      INGOT_UNROLL for (int i = 0; i < MR; i++) {
        const int r = i < kHalf ? i : i - kHalf;
        const float* p = i < kHalf ? (r < kQuarter ? p0 : p1) : (r < kQuarter ? p2 : p3);
        const F v = V::splat(p[(r < kQuarter ? r : r - kQuarter) * stride]);
        INGOT_UNROLL for (int j = 0; j < kAll; j++) acc[i][j] = V::fma(v, column[j], acc[i][j]);
      }
    }
  }
}

/// The epilogue of MR rows of sums in L1.
template <class V, int MR>
INGOT_INLINE void finish_sums(const TileShape& x, const float* tile, int64_t tile_stride,
                              float* out, int64_t out_half, const float* residual,
                              int64_t residual_half, int64_t cols) {
  constexpr int kHalf = (MR + 1) / 2;
  const Epilogue& e = *x.epilogue;
  const bool even =
      out_half == kHalf * x.out_stride && (!residual || residual_half == kHalf * e.residual_stride);
  finish_tile<V>(e, tile, tile_stride, even ? MR : kHalf, cols, out, x.out_stride, residual);
  if (MR > kHalf && !even)
    finish_tile<V>(e, tile + kHalf * tile_stride, tile_stride, MR - kHalf, cols, out + out_half,
                   x.out_stride, residual ? residual + residual_half : nullptr);
}

/// The epilogue, and the sums of a tile to the output.
template <class V, int MR, int NP>
INGOT_INLINE void store_tile(const TileShape& x, typename V::F (&acc)[MR][tile_vectors<V>(NP)],
                             float* out, int64_t out_half, const float* residual,
                             int64_t residual_half, int64_t cols) {
  using F = typename V::F;
  constexpr int kAll = tile_vectors<V>(NP), kWidth = kAll * V::kLanes, kHalf = (MR + 1) / 2;
  const Epilogue& e = *x.epilogue;
  const bool whole = cols == kWidth;
  // in the tallest tiles alone, since each has code for it
  if constexpr (MR > 1 && MR == tallest<V>(NP))
    if (is_hard_swish(e.activation.kind) && whole && !residual) {
      INGOT_UNROLL for (int i = 0; i < MR; i++) hard_swish_sums<V, kAll>(e.activation, acc[i]);
      INGOT_UNROLL for (int i = 0; i < MR; i++) INGOT_UNROLL for (int j = 0; j < kAll; j++)
          V::store(tile_row(out, kHalf, out_half, x.out_stride, i) + j * V::kLanes, acc[i][j]);
      return;
    }
  if (!e.in_registers || (residual && !whole)) {
    alignas(64) float tile[MR][kWidth];
    INGOT_UNROLL for (int i = 0; i < MR; i++) INGOT_UNROLL for (int j = 0; j < kAll; j++)
        V::store(&tile[i][j * V::kLanes], acc[i][j]);
    return finish_sums<V, MR>(x, tile[0], kWidth, out, out_half, residual, residual_half, cols);
  }
  const auto add_residual = [&] {
    INGOT_UNROLL for (int i = 0; i < MR; i++) {
      const float* r = tile_row(residual, kHalf, residual_half, e.residual_stride, i);
      INGOT_UNROLL for (int j = 0; j < kAll; j++) acc[i][j] =
          V::add(acc[i][j], V::load(r + j * V::kLanes));
    }
  };
  if (residual && e.residual_first) add_residual();
  if (e.clamps) {
    const F low = V::splat(e.low), high = V::splat(e.high);
    INGOT_UNROLL for (int i = 0; i < MR; i++) INGOT_UNROLL for (int j = 0; j < kAll; j++)
        acc[i][j] = V::min(high, V::max(low, acc[i][j]));
  }
  if (residual && !e.residual_first) add_residual();
  if (whole) {
    INGOT_UNROLL for (int i = 0; i < MR; i++) INGOT_UNROLL for (int j = 0; j < kAll; j++)
        V::store(tile_row(out, kHalf, out_half, x.out_stride, i) + j * V::kLanes, acc[i][j]);
    return;
  }
  INGOT_UNROLL for (int j = 0; j < kAll; j++) {
    const int64_t n = cols - j * V::kLanes;
    if (n <= 0) break;
    INGOT_UNROLL for (int i = 0; i < MR; i++) {
      float* to = tile_row(out, kHalf, out_half, x.out_stride, i) + j * V::kLanes;
      if (n >= V::kLanes)
        V::store(to, acc[i][j]);
      else
        V::store_partial(to, acc[i][j], n);
    }
  }
}

#if defined(INGOT_SIMD_NEON)
/// Whether a tile of NEON does the epilogue: limits, behind the residual if there is one, and whole
/// panels or halves.
INGOT_INLINE bool neon_finishes(const Epilogue& e, bool has_residual, int64_t cols) {
  return e.in_registers && (cols == kPanel || cols == kPanel / 2) &&
         !(has_residual && e.clamps && !e.residual_first);
}

INGOT_INLINE NeonTile neon_tile(const TileShape& x, const float* b, const float* bias, bool limits,
                                int64_t half) {
  return {x.segments,
          x.segments + x.segment_count,
          b,
          bias,
          x.segment_length / 8,
          x.segment_length % 8,
          x.pixel_stride * 4,
          (half - x.pixel_stride) * 4,
          limits ? &x.epilogue->low : nullptr,
          limits && x.epilogue->high != __builtin_inff()};
}

template <class V, int MR>
INGOT_INLINE void gemm_tile_neon(const TileShape& x, const float* a, int64_t half, const float* b,
                                 const float* bias, float* out, int64_t out_half,
                                 const float* residual, int64_t residual_half, int64_t cols) {
  static_assert(MR == 1 || MR == 4, "the tiles that there are");
  const Epilogue& e = *x.epilogue;
  // one pixel is always of a whole panel
  const bool half_panel = MR == 4 && cols <= kPanel / 2,
             finishes =
                 neon_finishes(e, residual != nullptr, cols) && (half_panel || cols == kPanel);
  const NeonTile t = neon_tile(x, b, bias, finishes && e.clamps, half);
  alignas(64) float tile[MR][kPanel];
  float* to = finishes ? out : tile[0];
  const float* add = finishes ? residual : nullptr;
  if constexpr (MR == 1) {
    neon_tile_1(t, a, to, add);
  } else {
    const int64_t stride = (finishes ? x.out_stride : kPanel) * 4;
    const int64_t jump = finishes ? out_half * 4 - stride : stride,
                  residual_stride = e.residual_stride * 4,
                  residual_jump = residual_half * 4 - residual_stride;
    if (half_panel)
      neon_tile_4<true>(t, a, to, stride, jump, add, residual_stride, residual_jump);
    else
      neon_tile_4<false>(t, a, to, stride, jump, add, residual_stride, residual_jump);
  }
  if (!finishes)
    finish_sums<V, MR>(x, tile[0], kPanel, out, out_half, residual, residual_half, cols);
}
#endif

template <class V, int MR, int NP>
void gemm_tile(const TileShape& x, const float* a, int64_t half, const float* b, const float* bias,
               float* out, int64_t out_half, const float* residual, int64_t residual_half,
               int64_t cols) {
#if defined(INGOT_SIMD_NEON)
  if constexpr (NP == 1 && (MR == 1 || MR == 4))
    return gemm_tile_neon<V, MR>(x, a, half, b, bias, out, out_half, residual, residual_half, cols);
#endif
  typename V::F acc[MR][tile_vectors<V>(NP)];
  accumulate_tile<V, MR, NP>(x, a, half, b, bias, acc);
  store_tile<V, MR, NP>(x, acc, out, out_half, residual, residual_half, cols);
}

/// Tiles of NP panels by rows 1 .. n.
template <class V, int NP, int n>
struct TileColumn {
  Tile rows[n + 1] = {};
  template <int... I>
  constexpr void fill(Indices<I...>) {
    ((rows[I + 1] = gemm_tile<V, I + 1, NP>), ...);
  }
  constexpr TileColumn() { fill(typename MakeIndices<n>::Type()); }
};

/// Every tile of an instruction set.
template <class V>
struct Tiles {
  using Size = TileSize<V::kLanes>;
  static constexpr TileColumn<V, 1, Size::kTall> kSingle{};
  static constexpr TileColumn<V, Size::kPanels, Size::kRows> kFull{};
  static constexpr TileColumn<V, 0, Size::kHalf> kHalves{};
  static constexpr int rows(int panels) { return tallest<V>(panels); }
  static INGOT_INLINE Tile tile(int panels, int64_t rows) {
    if (Size::kHalf > 0 && panels == 0) return kHalves.rows[rows];
    return panels == Size::kPanels ? kFull.rows[rows] : kSingle.rows[rows];
  }
};

struct Range {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
/// Part `i` of n things in `parts`.
inline Range part(int64_t n, int64_t i, int64_t parts) {
  return {n / parts * i + n % parts * i / parts, n / parts * (i + 1) + n % parts * (i + 1) / parts};
}
constexpr int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }

/// Rows of tile t of those that n rows are cut into, `most` rows at most.
template <class V>
INGOT_INLINE Range tile_part(int64_t n, int64_t t, int64_t most) {
  if constexpr (TileSize<V::kLanes>::kWhole) return {t * most, min_of(n, (t + 1) * most)};
  return part(n, t, ceil_div(n, most));
}

/// Calls f(first panel, panels, outputs) over panels [range) of o outputs, in groups of the tile's
/// width; half a panel is 0 panels where there are tiles for it.
template <class V, class F>
INGOT_INLINE void for_panels(Range range, int64_t o, F f) {
  constexpr int kStep = TileSize<V::kLanes>::kPanels;
  for (int64_t p = range.begin; p < range.end; p += kStep) {
    const int count = range.end - p < kStep ? 1 : kStep;
    const int64_t outputs = min_of(o - p * kPanel, count * kPanel);
    f(p, TileSize<V::kLanes>::kHalf > 0 && outputs <= V::kLanes ? 0 : count, outputs);
  }
}

INGOT_INLINE const float* bias_at(const float* bias, int64_t panel) {
  return bias ? bias + panel * kPanel : kZeros;
}

}  // namespace
}  // namespace ingot::cpu
