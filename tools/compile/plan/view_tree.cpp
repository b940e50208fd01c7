// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/view_tree.cpp - see view_tree.h.
#include "tools/compile/plan/view_tree.h"

#include <algorithm>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

constexpr size_t kMaxMoved = 4096;  // values of one storage that become part of another

bool allows(uint32_t mask, uint32_t slot) { return (mask >> std::min(slot, 31u) & 1) != 0; }

bool same(const Use& a, const Use& b) { return a.subprogram == b.subprogram && a.index == b.index; }

/// Elements of both are the same in number for every binding.
bool same_count(const Dims& a, const Dims& b) { return graph::product(a) == graph::product(b); }

}  // namespace

ViewTree::ViewTree(LoweredProgram* lowered)
    : lowered_(lowered), usage_(*lowered), trials_(trial_bindings(*lowered)) {
  grow();
}

void ViewTree::grow() {
  children_.resize(lowered_->values.size());
  relations_.resize(lowered_->values.size());
  usage_.readers.resize(lowered_->values.size());
  usage_.writers.resize(lowered_->values.size());
  strides_.resize(lowered_->values.size());
  for (size_t i = above_.size(); i < lowered_->values.size(); i++) above_.push_back(int32_t(i));
}

void ViewTree::forget(const Use& where) {
  const LoweredInstruction& instruction =
      lowered_->subprograms[where.subprogram].instructions[where.index];
  const auto drop = [&](std::vector<Use>* uses) {
    uses->erase(std::remove_if(uses->begin(), uses->end(),
                               [&](const Use& use) { return same(use, where); }),
                uses->end());
  };
  for (const int32_t id : instruction.inputs)
    if (id >= 0) drop(&usage_.readers[size_t(id)]);
  for (const int32_t id : instruction.outputs)
    if (id >= 0) drop(&usage_.writers[size_t(id)]);
}

/// Places `value` from its parent, then all below it; what was there before goes to `saved`.
bool ViewTree::place(int32_t value, std::vector<Saved>* saved) {
  LoweredValue& own = lowered_->at(value);
  if (own.alias != AliasKind::kNone) {
    const LoweredValue& parent = lowered_->at(own.alias_of);
    const auto placed =
        place_view({parent.dims, parent.row_stride}, relations_[size_t(value)], own.dims);
    if (!placed) return false;
    saved->push_back({value, own});
    own.alias_offset = placed->offset;
    own.row_stride = placed->row_stride;
  }
  return std::all_of(children_[size_t(value)].begin(), children_[size_t(value)].end(),
                     [&](int32_t child) { return place(child, saved); });
}

std::string ViewTree::why_use_refused(int32_t value, const Use& use, bool writes) {
  const LoweredInstruction& instruction =
      lowered_->subprograms[use.subprogram].instructions[use.index];
  const OpContract* contract = contract_of(instruction.op());
  const std::string who = std::string(op_name(instruction.op())) +
                          (instruction.node.empty() ? "" : " '" + instruction.node + "'");
  if (!allows(writes ? contract->strided_outputs : contract->strided_inputs, use.slot))
    return who + (writes ? " writes dense rows only" : " reads dense rows only");
  Violation violation;
  for (const Bindings& bindings : trials_)
    if (!contract->check(Arguments(*lowered_, instruction, bindings).get(), &violation))
      return who + ": " + violation.rule;
  const Arguments arguments(*lowered_, instruction, trials_[0]);
  if (is_control(instruction.op()) ||
      find_kernel(*cpu_kernels("scalar"), instruction.op(), arguments.get()))
    return "";
  // A kernel that is missing for dense rows too is no reason against the view.
  const SymbolicDim stride = lowered_->at(value).row_stride;
  lowered_->at(value).row_stride = 0;
  const Arguments dense(*lowered_, instruction, trials_[0]);
  lowered_->at(value).row_stride = stride;
  return find_kernel(*cpu_kernels("scalar"), instruction.op(), dense.get())
             ? who + " has no kernel for rows with gaps"
             : "";
}

/// Asks every reader and writer of a value whose rows have gaps, and of all that views it.
std::string ViewTree::why_refused(int32_t value) {
  const LoweredValue& own = lowered_->at(value);
  if (!is_dense({own.dims, own.row_stride})) {
    for (const Use& use : usage_.readers[size_t(value)])
      if (std::string why = why_use_refused(value, use, false); !why.empty()) return why;
    for (const Use& use : usage_.writers[size_t(value)])
      if (std::string why = why_use_refused(value, use, true); !why.empty()) return why;
  }
  for (const int32_t child : children_[size_t(value)])
    if (std::string why = why_refused(child); !why.empty()) return why;
  return "";
}

/// What has data-dependent extents lies at the start of its storage, row after row, so that no
/// number moves it.
std::string ViewTree::why_unresolvable(int32_t value) {
  LoweredValue& own = lowered_->at(value);
  if (own.alias != AliasKind::kNone &&
      (is_data_dependent(*lowered_, value) || is_data_dependent(*lowered_, own.alias_of))) {
    const bool starts = own.alias_offset.value() == std::optional<int64_t>(0);
    if (!is_data_dependent(*lowered_, value) || !is_data_dependent(*lowered_, own.alias_of) ||
        !starts || !is_dense({own.dims, own.row_stride}))
      return "its extents are measured when it runs";
    own.row_stride = 0;
  }
  for (const int32_t child : children_[size_t(value)])
    if (std::string why = why_unresolvable(child); !why.empty()) return why;
  return "";
}

void ViewTree::gather_strides(int32_t value, const Bindings& bindings,
                              std::set<int64_t>* strides) const {
  const TensorType type = evaluate_type(lowered_->at(value), bindings);
  if (!type.is_dense() && type.row_length() > 0) strides->insert(type.row_stride);
  for (const int32_t child : children_[size_t(value)]) gather_strides(child, bindings, strides);
}

/// Whether strides divide each other.
bool ViewTree::nest(const std::set<int64_t>& strides) {
  int64_t finer = 1;
  for (const int64_t stride : strides) {  // ascending: each by the one before is by all before
    if (stride % finer != 0) return false;
    finer = stride;
  }
  return true;
}

/// The validation of a file counts which elements of a storage were written, exactly where the
/// strides of its views nest (runtime/format/region.h).
bool ViewTree::strides_nest(int32_t root, int32_t child) {
  std::vector<std::set<int64_t>>& known = strides_[size_t(root)];
  if (known.empty()) {
    known.resize(trials_.size());
    for (size_t t = 0; t < trials_.size(); t++) gather_strides(root, trials_[t], &known[t]);
  }
  std::vector<std::set<int64_t>> own(trials_.size());
  for (size_t t = 0; t < trials_.size(); t++) {
    gather_strides(child, trials_[t], &own[t]);
    std::set<int64_t> all = known[t];
    all.insert(own[t].begin(), own[t].end());
    if (!nest(all)) return false;
  }
  for (size_t t = 0; t < trials_.size(); t++) known[t].insert(own[t].begin(), own[t].end());
  return true;
}

int32_t ViewTree::root_of(int32_t value) {
  int32_t root = value;
  uint64_t walked = 0;
  while (above_[size_t(root)] != root || is_alias(root)) {
    root = above_[size_t(root)] != root ? above_[size_t(root)] : lowered_->at(root).alias_of;
    walked++;
  }
  host::charge_work(walked);
  while (value != root) {
    const int32_t next =
        above_[size_t(value)] != value ? above_[size_t(value)] : lowered_->at(value).alias_of;
    above_[size_t(value)] = root;
    value = next;
  }
  return root;
}

/// How many values lie in the storage of one, itself included; counted up to `most`.
size_t ViewTree::tree_size(int32_t value, size_t most) const {
  size_t count = 1;
  for (const int32_t child : children_[size_t(value)]) {
    if (count >= most) break;
    count += tree_size(child, most - count);
  }
  return count;
}

std::string ViewTree::attach(int32_t child, int32_t parent, const ViewOf& relation) {
  LoweredValue& own = lowered_->at(child);
  if (own.alias != AliasKind::kNone) return "'" + own.name + "' already is a view";
  if (own.kind != ValueKind::kActivation)
    return "'" + own.name + "' is an input, an output or a constant";
  if (lowered_->at(parent).kind == ValueKind::kConstant)
    return "'" + lowered_->at(parent).name + "' is a constant";
  if (own.dtype != lowered_->at(parent).dtype) return "the element types differ";
  const int32_t root = root_of(parent);
  if (root == child) return "it would be a view of itself";
  // All that views it is placed again: parts of parts of parts would else be placed once for each.
  const size_t size = tree_size(child, kMaxMoved + 1);
  host::charge_work(size);
  if (size > kMaxMoved) return "more values than " + std::to_string(kMaxMoved) + " lie in it";
  const LoweredValue before = own;
  own.alias = AliasKind::kView;
  own.alias_of = parent;
  relations_[size_t(child)] = relation;
  std::vector<Saved> saved;
  std::string why;
  if (!place(child, &saved)) why = "its rows would not be evenly spaced";
  if (why.empty() && !lowered_->data_dependent.empty()) why = why_unresolvable(child);
  if (why.empty()) why = why_refused(child);
  if (why.empty() && !strides_nest(root, child))
    why = "row strides that do not divide each other cannot be proved";
  if (why.empty()) {
    children_[size_t(parent)].push_back(child);
    strides_[size_t(child)].clear();
    return "";
  }
  for (auto it = saved.rbegin(); it != saved.rend(); ++it) lowered_->at(it->value) = it->before;
  lowered_->at(child) = before;
  relations_[size_t(child)] = ViewOf{};
  return why;
}

bool ViewTree::space(int32_t root, const SymbolicDim& row_stride) {
  LoweredValue& own = lowered_->at(root);
  std::vector<Saved> saved = {{root, own}};
  own.row_stride = row_stride;
  bool takes = place(root, &saved) && why_refused(root).empty();
  strides_[size_t(root)].clear();
  for (size_t t = 0; takes && t < trials_.size(); t++) {
    std::set<int64_t> strides;
    gather_strides(root, trials_[t], &strides);
    takes = nest(strides);
  }
  for (auto it = saved.rbegin(); !takes && it != saved.rend(); ++it)
    lowered_->at(it->value) = it->before;
  return takes;
}

bool ViewTree::make_root(int32_t view) {
  LoweredValue& own = lowered_->at(view);
  if (own.alias != AliasKind::kView) return false;
  const int32_t root = own.alias_of;
  if (lowered_->at(root).alias != AliasKind::kNone ||
      lowered_->at(root).kind != ValueKind::kActivation)
    return false;
  if (relations_[size_t(view)].kind != ViewOf::Kind::kReshape ||
      !same_count(own.dims, lowered_->at(root).dims))
    return false;
  for (size_t i = 0; i < above_.size(); i++) above_[i] = int32_t(i);
  host::charge_work(above_.size() / 64);
  strides_[size_t(root)].clear();
  strides_[size_t(view)].clear();
  own.alias = AliasKind::kNone;
  own.alias_of = -1;
  own.alias_offset = 0;
  auto& siblings = children_[size_t(root)];
  siblings.erase(std::find(siblings.begin(), siblings.end(), view));
  relations_[size_t(root)] = ViewOf{};
  LoweredValue& below = lowered_->at(root);
  below.alias = AliasKind::kView;
  below.alias_of = view;
  below.alias_offset = 0;
  children_[size_t(view)].push_back(root);
  return true;
}

}  // namespace ingot::convert
