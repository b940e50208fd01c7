// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/half_conv.inl - direct convolutions of halves, alone and as stages of a chain,
// whose others are computed in f32. Format: kernels/cpu/gemm/half_job.inl.
#pragma once
#include "kernels/cpu/conv2d/chain.inl"
#include "kernels/cpu/gemm/half_job.inl"

namespace ingot::cpu {
namespace {

/// `rows`: output pixels that are computed together.
inline HalfJob half_conv_job(const ConvJob& j, const conv::Extents& e, int64_t rows) {
  HalfJob h;
  h.oh = e.oh, h.ow = e.ow, h.taps = int64_t(j.t->kernel_h) * j.t->kernel_w, h.c = e.c;
  h.in = {j.in.at,   j.in.h,     j.in.w, j.in.pixel_stride, j.in.row_stride, e.h * j.in.row_stride,
          j.in.ring, j.in.origin};
  h.windows = j.t;
  h.weights = j.weights, h.has_bf16_weights = e.has_bf16_weights, h.bias = j.bias, h.out = j.out.at,
  h.out_stride = j.out.pixel_stride;
  if (is_pointwise(*j.t)) h.windows = nullptr, h.a = j.in.at, h.a_stride = j.in.pixel_stride;
  h.o = j.out.c, h.residual = j.residual, h.epilogue = j.epilogue, h.scratch = j.scratch;
  (void)half_products::blocks(h.taps, e.c, rows, &h.blocks);  // checked by the contract
  return h;
}

/// Whether kernels of that format compute it. Weights of bf16 nobody else reads.
template <class Format>
bool half_conv_takes(const Conv2dAttributes& t, const conv::Extents& e) {
  return t.reduced_precision == Format::kPrecision && half_products::takes(t, e) &&
         (e.has_bf16_weights
              ? Format::kTakesBf16Weights
              : Format::pays(int64_t{t.kernel_h} * t.kernel_w, e.c, e.o, e.n * e.oh * e.ow));
}

template <class Format>
bool half_conv2d_supports(const OpArguments& a) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  return conv2d_is(a, ConvMethod::kDirect, Packing::kPanels16, true) &&
         half_conv_takes<Format>(t, conv::extents(a)) && Format::may_run();
}

template <class Format>
Status half_conv2d(const OpArguments& a, const Team& team) {
  const Conv2dCall call(a);
  if (call.empty()) return {};
  const conv::Extents& e = call.e;
  const int64_t rows = e.n * e.oh * e.ow;
  half_gemm_team<Format>(half_conv_job(call.job(a, 0, team), e, rows), rows, team);
  return {};
}

template <class Format>
bool half_chain_supports(const OpArguments& a) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  conv::Extents stages[kMaxChainStages];
  conv::chain_extents(a, stages);
  bool any = false, all = true;
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const bool takes = half_conv_takes<Format>(t.stages[i], stages[i]);
    any = any || takes, all = all && (takes || !stages[i].has_bf16_weights);
  }
  return any && all && are_packed(a, true) && Format::may_run();
}

/// Output rows [rows) of a stage: runs of rows that lie together.
template <class Format>
void half_stage(const ChainCall& call, int i, Range rows) {
  const ConvJob& j = call.jobs[i];
  const conv::Extents& e = call.plan.stage[i];
  if (!half_conv_takes<Format>(*j.t, e)) return run_stage<V>(call, i, rows);
  HalfJob h = half_conv_job(j, e, rows.count() * e.ow);
  for (int64_t y = rows.begin; y < rows.end;) {
    int64_t n = rows.end - y;
    if (j.out.ring) n = min_of(n, j.out.ring - j.out.slot(y));
    if (!h.windows) {
      if (j.in.ring) n = min_of(n, j.in.ring - j.in.slot(y));
      h.a = j.in.row(y);
    }
    h.first = y * e.ow, h.out = j.out.row(y);
    h.residual = j.residual ? j.residual + y * e.ow * j.epilogue->residual_stride : nullptr;
    half_gemm<Format>(h, {h.first, h.first + n * e.ow}, {0, ceil_div(e.o, kPanel)});
    y += n;
  }
}

template <class Format>
Status half_chain(const OpArguments& a, const Team& team) {
  return run_chain(a, team, half_stage<Format>);
}

}  // namespace
}  // namespace ingot::cpu
