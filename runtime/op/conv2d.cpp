// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv2d.cpp - the contract of one convolution.
#include "runtime/op/conv2d.h"

#include "runtime/op/conv_stage.h"
#include "runtime/op/half_products.h"

namespace ingot {
namespace conv {

using rules::refuse;

namespace {

bool check_method(const Conv2dAttributes& t, const Extents& e, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  if (uint8_t(t.method) > uint8_t(ConvMethod::kGrouped))
    return refuse(v, "conv2d.method is known", kAttribute, 3, int64_t(t.method));
  if (uint8_t(t.input_layout) > uint8_t(ChannelLayout::kNchw))
    return refuse(v, "conv2d.input_layout is known", kAttribute, 1, int64_t(t.input_layout));
  const bool by_channel = t.method == ConvMethod::kDepthwise,
             grouped = t.method == ConvMethod::kGrouped;
  if (!by_channel && !grouped && t.groups != 1)
    return refuse(v, "direct and winograd convolutions have one group", kAttribute, 1, t.groups);
  if (by_channel && t.groups != e.c)
    return refuse(v, "depthwise has a group a channel", kAttribute, e.c, t.groups);
  if (t.groups < 1 || e.c % t.groups != 0)
    return refuse(v, "conv2d.groups divides the channels", kAttribute, e.c, t.groups);
  if (t.input_layout == ChannelLayout::kNchw &&
      (by_channel || t.method == ConvMethod::kWinogradF43))
    return refuse(v, "only direct and grouped convolutions read nchw", kAttribute, 0, 1);
  if (t.method == ConvMethod::kWinogradF43 &&
      (t.kernel_h != 3 || t.kernel_w != 3 || t.stride_h != 1 || t.stride_w != 1 ||
       t.dilation_h != 1 || t.dilation_w != 1))
    return refuse(v, "winograd_f43 is 3x3, stride 1, dilation 1", kAttribute);
  return true;
}

Packing packing_of(ConvMethod method) {
  switch (method) {
    case ConvMethod::kDirect: return Packing::kPanels16;
    case ConvMethod::kWinogradF43: return Packing::kWinogradF43;
    case ConvMethod::kDepthwise: return Packing::kDepthwise16;
    case ConvMethod::kGrouped: break;
  }
  return Packing::kDense;
}

}  // namespace

bool check_stage(const Conv2dAttributes& t, const TensorType& w, int w_operand,
                 const TensorType* bias, int bias_operand, Extents* e, Violation* v) {
  if (!check_window(window_of(t), v) || !check_epilogue(t.activation, v) || !check_method(t, *e, v))
    return false;
  if (!output_extent(e->h, t.pad_top, t.pad_bottom, t.kernel_h, t.stride_h, t.dilation_h, &e->oh) ||
      !output_extent(e->w, t.pad_left, t.pad_right, t.kernel_w, t.stride_w, t.dilation_w, &e->ow))
    return refuse(v, "the window fits the padded image", Violation::kAttribute, window_h(t), e->h);
  if ((e->h == 0 || e->w == 0) && e->n != 0) return refuse(v, "an image has pixels", 0, 1, 0);
  if (w.rank != 4)
    return refuse(v, "conv2d's weights are [O, kernel_h, kernel_w, C / groups]", w_operand, 4,
                  w.rank);
  e->o = w.dims[0];
  if (t.method == ConvMethod::kDepthwise && e->o != e->c)
    return refuse(v, "depthwise keeps the channels", w_operand, e->c, e->o);
  if (e->o % t.groups != 0)
    return refuse(v, "conv2d.groups divides the outputs", w_operand, t.groups, e->o);
  const int64_t dims[4] = {e->o, t.kernel_h, t.kernel_w, e->c / t.groups};
  return check_weights(w, w_operand, packing_of(t.method), dims, 4, v) &&
         check_bias(bias, bias_operand, e->o, v);
}

/// The panels of one group.
static bool add_group_panels(const Conv2dAttributes& t, const Extents& e, uint64_t* bytes) {
  if (t.method != ConvMethod::kGrouped) return true;
  uint64_t panels = uint64_t(round_up(e.o / t.groups, kPanel));
  return checked_mul<uint64_t>(panels, uint64_t(t.kernel_h) * t.kernel_w * 4, &panels) &&
         checked_mul<uint64_t>(panels, uint64_t(e.c / t.groups), &panels) &&
         checked_add(*bytes, panels, bytes);
}

/// Products of halves have the place of those in f32.
static bool cover_halves(const Conv2dAttributes& t, const Extents& e, uint64_t* bytes) {
  int64_t rows;
  uint64_t halves;
  if (!is_rounded(t.reduced_precision)) return true;
  if (!checked_mul(e.n, e.oh, &rows) || !checked_mul(rows, e.ow, &rows) ||
      !half_products::scratch(t, e, rows, &halves))
    return false;
  *bytes = *bytes < halves ? halves : *bytes;
  return true;
}

bool conv2d_scratch(const Conv2dAttributes& t, const Extents& e, int threads, ScratchNeed* need) {
  *need = {};
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0) return true;
  uint64_t bytes = 0;
  if (t.method == ConvMethod::kDepthwise) return true;
  if (t.method == ConvMethod::kWinogradF43) {
    for (int team = 1; team <= threads; team++) {  // few tiles are shared by a large team only
      WinogradBlocks g;
      if (!winograd_blocks(e, team, &g)) return false;
      const uint64_t v = uint64_t(round_up(g.v_elements * 4, 64)),
                     m = uint64_t(round_up(g.m_elements * 4, 64));
      const uint64_t own = g.shared ? m : v + m, shared = g.shared ? v : 0;
      if (own > need->per_thread_bytes) need->per_thread_bytes = own;
      if (shared > need->shared_bytes) need->shared_bytes = shared;
    }
    return true;
  }
  if (!direct_scratch(t, e, e.c / t.groups, needs_band(t), &bytes) ||
      !add_group_panels(t, e, &bytes) || !cover_halves(t, e, &bytes))
    return false;
  need->per_thread_bytes = bytes;
  return true;
}

bool conv2d_scratch_bound(const Conv2dAttributes& t, const Extents& e, int threads,
                          ScratchNeed* need) {
  *need = {};
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0 || t.method == ConvMethod::kDepthwise)
    return true;
  if (t.method == ConvMethod::kWinogradF43) {
    for (int team = 1; team <= threads; team++) {
      WinogradBound g;
      if (!winograd_bound(e, team, &g)) return false;
      const uint64_t own = uint64_t(g.own_elements) * 4 + 128,
                     shared = uint64_t(round_up(g.shared_elements * 4, 64));
      if (own > need->per_thread_bytes) need->per_thread_bytes = own;
      if (shared > need->shared_bytes) need->shared_bytes = shared;
    }
    return true;
  }
  uint64_t bytes = 0;
  if (!direct_scratch_bound(t, e, e.c / t.groups, needs_band(t), &bytes) ||
      !add_group_panels(t, e, &bytes) || !cover_halves(t, e, &bytes))
    return false;
  need->per_thread_bytes = bytes;
  return true;
}

}  // namespace conv

namespace {

bool check_conv2d(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kConv2dContract, {0x3u, 1u, 0x6u}, v) || !conv::check_f32(a, v))
    return false;
  if (a.inputs[0].rank != 4)
    return rules::refuse(v, "conv2d's x is a batch of images", 0, 4, a.inputs[0].rank);
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  const TensorType& y = a.outputs[0];
  conv::Extents e = conv::extents(t, a.inputs[0], y);
  if (!conv::check_stage(t, a.inputs[1], 1, a.optional(2), 2, &e, v)) return false;
  const int64_t want[4] = {e.n, e.oh, e.ow, e.o};
  if (y.rank != 4)
    return rules::refuse(v, "conv2d's y is [N,OH,OW,O]", rules::output(0), 4, y.rank);
  for (int i = 0; i < 4; i++)
    if (y.dims[i] != want[i])
      return rules::refuse(v, "conv2d's y is [N,OH,OW,O]", rules::output(0), want[i], y.dims[i]);
  if (const TensorView* residual = a.optional(3))
    if (!rules::check_same_dims(y, *residual, 3, v)) return false;
  ScratchNeed need;
  if (!conv::conv2d_scratch(t, e, kMaxThreads, &need) ||
      need.per_thread_bytes >= conv::kMaxScratchBytes ||
      need.shared_bytes >= conv::kMaxScratchBytes)
    return rules::refuse(v, "conv2d's scratch is below 2^46 bytes", Violation::kAttribute);
  return true;
}

uint32_t conv2d_in_place(const OpArguments& a) {
  const TensorView* residual = a.optional(3);
  return residual && rules::overlays(*residual, a.outputs[0]) ? 1u << 3 : 0u;
}

ScratchNeed conv2d_scratch(const OpArguments& a, int threads) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  ScratchNeed need;
  return conv::conv2d_scratch(t, conv::extents(a), threads, &need) ? need : ScratchNeed{};
}

ScratchNeed conv2d_scratch_bound(const OpArguments& a, int threads) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  ScratchNeed need;
  return conv::conv2d_scratch_bound(t, conv::extents(a), threads, &need) ? need : ScratchNeed{};
}

}  // namespace

const OpContract kConv2dContract = {OpCode::kConv2d,
                                    1,
                                    2,
                                    4,
                                    1,
                                    1,
                                    check_conv2d,
                                    conv2d_in_place,
                                    conv2d_scratch,
                                    0x9u,
                                    0x1u,
                                    rules::for_rebinding(conv2d_scratch_bound)};

}  // namespace ingot
