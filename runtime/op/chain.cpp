// SPDX-License-Identifier: Apache-2.0
// runtime/op/chain.cpp - the contract of a band-fused chain of convolutions.
#include "runtime/op/chain.h"

#include "runtime/op/half_products.h"

namespace ingot {
namespace conv {

bool plan_chain(const ChainAttributes& t, const Extents* stages, ChainPlan* plan) {
  *plan = {};
  plan->count = int(t.stage_count);
  for (int i = 0; i < plan->count; i++) plan->stage[i] = stages[i];
  const Extents& last = stages[plan->count - 1];
  if (last.n == 0 || last.oh == 0 || last.ow == 0 || last.o == 0) return true;
  int64_t rows = int64_t(t.band_rows) < last.oh ? t.band_rows : last.oh;
  for (int i = plan->count - 1; i > 0; i--) {
    rows = ring_rows(t.stages[i], rows, stages[i].h);
    plan->ring_rows[i - 1] = rows;
    plan->pixel_stride[i - 1] =
        row_distance(round_up(stages[i - 1].o, kPanel), t.stages[i].stride_w);
  }
  for (int i = 0; i + 1 < plan->count; i++) {
    int64_t ring = 0;
    plan->ring_offset[i] = plan->bytes;
    if (!checked_mul(plan->ring_rows[i], stages[i].ow, &ring) ||
        !checked_mul(ring, plan->pixel_stride[i], &ring) || !checked_mul<int64_t>(ring, 4, &ring) ||
        uint64_t(ring) >= kMaxScratchBytes)
      return false;
    plan->bytes += uint64_t(round_up(ring, 64));
  }
  plan->stage_offset = plan->bytes;
  uint64_t widest = 0;
  for (int i = 0; i < plan->count; i++) {
    uint64_t bytes = 0;
    if (t.stages[i].method == ConvMethod::kDirect &&
        !direct_scratch(t.stages[i], stages[i], stages[i].c, stage_copies(t.stages[i], i), &bytes))
      return false;
    widest = bytes > widest ? bytes : widest;
    int64_t pixels;
    const int64_t band = int64_t(t.band_rows) < last.oh ? t.band_rows : last.oh;
    if (!checked_mul(i + 1 < plan->count ? plan->ring_rows[i] : band, stages[i].ow, &pixels) ||
        !half_products::scratch(t.stages[i], stages[i], pixels, &bytes))
      return false;
    widest = bytes > widest ? bytes : widest;
  }
  plan->bytes += widest;
  return plan->bytes < kMaxScratchBytes;
}

void chain_extents(const OpArguments& a, Extents* stages) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const Conv2dAttributes& s = t.stages[i];
    Extents e =
        i == 0 ? extents(s, a.inputs[0], a.outputs[0])
               : Extents{
                     stages[i - 1].n, stages[i - 1].oh, stages[i - 1].ow, stages[i - 1].o, 0, 0, 0};
    e.o = a.inputs[1 + 2 * i].dims[0];
    e.has_bf16_weights = a.inputs[1 + 2 * i].dtype == DType::kBF16;
    if (!output_extent(e.h, s.pad_top, s.pad_bottom, s.kernel_h, s.stride_h, s.dilation_h, &e.oh))
      e.oh = 0;
    if (!output_extent(e.w, s.pad_left, s.pad_right, s.kernel_w, s.stride_w, s.dilation_w, &e.ow))
      e.ow = 0;
    stages[i] = e;
  }
}

}  // namespace conv

namespace {

using rules::refuse;

bool check_stages(const OpArguments& a, conv::Extents* stages, Violation* v) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const Conv2dAttributes& s = t.stages[i];
    if (s.method != ConvMethod::kDirect && s.method != ConvMethod::kDepthwise)
      return refuse(v, "a chain's stages are direct or depthwise", Violation::kAttribute, 0,
                    int64_t(s.method));
    if (i > 0 && s.input_layout != ChannelLayout::kNhwc)
      return refuse(v, "only the first stage of a chain reads nchw", Violation::kAttribute, 0,
                    int64_t(s.input_layout));
    if (s.residual_first && i + 1 < t.stage_count)
      return refuse(v, "only the last stage of a chain has a residual", Violation::kAttribute,
                    t.stage_count - 1, i);
    conv::Extents e =
        i == 0 ? conv::extents(s, a.inputs[0], a.outputs[0])
               : conv::Extents{
                     stages[i - 1].n, stages[i - 1].oh, stages[i - 1].ow, stages[i - 1].o, 0, 0, 0};
    const int w = int(1 + 2 * i);
    if (!conv::check_stage(s, a.inputs[w], w, a.optional(w + 1), w + 1, &e, v)) return false;
    stages[i] = e;
  }
  return true;
}

bool check_chain(const OpArguments& a, Violation* v) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  if (t.stage_count < 1 || t.stage_count > kMaxChainStages)
    return refuse(v, "a chain has 1 to 8 stages", Violation::kAttribute, kMaxChainStages,
                  t.stage_count);
  if (t.band_rows < 1 || t.band_rows > conv::kMaxExtent)
    return refuse(v, "chain.band_rows is 1 to 2^20", Violation::kAttribute, conv::kMaxExtent,
                  t.band_rows);
  const int residual_at = conv::chain_residual(t);
  if (a.input_count < residual_at || a.input_count > residual_at + 1)
    return refuse(v, "a chain has x, weights and bias of each stage, and a residual at most",
                  Violation::kAttribute, residual_at, a.input_count);
  uint32_t weights = 0;
  for (uint32_t i = 0; i < t.stage_count; i++) weights |= 1u << (1 + 2 * i);
  if (!rules::check_operands(a, kChainContract, {1u | weights, 1u, weights | weights << 1}, v) ||
      !conv::check_f32(a, v))
    return false;
  if (a.inputs[0].rank != 4)
    return refuse(v, "a chain's x is a batch of images", 0, 4, a.inputs[0].rank);
  conv::Extents stages[kMaxChainStages];
  if (!check_stages(a, stages, v)) return false;
  const conv::Extents& last = stages[t.stage_count - 1];
  const TensorType& y = a.outputs[0];
  const int64_t want[4] = {last.n, last.oh, last.ow, last.o};
  if (y.rank != 4) return refuse(v, "a chain's y is [N,OH,OW,O]", rules::output(0), 4, y.rank);
  for (int i = 0; i < 4; i++)
    if (y.dims[i] != want[i])
      return refuse(v, "a chain's y is [N,OH,OW,O]", rules::output(0), want[i], y.dims[i]);
  if (const TensorView* residual = a.optional(residual_at))
    if (!rules::check_same_dims(y, *residual, residual_at, v)) return false;
  conv::ChainPlan plan;
  if (!conv::plan_chain(t, stages, &plan))
    return refuse(v, "a chain's scratch is below 2^46 bytes", Violation::kAttribute);
  return true;
}

uint32_t chain_in_place(const OpArguments& a) {
  const int at = conv::chain_residual(a.as<ChainAttributes>());
  const TensorView* residual = a.optional(at);
  return residual && rules::overlays(*residual, a.outputs[0]) ? 1u << at : 0u;
}

/// Rings grow with the image; bands of a stage do not always.
ScratchNeed chain_scratch_bound(const OpArguments& a, int) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  conv::Extents stages[kMaxChainStages];
  conv::ChainPlan plan;
  conv::chain_extents(a, stages);
  if (!conv::plan_chain(t, stages, &plan)) return {};
  uint64_t widest = plan.bytes - plan.stage_offset;
  for (int i = 0; i < plan.count; i++) {
    uint64_t bytes = 0;
    if (t.stages[i].method != ConvMethod::kDirect || stages[i].oh == 0 || stages[i].ow == 0)
      continue;
    const bool copies = conv::stage_copies(t.stages[i], i);
    if (conv::direct_scratch_bound(t.stages[i], stages[i], stages[i].c, copies, &bytes) &&
        bytes > widest)
      widest = bytes;
  }
  return {plan.stage_offset + widest, 0};
}

ScratchNeed chain_scratch(const OpArguments& a, int) {
  conv::Extents stages[kMaxChainStages];
  conv::ChainPlan plan;
  conv::chain_extents(a, stages);
  return {conv::plan_chain(a.as<ChainAttributes>(), stages, &plan) ? plan.bytes : 0, 0};
}

}  // namespace

// Bits 3, 5 .. 17: where the residual stands, by the number of stages. Weights are validated dense.
const OpContract kChainContract = {OpCode::kChain,
                                   1,
                                   3,
                                   2 + 2 * kMaxChainStages,
                                   1,
                                   1,
                                   check_chain,
                                   chain_in_place,
                                   chain_scratch,
                                   0x2aaa9u,
                                   0x1u,
                                   rules::for_rebinding(chain_scratch_bound)};

}  // namespace ingot
