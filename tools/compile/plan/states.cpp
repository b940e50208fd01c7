// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/states.cpp - see states.h. A state's update is the Copy of the main program
// that writes the state value.
#include "tools/compile/plan/states.h"

#include <algorithm>
#include <set>

#include "tools/compile/program/layout.h"
#include "tools/compile/program/usage.h"

namespace ingot::convert {
namespace {

bool is_update(const LoweredProgram& lowered, const LoweredInstruction& instruction) {
  return instruction.op() == OpCode::kCopy &&
         lowered.at(instruction.outputs[0]).kind == ValueKind::kState &&
         lowered.at(instruction.inputs[0]).dtype == lowered.at(instruction.outputs[0]).dtype;
}

/// Instructions of the main program that read, or write, what lies in one storage.
std::set<uint32_t> users_of(const LoweredProgram& lowered,
                            const std::vector<std::vector<Use>>& uses, int32_t root) {
  std::set<uint32_t> found;
  for (int32_t id = 0; id < int32_t(lowered.values.size()); id++)
    if (lowered.root(id) == root)
      for (const Use& use : uses[size_t(id)])
        if (use.subprogram == 0) found.insert(use.index);
  return found;
}

/// The result takes the whole of its storage, from the first byte to the last, for every binding.
bool fills(const LoweredProgram& lowered, int32_t id, int32_t root) {
  const LoweredValue &value = lowered.at(id), &whole = lowered.at(root);
  for (int32_t at = id; at != root; at = lowered.at(at).alias_of)
    if (lowered.at(at).alias_offset != SymbolicDim(0)) return false;
  return dtype_bytes(value.dtype) == dtype_bytes(whole.dtype) &&
         is_dense({value.dims, value.row_stride}) && is_dense({whole.dims, whole.row_stride}) &&
         graph::product(value.dims) == graph::product(whole.dims);
}

class Updates {
 public:
  explicit Updates(LoweredProgram* lowered)
      : lowered_(lowered), usage_(*lowered), order_(*lowered), trials_(trial_bindings(*lowered)) {
    for (const LoweredSubprogram& subprogram : lowered->subprograms)
      for (const LoweredInstruction& instruction : subprogram.instructions)
        if (instruction.op() == OpCode::kIf)
          results_of_if_.insert(instruction.outputs.begin(), instruction.outputs.end());
  }

  uint32_t run() {
    auto& instructions = lowered_->subprograms[0].instructions;
    std::set<uint32_t> dropped;
    for (uint32_t i = 0; i < instructions.size(); i++)
      if (is_update(*lowered_, instructions[i]) && place(i)) dropped.insert(i);
    std::vector<LoweredInstruction> kept;
    for (uint32_t i = 0; i < instructions.size(); i++)
      if (!dropped.count(i)) kept.push_back(std::move(instructions[i]));
    instructions = std::move(kept);
    return uint32_t(dropped.size());
  }

 private:
  bool place(uint32_t update) {
    const LoweredInstruction& copy = lowered_->subprograms[0].instructions[update];
    const int32_t state = copy.outputs[0], root = lowered_->root(copy.inputs[0]);
    if (lowered_->at(root).kind != ValueKind::kActivation ||
        lowered_->at(root).dtype != lowered_->at(state).dtype)
      return false;
    if (!fills(*lowered_, copy.inputs[0], root)) return false;
    if (graph::product(lowered_->at(root).dims) != graph::product(lowered_->at(state).dims))
      return false;
    uint32_t first_write = order_.length;
    for (int32_t id = 0; id < int32_t(lowered_->values.size()); id++) {
      if (lowered_->root(id) != root) continue;
      if (results_of_if_.count(id)) return false;
      for (const Use& use : usage_.writers[size_t(id)]) {
        if (use.subprogram != 0) return false;
        first_write = std::min(first_write, order_.at(use));
      }
    }
    int32_t overwritten = -1;
    for (int32_t id = 0; id < int32_t(lowered_->values.size()); id++) {
      if (lowered_->root(id) != state) continue;
      for (const Use& use : usage_.readers[size_t(id)]) {
        if (order_.at(use) < first_write) continue;
        if (order_.at(use) > first_write) return false;
        if (overwritten >= 0 && overwritten != id) return false;
        overwritten = id;
      }
    }
    if (overwritten >= 0 && !may_overwrite(overwritten, state, root)) return false;
    LoweredValue& result = lowered_->at(root);
    result.alias = overwritten < 0 ? AliasKind::kView : AliasKind::kInPlace;
    result.alias_of = overwritten < 0 ? state : overwritten;
    result.alias_offset = 0;
    return true;
  }

  /// The instruction that computes the next value reads the state there for the last time and may
  /// write over it.
  bool may_overwrite(int32_t operand, int32_t state, int32_t result) const {
    if (usage_.writers[size_t(result)].size() != 1 || !fills(*lowered_, operand, state))
      return false;
    const Use& writer = usage_.writers[size_t(result)][0];
    const LoweredInstruction& instruction =
        lowered_->subprograms[writer.subprogram].instructions[writer.index];
    const OpContract* contract = contract_of(instruction.op());
    if (!contract->in_place || writer.slot != 0) return false;
    uint32_t mask = ~0u;
    for (const Bindings& bindings : trials_)
      mask &= contract->in_place(Arguments(*lowered_, instruction, bindings).get());
    for (size_t k = 0; k < instruction.inputs.size(); k++)
      if (instruction.inputs[k] == operand && (k >= 32 || (mask >> k & 1) == 0)) return false;
    return true;
  }

  LoweredProgram* lowered_;
  Usage usage_;
  RunOrder order_;
  std::vector<Bindings> trials_;
  std::set<int32_t> results_of_if_;
};

}  // namespace

void part_state_reads(LoweredProgram* lowered) {
  auto& instructions = lowered->subprograms[0].instructions;
  const auto first =
      std::find_if(instructions.begin(), instructions.end(),
                   [&](const LoweredInstruction& i) { return is_update(*lowered, i); });
  std::vector<LoweredInstruction> parted, kept;
  for (auto it = first; it != instructions.end(); ++it) {
    const int32_t from = it->inputs[0];
    if (!is_update(*lowered, *it) || lowered->at(lowered->root(from)).kind != ValueKind::kState) {
      kept.push_back(*it);
      continue;
    }
    const int32_t state = it->outputs[0];
    if (lowered->root(from) == state && fills(*lowered, from, state))
      continue;  // it keeps its value
    LoweredValue before;
    before.name = lowered->at(from).name + "/before";
    before.dtype = lowered->at(from).dtype;
    before.dims = lowered->at(from).dims;
    LoweredInstruction copy = *it;
    copy.outputs = {lowered->add(std::move(before))};
    copy.note = "a state as it was before this run";
    kept.push_back(*it);
    kept.back().inputs = copy.outputs;
    parted.push_back(std::move(copy));
  }
  instructions.erase(first, instructions.end());
  instructions.insert(instructions.end(), parted.begin(), parted.end());
  instructions.insert(instructions.end(), kept.begin(), kept.end());
}

void order_updates(const LoweredProgram& lowered, Dependencies* dependencies) {
  if (lowered.states.empty()) return;
  const Usage usage(lowered);
  const auto& instructions = lowered.subprograms[0].instructions;
  auto& before = dependencies->before;
  for (uint32_t update = 0; update < instructions.size(); update++) {
    if (!is_update(lowered, instructions[update])) continue;
    const int32_t next = lowered.root(instructions[update].inputs[0]);
    if (lowered.at(next).kind != ValueKind::kActivation) continue;
    std::set<uint32_t> readers, writers = users_of(lowered, usage.writers, next);
    for (uint32_t i = 0; i < instructions.size(); i++) {
      const auto& touched = dependencies->touches[i];
      if (i != update &&
          std::count(touched.begin(), touched.end(), instructions[update].outputs[0]))
        readers.insert(i);
    }
    std::set<uint32_t> earlier;  // all that the readers wait for
    std::vector<uint32_t> open(readers.begin(), readers.end());
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t i : before[at])
        if (earlier.insert(i).second) open.push_back(i);
    }
    // Parts of the next value that are computed from the state keep each other from overwriting it.
    if (std::any_of(writers.begin(), writers.end(), [&](uint32_t w) {
          return earlier.count(w) != 0 || (writers.size() > 1 && readers.count(w) != 0);
        }))
      continue;
    for (const uint32_t writer : writers) {
      std::set<uint32_t> all(before[writer].begin(), before[writer].end());
      for (const uint32_t reader : readers)
        if (reader != writer) all.insert(reader);
      before[writer].assign(all.begin(), all.end());
    }
  }
}

uint32_t update_states_in_place(LoweredProgram* lowered) {
  return lowered->states.empty() ? 0 : Updates(lowered).run();
}

}  // namespace ingot::convert
