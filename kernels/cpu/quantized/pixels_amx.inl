// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/pixels_amx.inl - products of bytes by AMX: two tiles of pixels, read where
// they lie, times two panels, which are packed as a tile reads them. All tiles of a call have one
// shape, since setting another takes as long as a dozen products: the last one of a row begins
// earlier and computes some pixels again.
#pragma once
#include "kernels/cpu/quantized/tile.inl"
#include "kernels/cpu/simd/amx.h"

namespace ingot::cpu {
namespace {

constexpr int kStepLines = 8;  // of weights, fetched ahead with each step

/// Bytes of a run that one step takes: as many in each, since none may be left over.
inline int64_t step_bytes(int64_t run) {
  int64_t bytes = min_of(run, kAmxBytes);
  while (run % bytes != 0) bytes -= 4;
  return bytes;
}
/// Weights that the next call reads, fetched meanwhile.
struct WeightsAhead {
  const int8_t* at;
  int64_t step, line;  // bytes
};

template <int sums, int a, int b>
INGOT_INLINE void multiply_bytes() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b) : "memory");
}

/// Sums of one or two tiles times one or two panels, a row of them a pixel. `second`: where the
/// second tile's pixels are.
template <int tiles, int panels>
__attribute__((noinline)) void amx_bytes(const Int8TileShape& x, const Int8TileAt& t,
                                         const uint8_t* second, int64_t step, WeightsAhead* ahead,
                                         int32_t* sums, int32_t* second_sums) {
  constexpr bool kTwo = tiles == 2, kBoth = panels == 2;
  const int32_t* const starts = x.starts(t.output);
  load_tile<0>(starts, 0);
  if constexpr (kBoth) load_tile<1>(starts + kPanel, 0);
  if constexpr (kTwo) load_tile<2>(starts, 0);
  if constexpr (kTwo && kBoth) load_tile<3>(starts + kPanel, 0);
  const int64_t stride = x.pixel_stride, panel = x.panel_stride, apart = second - t.a;
  const int8_t* fetched = ahead->at;
  const Segment* const last = x.segments + x.segment_count;
  for (const Segment* s = x.segments; s != last; s++) {
    const uint8_t *a = t.a + s->a, *const end = a + x.segment_length;
    const int8_t* w = t.b + s->b;
    for (; a != end; a += step, w += step * kPanel) {
      INGOT_UNROLL for (int l = 0; l < kStepLines; l++)
          _mm_prefetch(fetched + l * ahead->line, _MM_HINT_T1);
      fetched += ahead->step;
      load_tile<4>(a, stride), load_tile<6>(w, kAmxBytes), multiply_bytes<0, 4, 6>();
      if constexpr (kBoth) load_tile<7>(w + panel, kAmxBytes), multiply_bytes<1, 4, 7>();
      if constexpr (kTwo) load_tile<5>(a + apart, stride), multiply_bytes<2, 5, 6>();
      if constexpr (kTwo && kBoth) multiply_bytes<3, 5, 7>();
    }
  }
  ahead->at = fetched;
  constexpr int64_t kRow = panels * kPanel * sizeof(int32_t);
  store_tile<0>(sums, kRow);
  if constexpr (kBoth) store_tile<1>(sums + kPanel, kRow);
  if constexpr (kTwo) store_tile<2>(second_sums, kRow);
  if constexpr (kTwo && kBoth) store_tile<3>(second_sums + kPanel, kRow);
}

/// Sums of `n` pixels and NP panels to bytes, as store_by_fours() makes them.
template <class V, int NP>
INGOT_INLINE void store_amx_bytes(const Int8TileShape& x, const Int8TileAt& t, const int32_t* sums,
                                  int64_t n) {
  constexpr int kPixels = 4 / NP;
  const Requantization& r = *x.requantization;
  const int64_t stride = x.out_stride, cols = t.cols;
  const int32_t zero = r.zero, low = r.low;
  typename V::F multipliers[NP];
  INGOT_UNROLL for (int p = 0; p < NP; p++) multipliers[p] =
      V::load(r.floats(1) + t.output + p * kPanel);
  const typename V::F high = V::splat(float(r.high - zero));
  for (int64_t i = 0; i < n; i += kPixels) {
    typename V::I steps[4];
    INGOT_UNROLL for (int j = 0; j < 4; j++) {
      const int64_t pixel = min_of(i + j / NP, n - 1);
      const typename V::I sum = V::iload(sums + (pixel * NP + j % NP) * kPanel);
      steps[j] = V::to_int_nearest(V::min(V::mul(V::to_float(sum), multipliers[j % NP]), high));
    }
    const typename V::I bytes = Dot::pack_four(steps, zero, low);
    INGOT_UNROLL for (int k = 0; k < kPixels; k++) if (i + k < n)
        Dot::template store_part<64 / kPixels>(t.out + (i + k) * stride, bytes, k, cols);
  }
}

/// What weights' zero point takes off. Not a part of every call.
template <class V>
__attribute__((noinline)) void take_zeros(int32_t w_zero, const int32_t* of_pixels, int64_t n,
                                          int64_t row, int32_t* sums) {
  for (int64_t i = 0; i < n; i++) {
    const auto less = V::isplat(int32_t(uint32_t(of_pixels[i]) * uint32_t(w_zero)));
    for (int64_t o = 0; o < row; o += V::kLanes)
      V::istore(sums + i * row + o, V::isub(V::iload(sums + i * row + o), less));
  }
}

/// The numbers of one tile's `n` pixels.
template <class V, int NP>
INGOT_INLINE void finish_amx_tile(const Int8TileShape& x, Int8TileAt t, int32_t* sums, int64_t n) {
  constexpr int kRow = NP * kPanel;
  const Requantization& r = *x.requantization;
  if (__builtin_expect(r.w_zero != 0, 0)) take_zeros<V>(r.w_zero, t.sums, n, kRow, sums);
  if (__builtin_expect(r.mode == RequantMode::kFloatEven, 1))
    return store_amx_bytes<V, NP>(x, t, sums, n);
  const int64_t half = (n + 1) / 2;
  t.out_half = half * x.out_stride, t.sums_half = half, t.steps_half = half * x.steps_stride;
  (r.to_float() ? store_float_tile<V> : store_fixed_tile<V>)(x, t, sums, int(n), kRow);
}

/// Tiles of `n` pixels, row by row.
class AmxPlaces {
 public:
  AmxPlaces(const Int8TileShape& x, const Int8TileAt& t, const PixelRows& rows, int64_t n)
      : x_(x), rows_(rows), n_(n), line_(t) {}
  INGOT_INLINE Int8TileAt next() {
    Int8TileAt at = line_;
    const int64_t column = min_of(column_, rows_.row - n_);
    pass(&at, column, column * x_.pixel_stride, column * x_.out_stride);
    if ((column_ += n_) >= rows_.row) {
      pass(&line_, rows_.row, rows_.down, rows_.out_down);
      column_ = 0;
    }
    return at;
  }

 private:
  INGOT_INLINE void pass(Int8TileAt* at, int64_t pixels, int64_t in, int64_t out) const {
    at->a += in, at->out += out;
    if (at->sums) at->sums += pixels;
    if (at->steps) at->steps += pixels * x_.steps_stride;
  }
  const Int8TileShape& x_;
  const PixelRows rows_;
  const int64_t n_;
  Int8TileAt line_;
  int64_t column_ = 0;
};

/// All pixels of a call by NP panels; `t` is where the first one is.
template <class V, int NP>
__attribute__((noinline)) void amx_pixels(const Int8TileShape& x, const Int8TileAt& t,
                                          const PixelRows& rows, int64_t pixels) {
  const int64_t lines = pixels / rows.row, least = ceil_div(rows.row, kAmxRows),
                n = ceil_div(rows.row, lines % 2 == 1 && least > 1 ? round_up(least, 2) : least),
                tiles = ceil_div(rows.row, n) * lines, step = step_bytes(x.segment_length),
                steps = x.segment_count * (x.segment_length / step) * ceil_div(tiles, 2),
                each = ceil_div(NP * x.panel_stride, steps),
                line = round_up(ceil_div(each, kStepLines), 64);
  x.tiles->shape(n, n, step);
  WeightsAhead ahead = {t.b + NP * x.panel_stride, each, line};
  AmxPlaces place(x, t, rows, n);
  alignas(64) int32_t sums[2][2][kAmxRows * NP * kPanel];
  Int8TileAt at[2][2];
  // a pair's numbers are made while the next one is multiplied
  for (int64_t i = 0; i <= tiles + 1; i += 2) {
    const int now = i / 2 % 2;
    if (i < tiles) {
      at[now][0] = place.next();
      if (i + 1 < tiles) at[now][1] = place.next();
      (i + 1 < tiles ? amx_bytes<2, NP> : amx_bytes<1, NP>)(x, at[now][0], at[now][1].a, step,
                                                            &ahead, sums[now][0], sums[now][1]);
    }
    if (i == 0) continue;
    finish_amx_tile<V, NP>(x, at[!now][0], sums[!now][0], n);
    if (i - 1 < tiles) finish_amx_tile<V, NP>(x, at[!now][1], sums[!now][1], n);
  }
}

}  // namespace
}  // namespace ingot::cpu
