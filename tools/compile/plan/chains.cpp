// tools/compile/plan/chains.cpp - see chains.h. Rule and figures: prototypes/whole_model, measured
// on MobileNetV2, V3 and YOLOv8n.
#include "tools/compile/plan/chains.h"

#include <algorithm>

#include "runtime/op/chain.h"
#include "tools/compile/program/usage.h"

namespace ingot::convert {
namespace {

class ChainFusion {
 public:
  ChainFusion(LoweredProgram* lowered, const ChainRule& rule, ConversionReport* report)
      : lowered_(lowered),
        rule_(rule),
        report_(report),
        usage_(*lowered),
        typical_(typical_binding(*lowered)) {}

  void run(uint32_t subprogram) {
    subprogram_ = subprogram;
    auto& instructions = lowered_->subprograms[subprogram].instructions;
    dead_.assign(instructions.size(), false);
    for (uint32_t i = 0; i < instructions.size(); i++)
      if (!dead_[i] && works_by_rows(instructions[i])) fuse_from(i);
    std::vector<LoweredInstruction> kept;
    for (uint32_t i = 0; i < instructions.size(); i++)
      if (!dead_[i]) kept.push_back(std::move(instructions[i]));
    instructions = std::move(kept);
  }

 private:
  const LoweredInstruction& at(uint32_t index) const {
    return lowered_->subprograms[subprogram_].instructions[index];
  }
  TensorType type(int32_t value) const { return evaluate_type(lowered_->at(value), typical_); }

  static const Conv2dAttributes& conv(const LoweredInstruction& instruction) {
    return std::get<Conv2dAttributes>(instruction.attributes);
  }
  static bool has_residual(const LoweredInstruction& i) {
    return i.inputs.size() > 3 && i.inputs[3] >= 0;
  }

  static bool works_by_rows(const LoweredInstruction& instruction) {
    if (instruction.op() != OpCode::kConv2d) return false;
    const Conv2dAttributes& a = conv(instruction);
    return a.method == ConvMethod::kDepthwise || (a.method == ConvMethod::kDirect && a.groups == 1);
  }

  /// Reads a few rows at a time, all of them: a strided 1x1 would have the stage before compute
  /// rows that nobody reads.
  static bool streams(const Conv2dAttributes& a) {
    if (a.input_layout != ChannelLayout::kNhwc) return false;
    if (a.method == ConvMethod::kDepthwise) return true;
    if (a.kernel_h == 1) return a.stride_h == 1 && a.kernel_w == 1 && a.stride_w == 1;
    return a.kernel_h >= a.stride_h;
  }

  /// The instruction that continues the chain, -1 for none.
  int64_t next_of(uint32_t last, int64_t* weights) const {
    const int32_t between = at(last).outputs[0];
    const auto& readers = usage_.readers[size_t(between)];
    if (has_residual(at(last)) || lowered_->at(between).kind != ValueKind::kActivation ||
        readers.size() != 1 || usage_.writers[size_t(between)].size() != 1 ||
        readers[0].subprogram != subprogram_ || readers[0].slot != 0)
      return -1;
    const LoweredInstruction& next = at(readers[0].index);
    if (!works_by_rows(next) || !streams(conv(next)) || dead_[readers[0].index]) return -1;
    *weights += conv(next).method == ConvMethod::kDirect ? type(next.inputs[1]).elements() * 4 : 0;
    return *weights <= rule_.weight_bytes ? int64_t(readers[0].index) : -1;
  }

  void fuse_from(uint32_t first) {
    std::vector<uint32_t> run{first};
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
        widest = std::max(widest, type(at(run[k]).outputs[0]).elements() * 4);
      if (widest < rule_.least_bytes) return;
      if (try_chain(run)) return;
    }
  }

  bool try_chain(const std::vector<uint32_t>& run) {
    LoweredInstruction chain = make_chain(run);
    auto& attributes = std::get<ChainAttributes>(chain.attributes);
    for (uint32_t band = uint32_t(rule_.most_band_rows); band >= 1; band /= 2) {
      attributes.band_rows = band;
      const Arguments arguments(*lowered_, chain, typical_);
      Violation violation;
      if (!kChainContract.check(arguments.get(), &violation)) return false;
      conv::Extents extents[kMaxChainStages];
      conv::chain_extents(arguments.get(), extents);
      conv::ChainPlan plan;
      if (!conv::plan_chain(attributes, extents, &plan) ||
          plan.stage_offset > uint64_t(rule_.ring_bytes))
        continue;
      replace(run, std::move(chain), plan.stage_offset);
      return true;
    }
    return false;
  }

  LoweredInstruction make_chain(const std::vector<uint32_t>& run) const {
    LoweredInstruction chain;
    ChainAttributes attributes;
    attributes.stage_count = uint32_t(run.size());
    chain.inputs = {at(run[0]).inputs[0]};
    for (size_t k = 0; k < run.size(); k++) {
      const LoweredInstruction& stage = at(run[k]);
      attributes.stages[k] = conv(stage);
      chain.inputs.push_back(stage.inputs[1]);
      chain.inputs.push_back(stage.inputs.size() > 2 ? stage.inputs[2] : -1);
      chain.sources.insert(chain.sources.end(), stage.sources.begin(), stage.sources.end());
      chain.node += (k ? " + " : "") + stage.node;
    }
    const LoweredInstruction& last = at(run.back());
    if (has_residual(last)) chain.inputs.push_back(last.inputs[3]);
    chain.outputs = last.outputs;
    chain.attributes = attributes;
    return chain;
  }

  void replace(const std::vector<uint32_t>& run, LoweredInstruction chain, uint64_t rings) {
    int64_t saved = 0;
    for (size_t k = 0; k + 1 < run.size(); k++)
      saved += type(at(run[k]).outputs[0]).elements() * 4, dead_[run[k]] = true;
    chain.note = "chain of " + std::to_string(run.size()) + " in bands of " +
                 std::to_string(std::get<ChainAttributes>(chain.attributes).band_rows) +
                 " rows: " + std::to_string(saved >> 10) + " KiB of intermediates become " +
                 std::to_string(rings >> 10) + " KiB of rings a thread";
    lowered_->subprograms[subprogram_].instructions[run.back()] = std::move(chain);
    report_->chains++;
  }

  LoweredProgram* lowered_;
  const ChainRule& rule_;
  ConversionReport* report_;
  Usage usage_;
  Bindings typical_;
  uint32_t subprogram_ = 0;
  std::vector<bool> dead_;
};

}  // namespace

void fuse_chains(LoweredProgram* lowered, const ChainRule& rule, ConversionReport* report) {
  ChainFusion fusion(lowered, rule, report);
  for (uint32_t s = 0; s < lowered->subprograms.size(); s++) fusion.run(s);
}

}  // namespace ingot::convert
