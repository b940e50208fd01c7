// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/chains.cpp - see chains.h. Rule and figures: prototypes/whole_model, measured
// on MobileNetV2, V3 and YOLOv8n.
#include "tools/compile/plan/chains.h"

#include <algorithm>

#include "runtime/op/chain.h"
#include "tools/compile/plan/runs.h"

namespace ingot::convert {
namespace {

const Conv2dAttributes& conv(const LoweredInstruction& instruction) {
  return std::get<Conv2dAttributes>(instruction.attributes);
}
bool has_residual(const LoweredInstruction& i) { return i.inputs.size() > 3 && i.inputs[3] >= 0; }

bool works_by_rows(const LoweredInstruction& instruction) {
  if (instruction.op() != OpCode::kConv2d) return false;
  const Conv2dAttributes& a = conv(instruction);
  return a.method == ConvMethod::kDepthwise || (a.method == ConvMethod::kDirect && a.groups == 1);
}

/// Reads a few rows at a time, all of them: a strided 1x1 would have the stage before compute rows
/// that nobody reads.
bool streams(const Conv2dAttributes& a) {
  if (a.input_layout != ChannelLayout::kNhwc) return false;
  if (a.method == ConvMethod::kDepthwise) return true;
  if (a.kernel_h == 1) return a.stride_h == 1 && a.kernel_w == 1 && a.stride_w == 1;
  return a.kernel_h >= a.stride_h;
}

class ChainFusion {
 public:
  ChainFusion(LoweredProgram* lowered, const ChainRule& rule, ConversionReport* report)
      : runs_(lowered), rule_(rule), report_(report) {}

  void run(uint32_t subprogram) {
    runs_.sweep(subprogram, [&](uint32_t i) {
      if (works_by_rows(runs_.at(i))) fuse_from(i);
    });
  }

 private:
  /// The instruction that continues the chain, -1 for none.
  int64_t next_of(uint32_t last, int64_t* weights) const {
    const int64_t reader = has_residual(runs_.at(last)) ? -1 : runs_.only_reader(last);
    if (reader < 0) return -1;
    const LoweredInstruction& next = runs_.at(uint32_t(reader));
    if (!works_by_rows(next) || !streams(conv(next))) return -1;
    *weights +=
        conv(next).method == ConvMethod::kDirect ? runs_.type(next.inputs[1]).elements() * 4 : 0;
    return *weights <= rule_.weight_bytes ? reader : -1;
  }

  void fuse_from(uint32_t first) {
    Run run{first};
    int64_t weights = 0;
    while (run.size() < size_t(kMaxChainStages)) {
      const int64_t next = next_of(run.back(), &weights);
      if (next < 0) break;
      run.push_back(uint32_t(next));
    }
    // The longest run whose rings fit; a shorter one may still be worth it.
    for (; run.size() > 1; run.pop_back()) {
      int64_t widest = 0;
      for (size_t k = 0; k + 1 < run.size(); k++)
        widest = std::max(widest, runs_.output_bytes(run[k]));
      if (widest < rule_.least_bytes) return;
      if (try_chain(run)) return;
    }
  }

  bool try_chain(const Run& run) {
    LoweredInstruction chain = runs_.join(run);
    if (has_residual(runs_.at(run.back()))) chain.inputs.push_back(runs_.at(run.back()).inputs[3]);
    ChainAttributes attributes;
    attributes.stage_count = uint32_t(run.size());
    for (size_t k = 0; k < run.size(); k++) attributes.stages[k] = conv(runs_.at(run[k]));
    for (uint32_t band = uint32_t(rule_.most_band_rows); band >= 1; band /= 2) {
      attributes.band_rows = band;
      chain.attributes = attributes;
      const Arguments arguments(runs_.lowered(), chain, runs_.typical());
      Violation violation;
      if (!kChainContract.check(arguments.get(), &violation)) return false;
      conv::Extents extents[kMaxChainStages];
      conv::chain_extents(arguments.get(), extents);
      conv::ChainPlan plan;
      if (!conv::plan_chain(attributes, extents, &plan) ||
          plan.stage_offset > uint64_t(rule_.ring_bytes))
        continue;
      runs_.replace(run, std::move(chain), band, plan.stage_offset);
      report_->chains++;
      return true;
    }
    return false;
  }

  Runs runs_;
  const ChainRule& rule_;
  ConversionReport* report_;
};

}  // namespace

void fuse_chains(LoweredProgram* lowered, const ChainRule& rule, ConversionReport* report) {
  ChainFusion fusion(lowered, rule, report);
  for (uint32_t s = 0; s < lowered->subprograms.size(); s++) fusion.run(s);
}

}  // namespace ingot::convert
