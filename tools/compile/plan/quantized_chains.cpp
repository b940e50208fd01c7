// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/quantized_chains.cpp - see quantized_chains.h.
#include "tools/compile/plan/quantized_chains.h"

#include <algorithm>

#include "runtime/op/quantized_chain.h"
#include "tools/compile/plan/runs.h"

namespace ingot::convert {
namespace {

class QuantizedChainFusion {
 public:
  QuantizedChainFusion(LoweredProgram* lowered, const QuantizedChainRule& rule,
                       ConversionReport* report)
      : runs_(lowered), rule_(rule), report_(report) {}

  void run(uint32_t subprogram) {
    runs_.sweep(subprogram, [&](uint32_t i) { fuse_from(i); });
  }

 private:
  bool is_convolution(int64_t index) const {
    return index >= 0 && runs_.at(uint32_t(index)).op() == OpCode::kQuantizedConv2d;
  }
  const QuantizedConv2dAttributes& attributes(uint32_t index) const {
    return std::get<QuantizedConv2dAttributes>(runs_.at(index).attributes);
  }

  /// The longest run from here that the contract and the rule take.
  void fuse_from(uint32_t first) {
    Run run;
    for (int64_t next = first; is_convolution(next) && run.size() < size_t(kMaxQuantizedStages);
         next = runs_.only_reader(run.back()))
      run.push_back(uint32_t(next));
    for (; run.size() > 1; run.pop_back())
      if (pays(run) && try_chain(run)) return;
  }

  bool pays(const Run& run) const {
    int64_t widest = 0, weights = 0;
    for (size_t k = 0; k < run.size(); k++) {
      if (attributes(run[k]).method != ConvMethod::kDepthwise)
        weights += runs_.type(runs_.at(run[k]).inputs[1]).elements();
      if (k + 1 < run.size()) widest = std::max(widest, runs_.output_bytes(run[k]));
    }
    return widest >= rule_.least_bytes && weights <= rule_.weight_bytes;
  }

  bool try_chain(const Run& run) {
    LoweredInstruction chain = runs_.join(run);
    QuantizedChainAttributes t;
    t.stage_count = uint32_t(run.size());
    for (size_t k = 0; k < run.size(); k++) t.stages[k] = attributes(run[k]);
    for (uint32_t band = uint32_t(rule_.most_band_rows); band >= 1; band /= 2) {
      t.band_rows = band;
      chain.attributes = t;
      const Arguments arguments(runs_.lowered(), chain, runs_.typical());
      Violation violation;
      if (!kQuantizedChainContract.check(arguments.get(), &violation)) return false;
      quantized::ChainStages stages;
      quantized::ChainWindows windows;
      quantized::chain_stages(arguments.get(), &stages);
      if (!quantized::chain_windows(t, stages, &windows) ||
          windows.bytes > uint64_t(rule_.window_bytes))
        continue;
      runs_.replace(run, std::move(chain), band, windows.bytes);
      report_->chains++;
      return true;
    }
    return false;
  }

  Runs runs_;
  const QuantizedChainRule& rule_;
  ConversionReport* report_;
};

}  // namespace

void fuse_quantized_chains(LoweredProgram* lowered, const QuantizedChainRule& rule,
                           ConversionReport* report) {
  QuantizedChainFusion fusion(lowered, rule, report);
  for (uint32_t s = 0; s < lowered->subprograms.size(); s++) fusion.run(s);
}

}  // namespace ingot::convert
