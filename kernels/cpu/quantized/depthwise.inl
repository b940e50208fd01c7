// kernels/cpu/quantized/depthwise.inl - depthwise convolutions of bytes. Contract:
// runtime/op/quantized_conv2d.h.
#pragma once
#include "kernels/cpu/quantized/conv.inl"
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
#include "kernels/cpu/quantized/depthwise3_avx512.inl"
#endif

namespace ingot::cpu {
namespace {

/// Taps of sixteen channels from c on, two by two, less their zero point.
inline void pair_taps(const int8_t* weights, int64_t row, int64_t taps, int32_t zero,
                      int16_t* pairs) {
  for (int64_t k = 0; k < taps; k += 2, pairs += 2 * kPanel)
    for (int64_t i = 0; i < kPanel; i++) {
      pairs[2 * i] = int16_t(weights[k * row + i] - zero);
      pairs[2 * i + 1] = int16_t(k + 1 < taps ? weights[(k + 1) * row + i] - zero : 0);
    }
}

/// One band of sixteen channels from c on; of any window.
template <class V>
void depthwise_bytes_band(const ByteConvJob& j, const ByteBand& band, Range rows, Range cols,
                          int64_t c) {
  const QuantizedConv2dAttributes& t = *j.t;
  const Requantization& r = *j.requantization;
  const int64_t taps = int64_t(t.kernel_h) * t.kernel_w, n = j.in.c - c;
  Segment* const segments = reinterpret_cast<Segment*>(j.memory);
  for (int64_t k = 0; k < taps; k++)
    segments[k] = {k / t.kernel_w * t.dilation_h * band.row_stride +
                       k % t.kernel_w * t.dilation_w * band.pixel_stride,
                   0};
  int16_t* const pairs = reinterpret_cast<int16_t*>(j.memory + j.scratch->panels);
  pair_taps(j.weights + c, round_up(j.in.c, kPanel), taps, t.w_zero, pairs);
  for (int64_t y = 0; y < rows.count(); y++)
    for (int64_t x = 0; x < cols.count(); x++) {
      typename V::I sums[Dot::kChunks];
      INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) sums[i] =
          V::iload(r.bias + c + i * V::kLanes);
      const uint8_t* const at =
          band.at + y * t.stride_h * band.row_stride + x * t.stride_w * band.pixel_stride + c;
      const int16_t* pair = pairs;
      int64_t k = 0;
      for (; k + 1 < taps; k += 2, pair += 2 * kPanel)
        Dot::dot_pair(sums, at + segments[k].a, at + segments[k + 1].a, pair);
      if (k < taps) Dot::dot_pair(sums, at + segments[k].a, at + segments[k].a, pair);
      requantize<V>(r, sums, c,
                    j.out.row(rows.begin + y) + (cols.begin + x) * j.out.pixel_stride + c, n);
    }
}

inline bool quantized_depthwise_supports(const OpArguments& a) {
  return quantized_conv2d_is(a, ConvMethod::kDepthwise, Packing::kDepthwise16);
}

template <class V>
Status quantized_conv2d_depthwise(const OpArguments& a, const Team& team) {
  const ByteConvCall call(a);
  if (call.y.elements() == 0) return {};
  const int64_t groups = ceil_div(call.y.dims[3], kPanel), all = call.y.dims[0] * call.y.dims[1];
  const bool by_channels = all < team.size;
  const Range channels = by_channels ? part(groups, team.id, team.size) : Range{0, groups};
  const Range rows = by_channels ? Range{0, all} : part(all, team.id, team.size);
  if (channels.count() <= 0) return {};
  call.for_rows(rows, call.y.dims[1], [&](int64_t image, Range r) {
    const ByteConvJob j = call.job(a, image, team);
    for_bands<V>(j, r, {0, call.y.dims[2]}, [&](const ByteBand& band, Range y, Range x) {
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
      if (is_depthwise3(call.t, x.count())) return depthwise3_band(j, band, y, x, channels);
#endif
      for (int64_t g = channels.begin; g < channels.end; g++)
        depthwise_bytes_band<V>(j, band, y, x, g * kPanel);
    });
  });
  return {};
}

}  // namespace
}  // namespace ingot::cpu
