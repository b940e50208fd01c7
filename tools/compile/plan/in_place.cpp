// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/in_place.cpp - see in_place.h.
#include "tools/compile/plan/in_place.h"

#include <algorithm>

#include "tools/compile/program/layout.h"
#include "tools/compile/program/roots.h"
#include "tools/compile/program/usage.h"

namespace ingot::convert {
namespace {

class InPlace {
 public:
  explicit InPlace(LoweredProgram* lowered)
      : lowered_(lowered),
        roots_(*lowered),
        usage_(*lowered),
        order_(*lowered),
        trials_(trial_bindings(*lowered)),
        last_(lowered->values.size(), 0) {
    for (int32_t id = 0; id < int32_t(lowered->values.size()); id++) {
      uint32_t& last = last_[size_t(roots_.of(id))];
      const uint32_t since = order_.loops.empty() ? 0 : first_use(id);
      for (const Use& use : usage_.readers[size_t(id)])
        last = std::max(last, order_.last_use(since, order_.at(use)));
      for (const Use& use : usage_.writers[size_t(id)]) last = std::max(last, order_.at(use));
    }
  }

  uint32_t run() {
    visit_subprogram(0);
    return count_;
  }

 private:
  /// Position of the first instruction that writes a value or what it is a view of; 0 for an input.
  uint32_t first_use(int32_t id) {
    const int32_t root = roots_.of(id);
    if (lowered_->at(root).kind == ValueKind::kInput ||
        lowered_->at(root).kind == ValueKind::kState)
      return 0;
    uint32_t first = order_.length;
    for (;; id = lowered_->at(id).alias_of) {
      for (const Use& use : usage_.writers[size_t(id)]) first = std::min(first, order_.at(use));
      if (lowered_->at(id).alias == AliasKind::kNone) return first == order_.length ? 0 : first;
    }
  }
  void visit_subprogram(uint32_t subprogram) {
    auto& instructions = lowered_->subprograms[subprogram].instructions;
    for (uint32_t i = 0; i < instructions.size(); i++) {
      for (const uint32_t callee : callees_of(instructions[i])) visit_subprogram(callee);
      if (!is_control(instructions[i].op())) visit(instructions[i], order_.position[subprogram][i]);
    }
  }

  void visit(const LoweredInstruction& instruction, uint32_t position) {
    const OpContract* contract = contract_of(instruction.op());
    if (!contract->in_place || instruction.outputs.empty() || instruction.outputs[0] < 0) return;
    const int32_t y = instruction.outputs[0];
    const LoweredValue& result = lowered_->at(y);
    if (result.alias != AliasKind::kNone || result.kind != ValueKind::kActivation ||
        usage_.writers[size_t(y)].size() != 1)
      return;
    if (contract->in_place_by_extents && !has_fixed_dims(result)) return;
    uint32_t mask = ~0u;
    for (const Bindings& bindings : trials_)
      mask &= contract->in_place(Arguments(*lowered_, instruction, bindings).get());
    for (size_t i = 0; i < instruction.inputs.size() && i < 32; i++) {
      const int32_t x = instruction.inputs[i];
      if ((mask >> i & 1) == 0 || x < 0 || !may_overwrite(instruction, x, y, position, mask))
        continue;
      overwrite(x, y);
      return;
    }
  }

  /// Of everything but a batch.
  static bool has_fixed_dims(const LoweredValue& value) {
    return !value.dims.empty() && std::all_of(value.dims.begin() + 1, value.dims.end(),
                                              [](const auto& dim) { return dim.is_static(); });
  }

  bool may_overwrite(const LoweredInstruction& instruction, int32_t x, int32_t y, uint32_t position,
                     uint32_t mask) {
    const int32_t root = roots_.of(x);
    if (lowered_->at(root).kind != ValueKind::kActivation || lowered_->at(root).carried())
      return false;
    if (last_[size_t(root)] > position) return false;
    if (is_assembled(x)) return false;
    if (is_data_dependent(*lowered_, x) != is_data_dependent(*lowered_, y)) return false;
    if (is_data_dependent(*lowered_, x) && lowered_->at(x).dims != lowered_->at(y).dims)
      return false;
    const RowLayout from{lowered_->at(x).dims, lowered_->at(x).row_stride},
        to{lowered_->at(y).dims, lowered_->at(y).row_stride};
    if (!(is_dense(from) && is_dense(to)) && from.row_stride != to.row_stride) return false;
    for (size_t k = 0; k < instruction.inputs.size(); k++) {
      const int32_t other = instruction.inputs[k];
      if (other < 0 || roots_.of(other) != root) continue;
      if (other != x || k >= 32 || (mask >> k & 1) == 0) return false;
    }
    for (size_t k = 1; k < instruction.outputs.size(); k++)
      if (instruction.outputs[k] >= 0 && roots_.of(instruction.outputs[k]) == root) return false;
    // A small result would keep a large storage alive.
    return elements(root) <= elements(y);
  }

  /// Written in parts by several instructions: a file may not overwrite that as a whole.
  bool is_assembled(int32_t id) const {
    while (usage_.writers[size_t(id)].empty() && lowered_->at(id).alias == AliasKind::kView)
      id = lowered_->at(id).alias_of;
    return usage_.writers[size_t(id)].empty();
  }

  int64_t elements(int32_t id) const {
    const TensorType type = evaluate_type(lowered_->at(id), trials_[0]);
    return type.elements() * dtype_bytes(type.dtype);
  }

  void overwrite(int32_t x, int32_t y) {
    LoweredValue& result = lowered_->at(y);
    last_[size_t(roots_.of(x))] = std::max(last_[size_t(roots_.of(x))], last_[size_t(y)]);
    result.alias = AliasKind::kInPlace;
    result.alias_of = x;
    result.alias_offset = 0;
    count_++;
  }

  LoweredProgram* lowered_;
  Roots roots_;
  Usage usage_;
  RunOrder order_;
  std::vector<Bindings> trials_;
  std::vector<uint32_t> last_;  // by root: position of the last access to its storage
  uint32_t count_ = 0;
};

}  // namespace

uint32_t apply_in_place(LoweredProgram* lowered) { return InPlace(lowered).run(); }

}  // namespace ingot::convert
