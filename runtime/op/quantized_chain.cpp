// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_chain.h"

#include "runtime/op/conv_rules.h"

namespace ingot {
namespace quantized {
namespace {

/// Zero where the window does not fit, which the contract refuses.
int64_t extent(int64_t in, uint32_t before, uint32_t after, uint32_t kernel, uint32_t stride,
               uint32_t dilation) {
  int64_t out = 0;
  if (kernel < 1 || stride < 1 ||
      !conv::output_extent(in, before, after, kernel, stride, dilation, &out))
    return 0;
  return out;
}

/// Bytes of the taps of 64 channels: pairs of 16 bits, or fours.
uint64_t tap_bytes(const QuantizedConv2dAttributes& t) {
  const uint64_t taps = uint64_t(t.kernel_h) * t.kernel_w;
  return (taps + 3) / 4 * 4 * uint64_t(kDepthwiseChannels) * 2;
}

/// *at is where `bytes` begin; the next begin a multiple of 64 later.
bool reserve_scratch(uint64_t* total, uint64_t bytes, uint64_t* at) {
  *at = *total;
  return checked_add(*total, bytes, total) && checked_align(*total, 64, total) &&
         *total < conv::kMaxScratchBytes;
}

bool product(uint64_t* to, int64_t a, int64_t b, int64_t c) {
  return checked_mul(uint64_t(a), uint64_t(b), to) && checked_mul(*to, uint64_t(c), to);
}

}  // namespace

void chain_stages(const OpArguments& a, ChainStages* stages) {
  const QuantizedChainAttributes& t = a.as<QuantizedChainAttributes>();
  stages->count = int(t.stage_count), stages->depthwise = -1;
  for (int i = 0; i < stages->count; i++) {
    ChainStage& s = stages->stage[i];
    s.attributes = t.stages[i];
    s.inputs[0] = i ? stages->stage[i - 1].outputs[0] : a.inputs[0];
    s.inputs[1] = a.inputs[1 + 2 * i], s.inputs[2] = a.inputs[2 + 2 * i];
    if (s.attributes.method == ConvMethod::kDepthwise && stages->depthwise < 0)
      stages->depthwise = i;
    TensorView& y = s.outputs[0];
    if (i + 1 == stages->count) {
      y = a.outputs[0];
      continue;
    }
    const QuantizedConv2dAttributes& g = s.attributes;
    const TensorType& x = s.inputs[0];
    y.dtype = DType::kU8, y.rank = 4, y.dims[0] = x.dims[0];
    y.dims[1] = extent(x.dims[1], g.pad_top, g.pad_bottom, g.kernel_h, g.stride_h, g.dilation_h);
    y.dims[2] = extent(x.dims[2], g.pad_left, g.pad_right, g.kernel_w, g.stride_w, g.dilation_w);
    y.dims[3] = y.row_stride = s.inputs[1].dims[0];
  }
}

bool chain_windows(const QuantizedChainAttributes& t, const ChainStages& stages, ChainWindows* w) {
  *w = {};
  const TensorType& y = stages.y();
  if (stages.stage[stages.count - 1].outputs[0].elements() == 0) return true;
  const QuantizedConv2dAttributes& d = stages.stage[stages.depthwise].attributes;
  const Conv2dAttributes g = geometry(d);
  const int64_t c = y.dims[3], widest = c < kDepthwiseChannels ? c : kDepthwiseChannels;
  w->slices = ceil_div(c, kDepthwiseChannels);
  w->band_rows = int64_t(t.band_rows) < y.dims[1] ? t.band_rows : int64_t{y.dims[1]};
  w->in_rows = (w->band_rows - 1) * d.stride_h + conv::window_h(g);
  w->in_cols = (y.dims[2] - 1) * d.stride_w + conv::window_w(g);
  uint64_t at = 0, states = 0, windows = 0, rows = 0;
  if (!product(&w->window_bytes, w->in_rows, w->in_cols, widest) ||
      !checked_add<uint64_t>(w->window_bytes, uint64_t(kSlack), &w->window_bytes) ||
      !checked_align(w->window_bytes, 64, &w->window_bytes) ||
      !checked_mul(w->window_bytes, uint64_t(w->slices), &windows))
    return false;
  w->state_bytes = kDepthwiseStateBytes + tap_bytes(d);
  if (!checked_mul(w->state_bytes, uint64_t(w->slices), &states)) return false;
  if (stages.projects() && (!product(&rows, w->band_rows, y.dims[2], c) ||
                            !checked_add<uint64_t>(rows, uint64_t(kSlack), &rows)))
    return false;
  return reserve_scratch(&w->bytes, conv::segment_bytes(g), &at) &&
         reserve_scratch(&w->bytes, states, &w->state) &&
         reserve_scratch(&w->bytes, windows, &w->window) &&
         reserve_scratch(&w->bytes, rows, &w->rows);
}

}  // namespace quantized

namespace {

using rules::refuse;

bool is_pointwise(const QuantizedConv2dAttributes& t) {
  return t.method == ConvMethod::kDirect && t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 &&
         t.stride_w == 1 && t.dilation_h == 1 && t.dilation_w == 1 &&
         !conv::needs_band(quantized::geometry(t));
}

bool check_stage_kinds(const QuantizedChainAttributes& t, Violation* v) {
  uint32_t depthwise = t.stage_count;
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const QuantizedConv2dAttributes& s = t.stages[i];
    if (s.requant != RequantMode::kFloatEven || s.w_zero != 0)
      return refuse(v, "a quantized chain is float_even, without zero points of weights",
                    Violation::kAttribute, 0, s.w_zero ? s.w_zero : int64_t(s.requant));
    if (s.method == ConvMethod::kDepthwise && depthwise == t.stage_count)
      depthwise = i;
    else if (!is_pointwise(s))
      return refuse(v, "beside one depthwise stage a quantized chain's are pointwise",
                    Violation::kAttribute, 0, i);
  }
  if (depthwise == t.stage_count || (t.stage_count == 3 && depthwise != 1))
    return refuse(v, "a quantized chain has pointwise stages on either side of its depthwise one",
                  Violation::kAttribute, 1, depthwise);
  return true;
}

/// Where a stage's operand `operand` is among those of the chain.
int chain_operand(int stage, int count, int operand) {
  if (operand == 1 || operand == 2) return operand + 2 * stage;
  if (operand == 0 && stage == 0) return 0;
  if (operand == rules::output(0) && stage + 1 == count) return operand;
  return Violation::kAttribute;
}

bool check_quantized_chain(const OpArguments& a, Violation* v) {
  const QuantizedChainAttributes& t = a.as<QuantizedChainAttributes>();
  if (t.stage_count < 2 || t.stage_count > uint32_t(kMaxQuantizedStages))
    return refuse(v, "a quantized chain has 2 or 3 stages", Violation::kAttribute,
                  kMaxQuantizedStages, t.stage_count);
  if (t.band_rows < 1 || t.band_rows > conv::kMaxExtent)
    return refuse(v, "quantized_chain.band_rows is 1 to 2^20", Violation::kAttribute,
                  conv::kMaxExtent, t.band_rows);
  if (a.input_count != 1 + 2 * t.stage_count)
    return refuse(v, "a quantized chain has x, weights and channels of each stage",
                  Violation::kAttribute, 1 + 2 * t.stage_count, a.input_count);
  constexpr uint32_t kWeights = 1u << 1 | 1u << 3 | 1u << 5;
  const uint32_t all = (1u << a.input_count) - 1;
  if (!rules::check_operands(a, kQuantizedChainContract, {all, 1u, all & kWeights}, v) ||
      !check_stage_kinds(t, v))
    return false;
  if (a.inputs[0].dtype != DType::kU8)
    return refuse(v, "a quantized chain's x is u8", 0, int64_t(DType::kU8),
                  int64_t(a.inputs[0].dtype));
  if (a.inputs[0].rank != 4)
    return refuse(v, "a quantized chain's x is a batch of images", 0, 4, a.inputs[0].rank);
  quantized::ChainStages stages;
  quantized::chain_stages(a, &stages);
  if (stages.expands() && a.inputs[0].dims[3] % 4 != 0)
    return refuse(v, "a quantized chain expands a multiple of 4 channels", 0, 4,
                  a.inputs[0].dims[3]);
  for (int i = 0; i < stages.count; i++) {
    if (kQuantizedConv2dContract.check(stages.stage[i].arguments(), v)) continue;
    v->operand = chain_operand(i, stages.count, v->operand);
    return false;
  }
  quantized::ChainWindows windows;
  if (!quantized::chain_windows(t, stages, &windows))
    return refuse(v, "a quantized chain's scratch is below 2^46 bytes", Violation::kAttribute);
  return true;
}

ScratchNeed quantized_chain_scratch(const OpArguments& a, int) {
  quantized::ChainStages stages;
  quantized::ChainWindows windows;
  quantized::chain_stages(a, &stages);
  const QuantizedChainAttributes& t = a.as<QuantizedChainAttributes>();
  return {quantized::chain_windows(t, stages, &windows) ? windows.bytes : 0, 0};
}

}  // namespace

const OpContract kQuantizedChainContract = {
    OpCode::kQuantizedChain, 1,    5,   7, 1, 1, check_quantized_chain, nullptr,
    quantized_chain_scratch, 0x1u, 0x1u};

}  // namespace ingot
