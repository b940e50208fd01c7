// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/narrow.inl - products with up to four outputs: lanes are pixels, since a panel's
// lanes would be empty. Squares of pixels by channels are transposed in registers; the sum of an
// output is the chain of tile.inl.
#pragma once
#include "kernels/cpu/gemm/tile.inl"

namespace ingot::cpu {
namespace {

constexpr int kNarrow = 4;         // outputs
constexpr int kNarrowVectors = 4;  // of pixels whose activations run at once

/// A column of a square, kLanes pixels: a step of each of `O` chains.
template <class V, int O>
INGOT_INLINE void narrow_step(const typename V::F& pixels, const float* w,
                              typename V::F (&acc)[O]) {
  INGOT_UNROLL for (int o = 0; o < O; o++) acc[o] = V::fma(pixels, V::splat(w[o]), acc[o]);
}

/// Sums of kLanes pixels from `a` on, bias included; those of an output are kNarrowVectors vectors
/// behind those of the one before. @pre weights and bias of the panel go on with zeros
template <class V, int O>
void narrow_sums(const TileShape& x, const float* a, const float* b, const float* bias,
                 float* sums) {
  using F = typename V::F;
  constexpr int kLanes = V::kLanes;
  F acc[O], square[kLanes];
  INGOT_UNROLL for (int o = 0; o < O; o++) acc[o] = V::splat(bias[o]);
  const int64_t whole = x.segment_length / kLanes * kLanes, rest = x.segment_length - whole;
  for (const Segment* s = x.segments; s != x.segments + x.segment_count; s++) {
    const float *p = a + s->a, *w = b + s->b;
    for (const float* const end = p + whole; p != end; p += kLanes, w += kLanes * kPanel) {
      INGOT_UNROLL for (int i = 0; i < kLanes; i++) square[i] = V::load(p + i * x.pixel_stride);
      V::transpose(square);
      INGOT_UNROLL for (int i = 0; i < kLanes; i++)
          narrow_step<V, O>(square[i], w + i * kPanel, acc);
    }
    if (rest == 0) continue;
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) square[i] =
        V::load_partial(p + i * x.pixel_stride, rest);
    V::transpose(square);
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) if (i < rest)
        narrow_step<V, O>(square[i], w + i * kPanel, acc);
  }
  INGOT_UNROLL for (int o = 0; o < O; o++) V::store(sums + o * kNarrowVectors * kLanes, acc[o]);
}

/// As many of n pixels as whole vectors hold, of a panel with `cols` outputs; the rest is for
/// tiles. Returns how many: none where the outputs are not few.
template <class V>
int64_t narrow_pixels(const TileShape& x, const float* a, int64_t n, const float* b,
                      const float* bias, float* out, const float* residual, int64_t cols) {
  constexpr int64_t kLanes = V::kLanes, kMaxPixels = kNarrowVectors * kLanes;
  if (kLanes <= kNarrow || cols > kNarrow) return 0;
  const Epilogue& e = *x.epilogue;
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t done = 0; done < whole; done += kMaxPixels) {
    const int64_t count = min_of(kMaxPixels, whole - done);
    alignas(64) float sums[kNarrow][kMaxPixels];
    for (int64_t i = 0; i < count; i += kLanes, a += kLanes * x.pixel_stride)
      if (cols == 1)
        narrow_sums<V, 1>(x, a, b, bias, &sums[0][i]);
      else
        narrow_sums<V, kNarrow>(x, a, b, bias, &sums[0][i]);
    const auto add_residual = [&] {
      for (int64_t o = 0; o < cols; o++)
        for (int64_t i = 0; i < count; i++) sums[o][i] += residual[i * e.residual_stride + o];
    };
    if (residual && e.residual_first) add_residual();
    activate_rows<V>(e.activation, sums[0], cols, count, kMaxPixels);
    if (residual && !e.residual_first) add_residual();
    for (int64_t o = 0; o < cols; o++)
      for (int64_t i = 0; i < count; i++) out[i * x.out_stride + o] = sums[o][i];
    out += count * x.out_stride;
    if (residual) residual += count * e.residual_stride;
  }
  return whole;
}

}  // namespace
}  // namespace ingot::cpu
