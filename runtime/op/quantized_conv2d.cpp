// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_conv2d.h"

#include "runtime/op/conv_rules.h"
#include "runtime/op/quantized_blocks.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_method(const QuantizedConv2dAttributes& t, const conv::Extents& e, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  if (uint8_t(t.method) > uint8_t(ConvMethod::kGrouped) || t.method == ConvMethod::kWinogradF43)
    return refuse(v, "quantized_conv2d.method is direct, depthwise or grouped", kAttribute, 0,
                  int64_t(t.method));
  if (t.method == ConvMethod::kDirect && t.groups != 1)
    return refuse(v, "direct convolutions have one group", kAttribute, 1, t.groups);
  if (t.method == ConvMethod::kDepthwise && t.groups != e.c)
    return refuse(v, "depthwise has a group a channel", kAttribute, e.c, t.groups);
  if (t.groups < 1 || e.c % t.groups != 0)
    return refuse(v, "quantized_conv2d.groups divides the channels", kAttribute, e.c, t.groups);
  return true;
}

bool check_weights(const QuantizedConv2dAttributes& t, const TensorType& w, conv::Extents* e,
                   Violation* v) {
  if (w.rank != 4)
    return refuse(v, "quantized_conv2d's weights are [O, kernel_h, kernel_w, C / groups]", 1, 4,
                  w.rank);
  e->o = w.dims[0];
  if (t.method == ConvMethod::kDepthwise && e->o != e->c)
    return refuse(v, "depthwise keeps the channels", 1, e->c, e->o);
  if (e->o % t.groups != 0)
    return refuse(v, "quantized_conv2d.groups divides the outputs", 1, t.groups, e->o);
  int64_t dims[4] = {e->o, t.kernel_h, t.kernel_w, e->c / t.groups};
  Packing packing = Packing::kDense;
  if (t.method == ConvMethod::kDepthwise) packing = Packing::kDepthwise16;
  if (t.method == ConvMethod::kDirect) {
    packing = Packing::kPanels16x4;
    if (w.packing == packing) quantized::direct_dims(t, e->o, e->c, dims);
  }
  int64_t k;
  if (!checked_mul<int64_t>(int64_t(t.kernel_h) * t.kernel_w, e->c / t.groups, &k))
    return refuse(v, "a sum of products of bytes fits 32 bits", 1);
  return conv::check_weights(w, 1, packing, dims, 4, v) && quantized::check_sum(k, 1, v);
}

bool check_quantized_conv2d(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kQuantizedConv2dContract, {0x7u, 1u, 0x2u}, v)) return false;
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  if (!quantized::check_bytes(x, a.inputs[1], v) ||
      !quantized::check_requant(t.requant, x.dtype, v) ||
      !quantized::check_output_steps(x.dtype, t.y_zero, t.low, t.high, v) ||
      !quantized::check_output_type(t.requant, x.dtype, y, v) ||
      !quantized::check_weight_zero(t.requant, t.w_zero, x.dtype, v) ||
      !conv::check_window(conv::window_of(t), v))
    return false;
  if (t.x_zero > quantized::most_number(x.dtype))
    return refuse(v, "x_zero is a number of x", Violation::kAttribute,
                  quantized::most_number(x.dtype), t.x_zero);
  if (x.rank != 4) return refuse(v, "quantized_conv2d's x is a batch of images", 0, 4, x.rank);
  if (y.rank != 4)
    return refuse(v, "quantized_conv2d's y is [N,OH,OW,O]", rules::output(0), 4, y.rank);
  const Conv2dAttributes g = quantized::geometry(t);
  conv::Extents e = conv::extents(g, x, y);
  if (!check_method(t, e, v)) return false;
  if (!conv::output_extent(e.h, t.pad_top, t.pad_bottom, t.kernel_h, t.stride_h, t.dilation_h,
                           &e.oh) ||
      !conv::output_extent(e.w, t.pad_left, t.pad_right, t.kernel_w, t.stride_w, t.dilation_w,
                           &e.ow))
    return refuse(v, "the window fits the padded image", Violation::kAttribute, conv::window_h(g),
                  e.h);
  if ((e.h == 0 || e.w == 0) && e.n != 0) return refuse(v, "an image has pixels", 0, 1, 0);
  if (!check_weights(t, a.inputs[1], &e, v) ||
      !quantized::check_channels(a.inputs[2], 2, t.requant, e.o, v) ||
      !quantized::check_steps(a, 3, t.requant, e.n, v))
    return false;
  const int64_t want[4] = {e.n, e.oh, e.ow, e.o};
  for (int i = 0; i < 4; i++)
    if (y.dims[i] != want[i])
      return refuse(v, "quantized_conv2d's y is [N,OH,OW,O]", rules::output(0), want[i], y.dims[i]);
  quantized::ConvScratch scratch;
  if (!quantized::conv_scratch(t, x, y, &scratch))
    return refuse(v, "quantized_conv2d's scratch is below 2^46 bytes", Violation::kAttribute);
  return true;
}

bool is_empty(const OpArguments& a) { return a.outputs[0].elements() == 0; }

ScratchNeed quantized_conv2d_scratch(const OpArguments& a, int threads) {
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  quantized::ConvScratch s;
  if (is_empty(a) || !quantized::conv_scratch(t, a.inputs[0], a.outputs[0], &s)) return {};
  const bool may_overwrite = quantized::works_in_place(t, a.inputs[0], a.outputs[0]);
  return {s.bytes + (may_overwrite ? quantized::halo_bytes(t, a.inputs[0], threads) : 0), 0};
}

ScratchNeed quantized_conv2d_scratch_bound(const OpArguments& a, int threads) {
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  uint64_t bytes = 0;
  if (is_empty(a) || !quantized::conv_scratch_bound(t, a.inputs[0], a.outputs[0], &bytes))
    return {};
  const bool keeps_dims = t.stride_h == 1 && t.stride_w == 1;
  return {bytes + (keeps_dims ? quantized::halo_bytes(t, a.inputs[0], threads) : 0), 0};
}

uint32_t quantized_conv2d_in_place(const OpArguments& a) {
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  return quantized::works_in_place(t, a.inputs[0], a.outputs[0]) ? 1 : 0;
}

}  // namespace

const OpContract kQuantizedConv2dContract = {OpCode::kQuantizedConv2d,
                                             1,
                                             3,
                                             4,
                                             1,
                                             1,
                                             check_quantized_conv2d,
                                             quantized_conv2d_in_place,
                                             quantized_conv2d_scratch,
                                             0x1u,
                                             0x1u,
                                             rules::for_rebinding(quantized_conv2d_scratch_bound),
                                             true};

}  // namespace ingot
