// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/depthwise_taps_avx512.inl - depthwise convolutions of bytes of any window
// by dot products of four taps, sixty-four channels at a time, one pixel after the other. The order
// of channels in vectors is that of depthwise3_avx512.inl.
#pragma once
#include "kernels/cpu/quantized/depthwise3_avx512.inl"

namespace ingot::cpu {
namespace {

/// Weights of all taps, four by four: [groups][4 vectors][64], in scratch, in place of pairs.
using TapGroup = int8_t[4][64];

struct DepthwiseTaps {
  const Segment* segments = nullptr;
  int64_t taps = 0;
  TapGroup* groups = nullptr;
  DepthwiseQuantParams steps;
};

inline bool is_depthwise_by_taps(const QuantizedConv2dAttributes& t, int64_t plane) {
  return plane == 0 && t.w_zero == 0 && t.requant == RequantMode::kFloatEven;
}

/// Of n <= 64 channels.
inline void fill_depthwise_taps(const int8_t* weights, int64_t weight_row, const Requantization& r,
                                int64_t n, DepthwiseTaps* t) {
  const int64_t period = depthwise_period(n);
  for (int64_t k = 0; k < t->taps; k += 4) {
    __m512i w[4];
    for (int64_t i = 0; i < 4; i++)
      w[i] = k + i < t->taps ? repeated_taps(weights + (k + i) * weight_row, n, period)
                             : _mm512_setzero_si512();
    store_taps(w, t->groups[k / 4]);
  }
  fill_depthwise_steps(r, n, &t->steps);
}

/// Rows by columns of a block; taps past the last are pixels of the last, times zero.
template <DepthwisePart P>
void depthwise_taps_part(const DepthwiseBlock& b, int64_t step, int64_t in_step, int64_t out_step,
                         const DepthwiseTaps& t) {
  DepthwiseLanes<P> lanes;
  if constexpr (P == DepthwisePart::kMasked) lanes.keep = ~0ull >> (64 - b.channels);
  for (int64_t y = 0; y < b.rows; y++)
    for (int64_t x = 0; x < b.cols; x += step) {
      const int64_t at = x + step <= b.cols ? x : b.cols - step;  // the last may overlap
      const uint8_t* const in = b.in + y * b.stride_h * b.in_row + at * in_step;
      __m512i sums[4];
      INGOT_UNROLL for (int j = 0; j < 4; j++) sums[j] = _mm512_load_si512(t.steps.bias[j]);
      for (int64_t k = 0; k < t.taps; k += 4) {
        __m512i p[4], q[4];
        INGOT_UNROLL for (int i = 0; i < 4; i++) p[i] =
            lanes.load(in + t.segments[min_of(k + i, t.taps - 1)].a);
        interleave_taps(p, q);
        INGOT_UNROLL for (int j = 0; j < 4; j++) dot_taps(sums[j], q[j], t.groups[k / 4][j]);
      }
      lanes.store(b.out + y * b.out_row + at * out_step,
                  finish_depthwise(sums, t.steps, *b.requantization));
    }
}

/// One band of at most 64 channels.
inline void depthwise_taps_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                                const DepthwiseTaps& taps) {
  DepthwiseBlock b = depthwise_block(j, band, rows, cols);
  const int64_t n = b.channels, in_step = j.t->stride_w * b.pixel;
  if (n == 64) return depthwise_taps_part<DepthwisePart::kFull>(b, 1, in_step, b.out_pixel, taps);
  if (j.t->stride_w == 1 && is_flat(b)) {
    b.cols *= n;
    return depthwise_taps_part<DepthwisePart::kFlat>(b, 64, 1, 1, taps);
  }
  depthwise_taps_part<DepthwisePart::kMasked>(b, 1, in_step, b.out_pixel, taps);
}

}  // namespace
}  // namespace ingot::cpu
