// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/chain.inl - several convolutions in bands of rows; each thread owns rows of
// the last one's output and a ring of rows for every intermediate. Rows at the seams between
// threads are computed by both.
#pragma once
#include "kernels/cpu/conv2d/conv2d.inl"

namespace ingot::cpu {
namespace {

inline bool are_packed(const OpArguments& a, bool or_bf16) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const Packing packing =
        t.stages[i].method == ConvMethod::kDirect ? Packing::kPanels16 : Packing::kDepthwise16;
    if (!is_packed(a.inputs[1 + 2 * i], a.optional(int(2 + 2 * i)), packing, or_bf16)) return false;
  }
  return true;
}
inline bool chain_supports(const OpArguments& a) { return are_packed(a, false); }

// Stages store whole vectors of a ring's channels, those of the shortest tile.
#if defined(INGOT_SIMD_AVX2)
constexpr int64_t kStoredChannels = 8;
#else
constexpr int64_t kStoredChannels = kPanel;
#endif

struct ChainCall {
  const OpArguments& a;
  const ChainAttributes& t;
  conv::ChainPlan plan;
  Epilogue epilogues[kMaxChainStages];
  ConvJob jobs[kMaxChainStages];
  bool pointwise[kMaxChainStages];
  ChainCall(const OpArguments& arguments, const Team& team)
      : a(arguments), t(arguments.as<ChainAttributes>()) {
    conv::Extents stages[kMaxChainStages];
    conv::chain_extents(a, stages);
    (void)conv::plan_chain(t, stages, &plan);  // checked by the contract
    for (int i = 0; i < plan.count; i++) {
      const bool last = i + 1 == plan.count;
      epilogues[i] = make_epilogue(t.stages[i].activation, t.stages[i].residual_first,
                                   last ? residual() : nullptr);
      ConvJob& j = jobs[i];
      j.t = &t.stages[i], j.epilogue = &epilogues[i];
      j.weights = a.inputs[1 + 2 * i].as<float>(),
      j.bias = a.optional(2 + 2 * i) ? a.inputs[2 + 2 * i].as<float>() : nullptr;
      j.scratch = static_cast<char*>(team.scratch) + plan.stage_offset;
      j.copies = conv::stage_copies(t.stages[i], i);
      pointwise[i] = is_pointwise(t.stages[i]);
      if (plan.stage[i].oh > 0 && plan.stage[i].ow > 0)
        (void)conv::bands(t.stages[i], plan.stage[i], plan.stage[i].c, &j.bands);
    }
  }
  const TensorView* residual() const { return a.optional(conv::chain_residual(t)); }

  /// Views of image n, rings starting at the rows that the first band needs.
  void begin_image(int64_t n, const Range* need, const Team& team) {
    for (int i = 0; i < plan.count; i++) {
      ConvJob& j = jobs[i];
      const conv::Extents& e = plan.stage[i];
      j.in = i == 0 ? nhwc_view(a.inputs[0], t.stages[0].input_layout == ChannelLayout::kNchw, n)
                    : jobs[i - 1].out;
      if (i > 0 && j.t->method == ConvMethod::kDirect) j.in.c = e.c;
      if (i + 1 == plan.count) {
        j.out = nhwc_view(a.outputs[0], false, n);
        j.residual = residual() ? residual()->as<float>() + n * e.oh * e.ow * residual()->row_stride
                                : nullptr;
        continue;
      }
      j.out.at = reinterpret_cast<float*>(static_cast<char*>(team.scratch) + plan.ring_offset[i]);
      j.out.h = e.oh, j.out.w = e.ow, j.out.c = round_up(e.o, kStoredChannels);
      j.out.pixel_stride = plan.pixel_stride[i], j.out.row_stride = e.ow * plan.pixel_stride[i],
      j.out.channel_stride = 1;
      j.out.ring = plan.ring_rows[i], j.out.origin = need[i + 1].begin;
    }
  }
  /// need[i]: rows of stage i's input for output rows `rows` of the last stage; need[count] is
  /// `rows`.
  void demand(Range rows, Range* need) const {
    need[plan.count] = rows;
    for (int i = plan.count - 1; i >= 0; i--) {
      const Conv2dAttributes& s = t.stages[i];
      const int64_t h = plan.stage[i].h, first = need[i + 1].begin * s.stride_h - s.pad_top;
      const int64_t end = (need[i + 1].end - 1) * s.stride_h - s.pad_top + conv::window_h(s);
      need[i] = {min_of(h, max_of(0, first)), max_of(0, min_of(h, end))};
    }
  }
};

template <class V>
void run_stage(const ChainCall& call, int i, Range rows) {
  const ConvJob& j = call.jobs[i];
  const Range panels{0, ceil_div(call.plan.stage[i].o, kPanel)};
  if (j.t->method == ConvMethod::kDepthwise)
    depthwise_rows<V>(j, rows, panels);
  else if (call.pointwise[i])
    pointwise_rows<V>(j, rows, panels);
  else
    conv_rows<V>(j, rows, {0, call.plan.stage[i].ow}, panels);
}

/// run(call, stage, rows of its output)
template <class Run>
Status run_chain(const OpArguments& a, const Team& team, Run run) {
  ChainCall call(a, team);
  const int count = call.plan.count;
  const conv::Extents& last = call.plan.stage[count - 1];
  if (last.n == 0 || last.oh == 0 || last.ow == 0 || last.o == 0) return {};
  const Range mine = part(last.n * last.oh, team.id, team.size);
  const int64_t band = min_of(call.t.band_rows, last.oh);
  for (int64_t r = mine.begin; r < mine.end;) {
    const int64_t n = r / last.oh, begin = r % last.oh,
                  stop = min_of(last.oh, begin + mine.end - r);
    Range need[kMaxChainStages + 1];
    int64_t done[kMaxChainStages];
    call.demand({begin, min_of(stop, begin + band)}, need);
    call.begin_image(n, need, team);
    for (int i = 0; i < count; i++) done[i] = need[i + 1].begin;
    for (int64_t y = begin; y < stop; y += band) {
      call.demand({y, min_of(stop, y + band)}, need);
      for (int i = 0; i < count; i++) {
        const Range rows{max_of(done[i], need[i + 1].begin), need[i + 1].end};
        if (rows.count() <= 0) continue;
        run(call, i, rows);
        done[i] = rows.end;
      }
    }
    r += stop - begin;
  }
  return {};
}

template <class V>
Status chain_f32(const OpArguments& a, const Team& team) {
  return run_chain(a, team, run_stage<V>);
}

}  // namespace
}  // namespace ingot::cpu
