// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/depthwise.inl - depthwise convolutions of bytes. Contract:
// runtime/op/quantized_conv2d.h.
#pragma once
#include "kernels/cpu/quantized/conv.inl"
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
#include "kernels/cpu/quantized/depthwise_taps_avx512.inl"
#define INGOT_DEPTHWISE3 1
#elif defined(INGOT_SIMD_AVX2)
#include "kernels/cpu/quantized/depthwise3_avx2.inl"
#define INGOT_DEPTHWISE3 1
#elif defined(INGOT_SIMD_DOTPROD) || defined(INGOT_SIMD_I8MM)
#include "kernels/cpu/quantized/depthwise3_neon.inl"
#define INGOT_DEPTHWISE3 1
#endif

namespace ingot::cpu {
namespace {

/// Taps of sixteen channels from c on, two by two, less their zero points, which any number of a
/// file may be.
inline void pair_taps(const int8_t* weights, int64_t row, int64_t taps, const Requantization& r,
                      int64_t c, int16_t* pairs) {
  const int32_t* const zeros = r.weight_zeros() ? r.weight_zeros() + c : nullptr;
  for (int64_t k = 0; k < taps; k += 2, pairs += 2 * kPanel)
    for (int64_t i = 0; i < kPanel; i++) {
      const int32_t zero = zeros ? max_of(-255, min_of(255, zeros[i])) : r.w_zero;
      pairs[2 * i] = int16_t(weights[c + k * row + i] - zero);
      pairs[2 * i + 1] = int16_t(k + 1 < taps ? weights[c + (k + 1) * row + i] - zero : 0);
    }
}

/// Sums of one pixel, `taps` of them at `at`, begun with `bias`.
template <class V>
INGOT_INLINE void depthwise_sums(const uint8_t* at, const Segment* segments, int64_t taps,
                                 const int16_t* pair, const int32_t* bias,
                                 typename V::I (&sums)[Dot::kChunks]) {
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) sums[i] = V::iload(bias + i * V::kLanes);
  int64_t k = 0;
  for (; k + 1 < taps; k += 2, pair += 2 * kPanel)
    Dot::dot_pair(sums, at + segments[k].a, at + segments[k + 1].a, pair);
  if (k < taps) Dot::dot_pair(sums, at + segments[k].a, at + segments[k].a, pair);
}

/// One band of sixteen channels from c on; of any window. `pairs`: of pair_taps().
template <class V>
void depthwise_bytes_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                          int64_t c, const int16_t* pairs) {
  const QuantizedConv2dAttributes& t = *j.t;
  const Requantization& r = *j.requantization;
  const int64_t taps = int64_t(t.kernel_h) * t.kernel_w, n = j.in.c - c, plane = j.scratch->plane;
  const Segment* const segments = reinterpret_cast<const Segment*>(j.memory);
  for (int64_t y = 0; y < rows.count(); y++)
    for (int64_t x = 0; x < cols.count(); x++) {
      typename V::I sums[Dot::kChunks];
      const uint8_t* const at =
          band.at + y * t.stride_h * band.row_stride + x * t.stride_w * band.pixel_stride + c;
      uint8_t* const out =
          j.out.row(rows.begin + y) + (cols.begin + x) * j.out.pixel_stride + c * j.out.element;
      depthwise_sums<V>(at, segments, taps, pairs, r.starts(c), sums);
      if (__builtin_expect(plane == 0, 1)) {
        requantize<V>(r, j.steps, sums, c, out, n);
        continue;
      }
      alignas(64) int32_t both[2][kPanel];
      for (int half = 0; half < 2; half++) {
        if (half) depthwise_sums<V>(at + plane, segments, taps, pairs, r.starts(c), sums);
        INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++)
            V::istore(both[half] + i * V::kLanes, sums[i]);
      }
      requantize_int16<V>(r, both[0], both[1], c, reinterpret_cast<int16_t*>(out), n);
    }
}

/// Where the taps of a pixel lie in a band.
inline void fill_tap_segments(const QuantizedConv2dAttributes& t, const Int8Band& band,
                              Segment* segments) {
  for (int64_t ky = 0; ky < t.kernel_h; ky++)
    for (int64_t kx = 0; kx < t.kernel_w; kx++)
      *segments++ = {ky * t.dilation_h * band.row_stride + kx * t.dilation_w * band.pixel_stride,
                     0};
}

inline bool quantized_depthwise_supports(const OpArguments& a) {
  return quantized_conv2d_is(a, ConvMethod::kDepthwise, Packing::kDepthwise16);
}

/// Up to 64 channels of a depthwise convolution: what is made of their weights, once for all bands.
template <class V>
struct DepthwiseSlice {
  int64_t channels = 0, paired = 0;
  int16_t* pairs = nullptr;
#if defined(INGOT_DEPTHWISE3)
  bool is_three = false;
  DepthwiseTable table;
#endif
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
  bool is_by_taps = false;
  DepthwiseTaps by_fours;
#endif

  /// Of n channels whose numbers `weights` and `r` begin with; `cols` a band, `plane` as
  /// Int8ConvJob has it. `taps` is room for pairs or fours of them.
  void prepare(const QuantizedConv2dAttributes& t, int64_t cols, int64_t plane,
               const int8_t* weights, int64_t weight_row, const Requantization& r, int64_t n,
               char* taps) {
    channels = n;
    const int64_t count = int64_t(t.kernel_h) * t.kernel_w;
#if defined(INGOT_DEPTHWISE3)
    is_three = is_depthwise3(t, cols, plane);
    if (is_three) return fill_depthwise_table(weights, weight_row, r, n, &table);
#endif
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
    is_by_taps = is_depthwise_by_taps(t, plane);
    if (is_by_taps) {
      by_fours.taps = count, by_fours.groups = reinterpret_cast<TapGroup*>(taps);
      return fill_depthwise_taps(weights, weight_row, r, n, &by_fours);
    }
#endif
    (void)cols, (void)plane;
    paired = (count + 1) / 2 * 2 * kPanel, pairs = reinterpret_cast<int16_t*>(taps);
    for (int64_t g = 0; g < n; g += kPanel)
      pair_taps(weights, weight_row, count, r, g, pairs + g / kPanel * paired);
  }

  /// One band; j is of these channels.
  void run(const Int8ConvJob& j, const Int8Band& band, Range y, Range x) {
#if defined(INGOT_DEPTHWISE3)
    if (is_three) return depthwise3_band<V>(j, band, y, x, table);
#endif
    Segment* const segments = reinterpret_cast<Segment*>(j.memory);
    fill_tap_segments(*j.t, band, segments);
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
    by_fours.segments = segments;
    if (is_by_taps) return depthwise_taps_band(j, band, y, x, by_fours);
#endif
    for (int64_t g = 0; g < channels; g += kPanel)
      depthwise_bytes_band<V>(j, band, y, x, g, pairs + g / kPanel * paired);
  }
};

/// Channels c .. c + n of these rows of the batch.
template <class V>
void depthwise_slice(const Int8ConvCall& call, const OpArguments& a, Range rows, int64_t c,
                     int64_t n, const Team& team) {
  const Range cols = {0, call.y.dims[2]};
  const Requantization requantization = from_channel(call.requantization, c);
  DepthwiseSlice<V> slice;
  slice.prepare(call.t, cols.count(), call.scratch.plane, a.inputs[1].as<const int8_t>() + c,
                round_up(call.x.dims[3], kPanel), requantization, n,
                static_cast<char*>(team.scratch) + call.scratch.panels);
  call.for_rows(rows, call.y.dims[1], [&](int64_t image, Range r) {
    Int8ConvJob j = call.job(a, image, r, team);
    if (j.halo.at) j.halo.at += c * j.in.element;
    j.in.at += c * j.in.element, j.in.c = n, j.out.at += c * j.out.element, j.out.c = n;
    j.requantization = &requantization;
    for_bands<V>(j, r, cols,
                 [&](const Int8Band& band, Range y, Range x) { slice.run(j, band, y, x); });
  });
}

template <class V>
Status quantized_conv2d_depthwise(const OpArguments& a, const Team& team) {
  Int8ConvCall call(a);
  if (call.y.elements() == 0) return {};
  const int64_t all = call.y.dims[0] * call.y.dims[1], c = call.y.dims[3],
                groups = ceil_div(c, kPanel);
  const bool by_channels = all < team.size;
  const Range channels = by_channels ? part(groups, team.id, team.size) : Range{0, groups};
  const Range rows = by_channels ? Range{0, all} : part(all, team.id, team.size);
  if (call.is_in_place() && !by_channels && team.size > 1) call.save_halo(rows, team);
  const int64_t end = min_of(channels.end * kPanel, c);
  for (int64_t at = channels.begin * kPanel; at < end; at += quantized::kDepthwiseChannels)
    depthwise_slice<V>(call, a, rows, at, min_of(quantized::kDepthwiseChannels, end - at), team);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
