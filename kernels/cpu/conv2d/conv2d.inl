// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/conv2d.inl - the kernels of conv2d. Contract: runtime/op/conv2d.h.
#pragma once
#include "kernels/cpu/conv2d/depthwise.inl"
#include "kernels/cpu/conv2d/winograd.inl"
#include "kernels/cpu/gemm/pack.inl"

namespace ingot::cpu {
namespace {

inline bool is_packed(const TensorView& w, const TensorView* bias, Packing packing,
                      bool or_bf16 = false) {
  return (w.dtype == DType::kF32 || (or_bf16 && w.dtype == DType::kBF16)) && w.packing == packing &&
         (!bias || bias->packing == Packing::kVector16);
}
inline bool conv2d_is(const OpArguments& a, ConvMethod method, Packing packing,
                      bool or_bf16 = false) {
  return a.as<Conv2dAttributes>().method == method &&
         is_packed(a.inputs[1], a.optional(2), packing, or_bf16);
}
inline bool conv2d_direct_supports(const OpArguments& a) {
  return conv2d_is(a, ConvMethod::kDirect, Packing::kPanels16);
}
inline bool conv2d_winograd_supports(const OpArguments& a) {
  return conv2d_is(a, ConvMethod::kWinogradF43, Packing::kWinogradF43);
}
inline bool conv2d_depthwise_supports(const OpArguments& a) {
  return conv2d_is(a, ConvMethod::kDepthwise, Packing::kDepthwise16);
}
inline bool conv2d_grouped_supports(const OpArguments& a) {
  return conv2d_is(a, ConvMethod::kGrouped, Packing::kDense);
}

/// What every image of the batch shares.
struct Conv2dCall {
  const Conv2dAttributes& t;
  conv::Extents e;
  const TensorView &x, &y;
  const TensorView* residual;
  Epilogue epilogue;
  explicit Conv2dCall(const OpArguments& a)
      : t(a.as<Conv2dAttributes>()),
        e(conv::extents(a)),
        x(a.inputs[0]),
        y(a.outputs[0]),
        residual(a.optional(3)),
        epilogue(make_epilogue(t.activation, t.residual_first, residual)) {}
  bool empty() const { return e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0; }
  ConvJob job(const OpArguments& a, int64_t n, const Team& team) const {
    ConvJob j;
    j.t = &t, j.epilogue = &epilogue, j.scratch = static_cast<char*>(team.scratch);
    j.in = nhwc_view(x, t.input_layout == ChannelLayout::kNchw, n), j.out = nhwc_view(y, false, n);
    j.weights = a.inputs[1].as<float>(), j.bias = a.optional(2) ? a.inputs[2].as<float>() : nullptr;
    j.residual =
        residual ? residual->as<float>() + n * e.oh * e.ow * residual->row_stride : nullptr;
    return j;
  }
  /// Output rows of the whole batch are divided among the team; f(image, its rows).
  template <class F>
  void for_rows(Range rows, F f) const {
    for (int64_t r = rows.begin; r < rows.end;) {
      const int64_t n = r / e.oh, y0 = r % e.oh, y1 = min_of(e.oh, y0 + rows.end - r);
      f(n, Range{y0, y1});
      r += y1 - y0;
    }
  }
};

/// How a team divides a convolution: panels where weights are larger than the image, columns
/// where there are few rows.
struct ConvSplit {
  Range rows, cols, panels;
  ConvSplit(const conv::Extents& e, int64_t k, const Team& team) {
    const int64_t all = e.n * e.oh, count = ceil_div(e.o, kPanel);
    rows = {0, all}, cols = {0, e.ow}, panels = {0, count};
    if (count >= 2 * team.size && count * kPanel * k > e.h * e.w * e.c)
      panels = part(count, team.id, team.size);
    else if (all >= 4 * team.size || e.ow < 28 * team.size)
      rows = part(all, team.id, team.size);
    else
      cols = part(e.ow, team.id, team.size);
  }
};

template <class V>
Status conv2d_direct_f32(const OpArguments& a, const Team& team) {
  const Conv2dCall call(a);
  if (call.empty()) return {};
  const conv::Extents& e = call.e;
  if (is_pointwise(call.t)) {
    GemmJob g;
    g.a = call.x.as<float>(), g.a_stride = call.x.row_stride, g.k = e.c,
    g.weights = a.inputs[1].as<float>();
    g.bias = a.optional(2) ? a.inputs[2].as<float>() : nullptr, g.out = call.y.as<float>(),
    g.out_stride = call.y.row_stride, g.o = e.o;
    g.residual = call.residual ? call.residual->as<float>() : nullptr, g.epilogue = &call.epilogue;
    gemm_team<V>(g, e.n * e.oh * e.ow, team);
    return {};
  }
  conv::Bands bands;
  (void)conv::bands(call.t, e, e.c, &bands);  // checked by the contract
  const ConvSplit split(e, int64_t(call.t.kernel_h) * call.t.kernel_w * e.c, team);
  call.for_rows(split.rows, [&](int64_t n, Range rows) {
    ConvJob j = call.job(a, n, team);
    j.bands = bands, j.copies = conv::needs_band(call.t);
    conv_rows<V>(j, rows, split.cols, split.panels);
  });
  return {};
}

template <class V>
Status conv2d_depthwise_f32(const OpArguments& a, const Team& team) {
  const Conv2dCall call(a);
  if (call.empty()) return {};
  const conv::Extents& e = call.e;
  const int64_t groups = ceil_div(e.c, kPanel), all = e.n * e.oh;
  const bool by_channels =
      (groups % team.size == 0 && e.h * e.w * call.x.row_stride * 4 <= 768 << 10) ||
      all < team.size;
  const Range channels = by_channels ? part(groups, team.id, team.size) : Range{0, groups};
  const Range rows = by_channels ? Range{0, all} : part(all, team.id, team.size);
  call.for_rows(rows,
                [&](int64_t n, Range r) { depthwise_rows<V>(call.job(a, n, team), r, channels); });
  return {};
}

template <class V>
Status conv2d_winograd_f43_f32(const OpArguments& a, const Team& team) {
  const Conv2dCall call(a);
  if (call.empty()) return {};
  WinogradJob j;
  (void)conv::winograd_blocks(call.e, team.size, &j.g);  // checked by the contract
  j.e = call.e, j.t = &call.t, j.x = &call.x, j.y = &call.y, j.residual = call.residual,
  j.epilogue = &call.epilogue;
  j.weights = a.inputs[1].as<float>(), j.bias = a.optional(2) ? a.inputs[2].as<float>() : nullptr;
  winograd_team<V>(j, team);
  return {};
}

/// Groups in turn, each packed into panels in the scratch and run as a direct convolution of a
/// slice of the channels.
template <class V>
Status conv2d_grouped_f32(const OpArguments& a, const Team& team) {
  const Conv2dCall call(a);
  if (call.empty()) return {};
  const conv::Extents& e = call.e;
  const int64_t groups = call.t.groups, c = e.c / groups, o = e.o / groups,
                k = int64_t(call.t.kernel_h) * call.t.kernel_w * c;
  conv::Bands bands;
  (void)conv::bands(call.t, e, c, &bands);  // checked by the contract
  const bool copies = conv::needs_band(call.t), by_groups = groups >= team.size;
  const int64_t band_bytes = copies ? round_up(bands.elements * 4, 64) : 0;
  float* panels = reinterpret_cast<float*>(static_cast<char*>(team.scratch) +
                                           int64_t(conv::segment_bytes(call.t)) + band_bytes);
  const Range mine = by_groups ? part(groups, team.id, team.size) : Range{0, groups};
  const Range rows = by_groups ? Range{0, e.n * e.oh} : part(e.n * e.oh, team.id, team.size);
  if (rows.count() <= 0) return {};
  for (int64_t g = mine.begin; g < mine.end; g++) {
    pack_rows(a.inputs[1].as<float>() + g * o * k, o, k, k, panels);
    call.for_rows(rows, [&](int64_t n, Range r) {
      ConvJob j = call.job(a, n, team);
      j.bands = bands, j.copies = copies, j.weights = panels;
      j.in.at += g * c * j.in.channel_stride, j.in.c = c, j.out.at += g * o, j.out.c = o;
      alignas(64) float bias[kWidest * kPanel];
      if (j.residual) j.residual += g * o;
      for (int64_t p = 0; p < o;
           // a group's biases start anywhere: padded copies, a few panels at a time
           p += kWidest * kPanel) {
        const int64_t count = min_of(o - p, kWidest * kPanel);
        for (int64_t i = 0; i < kWidest * kPanel; i++)
          bias[i] = j.bias && i < count ? j.bias[g * o + p + i] : 0.0f;
        ConvJob slice = j;
        slice.bias = bias, slice.weights = panels + p * k, slice.out.at += p, slice.out.c = count;
        if (slice.residual) slice.residual += p;
        conv_rows<V>(slice, r, {0, e.ow}, {0, ceil_div(count, kPanel)});
      }
    });
  }
  return {};
}

}  // namespace
}  // namespace ingot::cpu
