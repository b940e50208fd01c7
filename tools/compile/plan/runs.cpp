// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/runs.cpp - see runs.h.
#include "tools/compile/plan/runs.h"

namespace ingot::convert {

int64_t Runs::output_bytes(uint32_t index) const {
  const TensorType y = type(at(index).outputs[0]);
  return y.elements() * dtype_bytes(y.dtype);
}

int64_t Runs::only_reader(uint32_t index) const {
  const int32_t between = at(index).outputs[0];
  const auto& readers = usage_.readers[size_t(between)];
  if (lowered_->at(between).kind != ValueKind::kActivation || readers.size() != 1 ||
      usage_.writers[size_t(between)].size() != 1 || readers[0].subprogram != subprogram_ ||
      readers[0].slot != 0 || dead_[readers[0].index])
    return -1;
  return readers[0].index;
}

LoweredInstruction Runs::join(const Run& run) const {
  LoweredInstruction chain;
  chain.inputs = {at(run[0]).inputs[0]};
  for (const uint32_t index : run) {
    const LoweredInstruction& stage = at(index);
    chain.inputs.push_back(stage.inputs[1]);
    chain.inputs.push_back(stage.inputs.size() > 2 ? stage.inputs[2] : -1);
    chain.sources.insert(chain.sources.end(), stage.sources.begin(), stage.sources.end());
    chain.node += (index != run[0] ? " + " : "") + stage.node;
  }
  chain.outputs = at(run.back()).outputs;
  return chain;
}

void Runs::replace(const Run& run, LoweredInstruction chain, uint32_t band_rows, uint64_t scratch) {
  int64_t saved = 0;
  for (size_t k = 0; k + 1 < run.size(); k++) saved += output_bytes(run[k]), dead_[run[k]] = true;
  chain.note = "chain of " + std::to_string(run.size()) + " in bands of " +
               std::to_string(band_rows) + " rows: " + std::to_string(saved >> 10) +
               " KiB of intermediates become " + std::to_string(scratch >> 10) +
               " KiB of rings a thread";
  lowered_->subprograms[subprogram_].instructions[run.back()] = std::move(chain);
}

}  // namespace ingot::convert
