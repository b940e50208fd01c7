// kernels/cpu/quantized/depthwise.inl - depthwise convolutions of bytes. Contract:
// runtime/op/quantized_conv2d.h.
#pragma once
#include "kernels/cpu/quantized/conv.inl"
#if defined(INGOT_SIMD_AVX512) && defined(INGOT_SIMD_VNNI)
#include "kernels/cpu/quantized/depthwise3_avx512.inl"
#endif

namespace ingot::cpu {
namespace {

/// One band of sixteen channels from c on.
template <class V>
void depthwise_bytes_band(const ByteConvJob& j, const ByteBand& band, Range rows, Range cols,
                          int64_t c) {
  const QuantizedConv2dAttributes& t = *j.t;
  const Requantization& r = *j.requantization;
  using I = typename V::I;
  const int64_t weight_row = round_up(j.in.c, kPanel), n = j.in.c - c;
  const I zero = V::isplat(t.w_zero);
  for (int64_t y = 0; y < rows.count(); y++)
    for (int64_t x = 0; x < cols.count(); x++) {
      I sums[Dot::kChunks];
      INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) sums[i] =
          V::iload(r.bias + c + i * V::kLanes);
      const uint8_t* at =
          band.at + y * t.stride_h * band.row_stride + x * t.stride_w * band.pixel_stride + c;
      const int8_t* w = j.weights + c;
      for (int64_t ky = 0; ky < t.kernel_h; ky++)
        for (int64_t kx = 0; kx < t.kernel_w; kx++, w += weight_row) {
          I bytes[Dot::kChunks], taps[Dot::kChunks];
          Dot::load_u8(
              at + ky * t.dilation_h * band.row_stride + kx * t.dilation_w * band.pixel_stride,
              bytes);
          Dot::load_i8(w, taps);
          INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) sums[i] =
              V::iadd(sums[i], V::imul(bytes[i], V::isub(taps[i], zero)));
        }
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
    for_bands(j, r, {0, call.y.dims[2]}, [&](const ByteBand& band, Range y, Range x) {
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
