// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/tile.inl - the register tile behind every product of bytes: MR pixels by NP
// panels of 16 outputs, as kernels/cpu/gemm/tile.inl for floats. Runs are whole groups of four
// bytes: what is read past the end of a run meets weights of zero.
//
// 16-bit pixels are two of bytes: x + 32768 = 256 * upper + lower, so that a tile runs over the
// upper bytes, then over the lower ones, and both sums make one.
#pragma once
#include "kernels/cpu/quantized/tile_shape.inl"
#if defined(INGOT_SIMD_AVX2) && !defined(INGOT_SIMD_VNNI)
#include "kernels/cpu/quantized/pixels_avx2.inl"
#define INGOT_PIXEL_LANES 1
#elif defined(INGOT_SIMD_AMX)
#include "kernels/cpu/simd/amx.h"
#endif

namespace ingot::cpu {
namespace {

constexpr int64_t kBytePrefetch = 2048;  // bytes ahead in a weight panel

/// Where the pixels of a tile are: the first of each quarter, so that few addresses are kept.
template <int MR>
struct PixelQuarters {
  static constexpr int kHalf = (MR + 1) / 2, kQuarter = kHalf > 7 ? (kHalf + 1) / 2 : kHalf;
  const uint8_t *p0, *p1, *p2, *p3;
  INGOT_INLINE PixelQuarters(const uint8_t* at, int64_t half, int64_t stride)
      : p0(at), p1(p0 + kQuarter * stride), p2(p0 + half), p3(p2 + kQuarter * stride) {}
  INGOT_INLINE const uint8_t* of(int i, int64_t stride) const {
    return i < kQuarter           ? p0 + i * stride
           : i < kHalf            ? p1 + (i - kQuarter) * stride
           : i < kHalf + kQuarter ? p2 + (i - kHalf) * stride
                                  : p3 + (i - kHalf - kQuarter) * stride;
  }
  INGOT_INLINE void step(int64_t n) { p0 += n, p1 += n, p2 += n, p3 += n; }
};

template <class V, int MR, int NP>
INGOT_INLINE void load_column(const int8_t* w, int64_t panel, typename Dot::W (&column)[NP]) {
  INGOT_UNROLL for (int p = 0; p < NP; p++) {
    column[p] = Dot::weights(w + p * panel);
    if constexpr (MR > 1 && NP > 1) V::prefetch(w + p * panel + kBytePrefetch);
  }
}

/// Where bytes have to be widened for products, a tile does so once for all panels, so much of its
/// pixels at a time.
constexpr int64_t kWidened = 128;

template <class V, class D, int MR, int NP>
INGOT_INLINE void accumulate_widened(const Int8TileShape& x, const Int8TileAt& t,
                                     typename D::A (&acc)[MR][NP]) {
  alignas(64) uint16_t widened[MR][kWidened];
  const Segment* const last = x.segments + x.segment_count;
  for (const Segment* s = x.segments; s != last; s++)
    for (int64_t from = 0; from < x.segment_length; from += kWidened) {
      const int64_t n = min_of(kWidened, x.segment_length - from);
      const PixelQuarters<MR> pixels(t.a + s->a + from, t.half, x.pixel_stride);
      INGOT_UNROLL for (int i = 0; i < MR; i++)
          D::widen(pixels.of(i, x.pixel_stride), n, widened[i]);
      const int8_t* w = t.b + s->b + from * kPanel;
      for (int64_t k = 0; k < n; k += 4, w += 4 * kPanel) {
        typename D::W column[NP];
        load_column<V, MR, NP>(w, x.panel_stride, column);
        INGOT_UNROLL for (int i = 0; i < MR; i++) {
          INGOT_UNROLL for (int p = 0; p < NP; p++)
              D::dot_wide(acc[i][p], widened[i] + k, column[p]);
        }
      }
    }
}

template <class V, class D, int MR, int NP>
INGOT_INLINE void accumulate_narrow(const Int8TileShape& x, const Int8TileAt& t,
                                    typename D::A (&acc)[MR][NP]) {
  const int64_t stride = x.pixel_stride;
  const Segment* const last = x.segments + x.segment_count;
  for (const Segment* s = x.segments; s != last; s++) {
    PixelQuarters<MR> pixels(t.a + s->a, t.half, stride);
    const int8_t* w = t.b + s->b;
    for (const uint8_t* const end = pixels.p0 + x.segment_length; pixels.p0 != end;
         pixels.step(4), w += 4 * kPanel) {
      typename D::W column[NP];
      load_column<V, MR, NP>(w, x.panel_stride, column);
      INGOT_UNROLL for (int i = 0; i < MR; i++) {
        const typename D::X v = D::bytes(pixels.of(i, stride));
        INGOT_UNROLL for (int p = 0; p < NP; p++) D::dot(acc[i][p], v, column[p]);
      }
    }
  }
}

/// Group g of each pixel's bytes.
template <class V, class D, int g, int MR, int NP>
INGOT_INLINE void add_group(const int8_t* w, int64_t panel, const typename D::X (&pixels)[MR],
                            typename D::A (&acc)[MR][NP]) {
  if constexpr (D::kByColumns && MR > 1 && NP == 1)
    return D::template dot_rows<g>(reinterpret_cast<typename D::A(&)[MR]>(acc), pixels, w);
  typename D::W column[NP];
  load_column<V, MR, NP>(w + g * 4 * kPanel, panel, column);
  INGOT_UNROLL for (int i = 0; i < MR; i++) {
    INGOT_UNROLL for (int p = 0; p < NP; p++) D::template dot<g>(acc[i][p], pixels[i], column[p]);
  }
}

/// Four groups of a pixel at a time, then those that are left.
template <class V, class D, int MR, int NP>
INGOT_INLINE void accumulate_groups(const Int8TileShape& x, const Int8TileAt& t,
                                    typename D::A (&acc)[MR][NP]) {
  const int64_t stride = x.pixel_stride, panel = x.panel_stride;
  const Segment* const last = x.segments + x.segment_count;
  for (const Segment* s = x.segments; s != last; s++) {
    PixelQuarters<MR> at(t.a + s->a, t.half, stride);
    const int8_t* w = t.b + s->b;
    const uint8_t *const end = at.p0 + x.segment_length, *const fours = end - x.segment_length % 16;
    typename D::X pixels[MR];
    for (; at.p0 != fours; at.step(16), w += 16 * kPanel) {
      const typename D::Flip flip = D::flip();
      INGOT_UNROLL for (int i = 0; i < MR; i++) pixels[i] = D::bytes(at.of(i, stride), flip);
      add_group<V, D, 0>(w, panel, pixels, acc), add_group<V, D, 1>(w, panel, pixels, acc);
      add_group<V, D, 2>(w, panel, pixels, acc), add_group<V, D, 3>(w, panel, pixels, acc);
    }
    for (; at.p0 != end; at.step(4), w += 4 * kPanel) {
      const typename D::Flip flip = D::flip();
      INGOT_UNROLL for (int i = 0; i < MR; i++) pixels[i] = D::four_bytes(at.of(i, stride), flip);
      add_group<V, D, 0>(w, panel, pixels, acc);
    }
  }
}

template <class V, int MR, int NP>
INGOT_INLINE void accumulate_bytes(const Int8TileShape& x, const Int8TileAt& t,
                                   typename Dot::A (&acc)[MR][NP]) {
  const int32_t* const bias = x.starts(t.output);
  INGOT_UNROLL for (int i = 0; i < MR; i++) INGOT_UNROLL for (int p = 0; p < NP; p++) acc[i][p] =
      Dot::start(bias + p * kPanel);
  if constexpr (Dot::kWidens)
    accumulate_widened<V, Dot, MR, NP>(x, t, acc);
  else if constexpr (Dot::kGroups > 1)
    accumulate_groups<V, Dot, MR, NP>(x, t, acc);
  else
    accumulate_narrow<V, Dot, MR, NP>(x, t, acc);
}

/// The sums of pixel i and panel p, in order, weights' zero point taken into account.
template <class V, int MR, int NP>
INGOT_INLINE void finish_sums(const Int8TileShape& x, int32_t w_zero, const Int8TileAt& t,
                              const typename Dot::A (&acc)[MR][NP], int i, int p,
                              typename V::I (&sums)[Dot::kChunks]) {
  constexpr int kHalf = (MR + 1) / 2;
  Dot::finish(acc[i][p], x.starts(t.output) + p * kPanel, sums);
  if (__builtin_expect(w_zero != 0, 0)) {
    const int32_t sum = *tile_row(t.sums, kHalf, t.sums_half, 1, i);
    const typename V::I less = V::isplat(int32_t(uint32_t(sum) * uint32_t(w_zero)));
    INGOT_UNROLL for (int c = 0; c < Dot::kChunks; c++) sums[c] = V::isub(sums[c], less);
  }
}

/// Four vectors of 16 steps at a time, where the instruction set packs them so. What stores could
/// change, as far as the compiler knows, is read before the first of them.
template <class V, class D, int MR, int NP>
INGOT_INLINE void store_by_fours(const Int8TileShape& x, const Int8TileAt& t,
                                 const typename D::A (&acc)[MR][NP]) {
  constexpr int kHalf = (MR + 1) / 2, kUnits = MR * NP, kPixels = NP >= 4 ? 1 : 4 / NP;
  constexpr int kOutputs = NP * kPanel;
  const Requantization& r = *x.requantization;
  const Int8TileAt at = t;
  const int64_t stride = x.out_stride;
  const int32_t zero = r.zero, low = r.low, w_zero = r.w_zero;
  // pixels that follow each other without a gap
  const bool dense = at.cols >= kOutputs && stride == kOutputs && at.out_half == kHalf * stride;
  typename V::F multipliers[NP];
  INGOT_UNROLL for (int p = 0; p < NP; p++) multipliers[p] =
      V::load(r.floats(1) + at.output + p * kPanel);
  const typename V::F high = V::splat(float(r.high - zero));
  INGOT_UNROLL for (int u = 0; u < kUnits; u += 4) {
    typename V::I steps[4];
    INGOT_UNROLL for (int j = 0; j < 4; j++) {
      const int unit = u + j < kUnits ? u + j : kUnits - 1, p = unit % NP;
      typename V::I sums[1];
      finish_sums<V, MR, NP>(x, w_zero, at, acc, unit / NP, p, sums);
      const typename V::F step = V::mul(V::to_float(sums[0]), multipliers[p]);
      steps[j] = V::to_int_nearest(V::min(step, high));
    }
    const typename V::I bytes = D::pack_four(steps, zero, low);
    if (dense && u + 4 <= kUnits) {
      D::template store_part<64>(at.out + u * kPanel, bytes, 0, 64);
      continue;
    }
    INGOT_UNROLL for (int k = 0; k < kPixels; k++) {
      const int i = u / NP + k;
      if (i < MR)
        D::template store_part<64 / kPixels>(
            tile_row(at.out, kHalf, at.out_half, stride, i) + u % NP * kPanel, bytes, k,
            at.cols - u % NP * kPanel);
    }
  }
}

/// A vector of bytes for a pixel and a panel, where the instruction set has that many. What stores
/// could change, as far as the compiler knows, is read before the first of them.
template <class V, class D, int MR, int NP>
INGOT_INLINE void store_by_sixteens(const Int8TileShape& x, const Int8TileAt& t,
                                    const typename D::A (&acc)[MR][NP]) {
  const Requantization& r = *x.requantization;
  const Int8TileAt at = t;
  const int64_t stride = x.out_stride;
  const int32_t w_zero = r.w_zero;
  INGOT_UNROLL for (int p = 0; p < NP; p++) {
    const typename D::Finish finish = finish_of<D>(r, at.output + p * kPanel);
    INGOT_UNROLL for (int i = 0; i < MR; i++) {
      typename V::I sums[Dot::kChunks];
      finish_sums<V, MR, NP>(x, w_zero, at, acc, i, p, sums);
      D::store_bytes(tile_row(at.out, (MR + 1) / 2, at.out_half, stride, i) + p * kPanel,
                     D::finish_bytes(sums, finish), at.cols - p * kPanel);
    }
  }
}

/// Sums of `rows` pixels, `stride` apart, in fixed point. Not a part of every tile.
template <class V>
__attribute__((noinline)) void store_fixed_tile(const Int8TileShape& x, const Int8TileAt& t,
                                                const int32_t* sums, int rows, int stride) {
  const int half = (rows + 1) / 2;
  for (int i = 0; i < rows; i++)
    for (int o = 0; o < t.cols; o += kPanel)
      requantize_sixteen<V>(*x.requantization, sums + i * stride + o, t.output + o,
                            tile_row(t.out, half, t.out_half, x.out_stride, i) + o, t.cols - o);
}

/// The same to f32 or i32.
template <class V>
__attribute__((noinline)) void store_float_tile(const Int8TileShape& x, const Int8TileAt& t,
                                                const int32_t* sums, int rows, int stride) {
  const int half = (rows + 1) / 2;
  for (int i = 0; i < rows; i++) {
    const RowQuantParams& steps = *tile_row(t.steps, half, t.steps_half, x.steps_stride, i);
    const int32_t sum = t.sums ? *tile_row(t.sums, half, t.sums_half, 1, i) : 0;
    uint8_t* const out = tile_row(t.out, half, t.out_half, x.out_stride, i);
    for (int64_t o = 0; o < t.cols; o += kPanel)
      store_to_float<V>(*x.requantization, steps, sum, sums + i * stride + o, t.output + o,
                        out + 4 * o, min_of(kPanel, t.cols - o));
  }
}

template <class V, int MR, int NP>
void int8_tile(const Int8TileShape& x, const Int8TileAt& t) {
  constexpr int kHalf = (MR + 1) / 2;
  typename Dot::A acc[MR][NP];
  accumulate_bytes<V, MR, NP>(x, t, acc);
  const Requantization& r = *x.requantization;
  if (__builtin_expect(r.mode != RequantMode::kFloatEven, 0)) {
    alignas(64) int32_t own[MR * NP * kPanel];
    int32_t* const all = t.raw ? t.raw : own;
    INGOT_UNROLL for (int i = 0; i < MR; i++) {
      INGOT_UNROLL for (int p = 0; p < NP; p++) {
        typename V::I sums[Dot::kChunks];
        finish_sums<V, MR, NP>(x, r.w_zero, t, acc, i, p, sums);
        INGOT_UNROLL for (int c = 0; c < Dot::kChunks; c++)
            V::istore(all + (i * NP + p) * kPanel + c * V::kLanes, sums[c]);
      }
    }
    if (t.raw) return;
    if (r.to_float()) return store_float_tile<V>(x, t, all, MR, NP * kPanel);
    return store_fixed_tile<V>(x, t, all, MR, NP * kPanel);
  }
  if constexpr (Dot::kPacksFour) {
    store_by_fours<V, Dot, MR, NP>(x, t, acc);
  } else if constexpr (Dot::kFinishesBytes) {
    store_by_sixteens<V, Dot, MR, NP>(x, t, acc);
  } else {
    INGOT_UNROLL for (int i = 0; i < MR; i++) {
      uint8_t* const out = tile_row(t.out, kHalf, t.out_half, x.out_stride, i);
      INGOT_UNROLL for (int p = 0; p < NP; p++) {
        typename V::I sums[Dot::kChunks];
        finish_sums<V, MR, NP>(x, r.w_zero, t, acc, i, p, sums);
        requantize_float<V>(r, sums, t.output + p * kPanel, out + p * kPanel, t.cols - p * kPanel);
      }
    }
  }
}

using Int8Tile = void (*)(const Int8TileShape&, const Int8TileAt&);

/// Panels of sums that a tile has at most.
constexpr int kTilePanels = int(max_of(max_of(Dot::kRows * Dot::kPanels, Dot::kTall), Dot::kWide));

/// `rows` 16-bit pixels by `panels`.
template <class V>
__attribute__((noinline)) void int16_tile(Int8Tile tile, const Int8TileShape& x,
                                          const Int8TileAt& t, int rows, int panels) {
  alignas(64) int32_t upper[kTilePanels * kPanel], lower[kTilePanels * kPanel];
  Int8TileAt at = t;
  at.raw = upper, tile(x, at);
  at.raw = lower, at.a += x.plane, tile(x, at);
  const int half = (rows + 1) / 2;
  for (int i = 0; i < rows; i++)
    for (int o = 0; o < t.cols; o += kPanel) {
      const int64_t from = i * panels * kPanel + o;
      uint8_t* const out = tile_row(t.out, half, t.out_half, x.out_stride, i) + o * 2;
      requantize_int16<V>(*x.requantization, upper + from, lower + from, t.output + o,
                          reinterpret_cast<int16_t*>(out), t.cols - o);
    }
}
template <class V>
INGOT_INLINE void run_int8_tile(Int8Tile tile, const Int8TileShape& x, const Int8TileAt& t,
                                int rows, int panels) {
  if (__builtin_expect(x.plane == 0, 1)) return tile(x, t);
  int16_tile<V>(tile, x, t, rows, panels);
}

template <class V, int NP, int n>
struct Int8TileColumn {
  Int8Tile rows[n + 1] = {};
  template <int... I>
  constexpr void fill(Indices<I...>) {
    ((rows[I + 1] = int8_tile<V, I + 1, NP>), ...);
  }
  constexpr Int8TileColumn() { fill(typename MakeIndices<n>::Type()); }
};

template <class V>
struct Int8Tiles {
  static constexpr Int8TileColumn<V, 1, Dot::kTall> kSingle{};
  static constexpr Int8TileColumn<V, Dot::kPanels, Dot::kRows> kFull{};
  static constexpr int rows(int panels) { return panels == Dot::kPanels ? Dot::kRows : Dot::kTall; }
  static INGOT_INLINE void run(int panels, int64_t rows, const Int8TileShape& x,
                               const Int8TileAt& t) {
    const Int8Tile tile = panels == Dot::kPanels ? kFull.rows[rows] : kSingle.rows[rows];
    run_int8_tile<V>(tile, x, t, int(rows), panels);
  }
};

/// What is made of a tile's panels once for all pixels of a call: what sums begin with where pixels
/// are multiplied less 128, as much work as one more pixel; what weights sum up to, as much as
/// three.
struct PanelState {
  alignas(64) int32_t sums[max_of(Dot::kPanels, Dot::kWide) * kPanel];
#if defined(INGOT_PIXEL_LANES)
  WeightBounds bounds[kLanePanels];
#elif defined(INGOT_SIMD_AMX)
  AmxTiles tiles;
#endif
  /// @pre the panels of weights follow each other, `shape` says how far apart
  template <class D = Dot>
  INGOT_INLINE void fill(Int8TileShape* shape, const int8_t* w, int64_t output, int panels) {
    if constexpr (D::kSigned) {
      for (int p = 0; p < panels; p++)
        D::signed_starts(w + p * shape->panel_stride, shape->panel_stride,
                         shape->requantization->starts(output) + p * kPanel, sums + p * kPanel);
      shape->signed_starts = sums;
    }
  }
  /// Of panel `first` and those that are computed with it, of `left`. @return how many
  INGOT_INLINE int fill_some(Int8TileShape* shape, const int8_t* w, int64_t first, int64_t left,
                             int64_t pixels) {
    const int8_t* const from = w + first * shape->panel_stride;
    int panels = left < Dot::kPanels ? 1 : Dot::kPanels;
#if defined(INGOT_PIXEL_LANES)
    const bool lanes = takes_lanes(*shape, pixels);
    shape->bounds = lanes ? bounds : nullptr;
    if (lanes) panels = int(min_of(left, kLanePanels));
    for (int p = 0; p < panels && lanes; p++)
      bound_weights(*shape, from + p * shape->panel_stride, bounds + p);
#elif defined(INGOT_SIMD_AMX)
    shape->tiles = &tiles;
#endif
    (void)pixels;
    fill(shape, from, first * kPanel, panels);
    return panels;
  }
};

/// Calls f(first panel, panels, outputs) over panels [range) of o outputs, for `pixels` pixels.
template <class F>
INGOT_INLINE void for_int8_panels(Int8TileShape* shape, const int8_t* w, int64_t pixels,
                                  Range range, int64_t o, F f) {
  PanelState state;
  for (int64_t p = range.begin; p < range.end;) {
    const int count = state.fill_some(shape, w, p, range.end - p, pixels);
    f(p, count, min_of(o - p * kPanel, count * kPanel));
    p += count;
  }
}

}  // namespace
}  // namespace ingot::cpu
