// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/row_spacing.cpp - see row_spacing.h.
#include "tools/compile/plan/row_spacing.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/op/conv_blocks.h"
#include "runtime/op/linear.h"

namespace ingot::convert {
namespace {

constexpr int64_t kLeastRows = 8;  // as many places has such an address in the smallest L1 caches

class RowSpacing {
 public:
  RowSpacing(LoweredProgram* lowered, ViewTree* tree)
      : lowered_(lowered),
        tree_(tree),
        typical_(typical_binding(*lowered)),
        group_(lowered->values.size()) {
    std::iota(group_.begin(), group_.end(), 0);
  }

  void run() {
    std::vector<int32_t> wanted;
    for (int32_t id = 0; id < int32_t(lowered_->values.size()); id++)
      if (may_be_spaced(id) && is_wanted(id)) wanted.push_back(id);
    if (wanted.empty()) return;
    join_places();
    std::map<int32_t, std::vector<int32_t>> members;
    for (const int32_t id : wanted) members[group_of(id)] = {};
    for (int32_t id = 0; id < int32_t(lowered_->values.size()); id++)
      if (const auto found = members.find(group_of(id)); found != members.end())
        found->second.push_back(id);
    for (const auto& [group, ids] : members) space(ids);
  }

 private:
  bool may_be_spaced(int32_t id) const {
    const LoweredValue& value = lowered_->at(id);
    return value.kind == ValueKind::kActivation && value.alias == AliasKind::kNone &&
           !value.carried() && value.dtype == DType::kF32 && !value.dims.empty() &&
           value.dims.back().is_static() && !is_data_dependent(*lowered_, id);
  }

  const LoweredInstruction& instruction_at(const Use& use) const {
    return lowered_->subprograms[use.subprogram].instructions[use.index];
  }

  /// Whether an instruction reads a column of rows of its first operand. Strided ones do so with
  /// rows of half the length, too: that layer is not worth a larger arena.
  static bool reads_column(const LoweredInstruction& instruction) {
    const auto* conv = std::get_if<Conv2dAttributes>(&instruction.attributes);
    if (const auto* chain = std::get_if<ChainAttributes>(&instruction.attributes))
      conv = &chain->stages[0];
    if (conv)
      return conv->method == ConvMethod::kDirect && conv->kernel_h == 1 && conv->kernel_w == 1 &&
             !conv::needs_band(*conv);
    const size_t scales = size_t(linear_weights::kScales);
    return instruction.op() == OpCode::kLinear &&
           (instruction.inputs.size() <= scales || instruction.inputs[scales] < 0);
  }

  /// Whether a reader of it, or of a view of its rows, wants them apart.
  bool is_wanted(int32_t id) const {
    const SymbolicDim& length = lowered_->at(id).dims.back();
    const int64_t n = *length.value();
    if (conv::row_distance(n, 1) == n) return false;
    for (const Use& use : tree_->usage().readers[size_t(id)])
      if (use.slot == 0 && reads_column(instruction_at(use)) &&
          evaluate_type(lowered_->at(instruction_at(use).outputs[0]), typical_).rows() >=
              kLeastRows)
        return true;
    const auto& views = tree_->children(id);
    return std::any_of(views.begin(), views.end(), [&](int32_t view) {
      return !lowered_->at(view).dims.empty() && lowered_->at(view).dims.back() == length &&
             is_wanted(view);
    });
  }

  int32_t group_of(int32_t id) {
    while (group_[size_t(id)] != id) id = group_[size_t(id)] = group_[size_t(group_[size_t(id)])];
    return id;
  }

  /// Results that may take the place of an operand do so only with rows as far apart.
  void join_places() {
    for (const LoweredSubprogram& subprogram : lowered_->subprograms)
      for (const LoweredInstruction& instruction : subprogram.instructions) {
        const OpContract* contract = contract_of(instruction.op());
        if (!contract->in_place || instruction.outputs.empty() || instruction.outputs[0] < 0)
          continue;
        const uint32_t mask = contract->in_place(Arguments(*lowered_, instruction, typical_).get());
        const int32_t y = lowered_->root(instruction.outputs[0]);
        for (size_t i = 0; i < instruction.inputs.size() && i < 32; i++)
          if ((mask >> i & 1) && instruction.inputs[i] >= 0)
            if (const int32_t x = lowered_->root(instruction.inputs[i]);
                may_be_spaced(x) && may_be_spaced(y) &&
                lowered_->at(x).dims.back() == lowered_->at(y).dims.back())
              group_[size_t(group_of(x))] = group_of(y);
      }
  }

  void space(const std::vector<int32_t>& ids) {
    const SymbolicDim stride = lowered_->at(ids[0]).dims.back() + SymbolicDim(conv::kRowGap);
    size_t done = 0;
    while (done < ids.size() && tree_->space(ids[done], stride)) done++;
    if (done == ids.size()) return;
    while (done > 0) tree_->space(ids[--done], 0);
  }

  LoweredProgram* lowered_;
  ViewTree* tree_;
  const Bindings typical_;
  std::vector<int32_t> group_;  // by value: another of its group, or itself
};

}  // namespace

void space_rows(LoweredProgram* lowered, ViewTree* tree) {
  if (lowered->is_for_core) return;
  RowSpacing(lowered, tree).run();
}

}  // namespace ingot::convert
