// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_control.cpp - If: its branch where the condition is known, both where the
// run decides.
#include "tools/graph/data_dependent.h"
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

void Inference::inline_branch(Graph& branch, const std::vector<ValueId>& outputs) {
  for (Node& node : branch.nodes) visit(std::move(node));
  for (size_t i = 0; i < outputs.size(); i++) {
    if (outputs[i] != kAbsent) replace(outputs[i], resolve(branch.outputs[i]));
  }
}

/// False when the branch contradicts itself for these shapes: then the source never takes it with
/// them.
bool Inference::walk_branch(Graph& branch, const Node& node, bool of_then, std::string* why_not) {
  std::vector<Node>* const outer = out_;
  const int depth = depth_;
  if (!node.sources.empty()) places_.push_back({node.sources[0], of_then});
  struct Leave {
    std::vector<BranchPlace>& places;
    size_t size;
    ~Leave() { places.resize(size); }
  } leave{places_, places_.size() - !node.sources.empty()};
  try {
    const BranchGuard* guard = guard_of(node, of_then);
    const auto cuts = guard ? cuts_of(branch, *guard) : std::nullopt;
    if (cuts && !cuts->empty())
      walk_guarded(branch, node, *guard, *cuts);
    else
      walk(branch);
    return true;
  } catch (const ConversionError& error) {
    out_ = outer;
    depth_ = depth;
    *why_not = error.message;
    return false;
  }
}

/// Gives the outputs of an If the types that both branches give them; false when the shapes differ
/// and cannot be joined.
bool Inference::merge_branches(Node& node, Graph& then_branch, Graph& else_branch,
                               bool can_join_extents, std::vector<Cut>* cuts,
                               std::string* why_not) {
  const size_t count = node.outputs.size();
  for (size_t i = 0; i < count; i++) {
    if (node.outputs[i] == kAbsent) continue;
    if (!known(then_branch.outputs[i]) || !known(else_branch.outputs[i])) continue;
    if (can_join_extents) join_ranks(node, then_branch, else_branch, i);
    const Value a = value(then_branch.outputs[i]);
    const Value b = value(else_branch.outputs[i]);
    if (a.dtype != b.dtype) {
      fail_corrupt(describe(node), "output " + std::to_string(i) + " is " + dtype_text(a.dtype) +
                                       " in one branch and " + dtype_text(b.dtype) +
                                       " in the other");
    }
    if (a.dims != b.dims && can_join_extents && can_join(node, then_branch, else_branch, i)) {
      join_output(node, then_branch, else_branch, i, cuts);
      continue;
    }
    if (a.dims != b.dims) {
      *why_not = "output " + std::to_string(i) + " has shape " + text(a.dims) +
                 " in one branch and " + text(b.dims) + " in the other";
      return false;
    }
    Value& output = model.values[size_t(node.outputs[i])];
    output.dims = a.dims;
    output.dtype = a.dtype;
    output.shape_known = true;
  }
  return true;
}

/// The one branch that can run with these shapes stays; a run that would take the other ends with
/// an error.
void Inference::keep_branch(Node& node, bool taken, const std::string& why) {
  const Graph& kept = *node.subgraph(taken ? attr::then_branch : attr::else_branch);
  node.attributes.erase(taken ? attr::else_branch : attr::then_branch);
  for (size_t i = 0; i < node.outputs.size(); i++) {
    if (node.outputs[i] == kAbsent || !known(kept.outputs[i])) continue;
    const Value from = value(kept.outputs[i]);
    Value& output = model.values[size_t(node.outputs[i])];
    output.dims = from.dims;
    output.dtype = from.dtype;
    output.shape_known = true;
  }
  model.notes.push_back(describe(node) + ": its " + (taken ? "else" : "then") +
                        "-branch cannot run with these shapes (" + why +
                        "); a run that takes it ends with an error");
  out_->push_back(std::move(node));
}

void Inference::infer_if(Node& node) {
  auto then_branch = node.subgraph(attr::then_branch),
       else_branch = node.subgraph(attr::else_branch);
  if ((!then_branch && !else_branch) || node.inputs.size() != 1)
    fail_corrupt(describe(node), "lacks a branch or its condition");
  if (!then_branch || !else_branch) {  // left out in an earlier walk
    walk(then_branch ? *then_branch : *else_branch);
    out_->push_back(std::move(node));
    return;
  }
  const auto condition = contents(node.inputs[0]);
  const Scalar told = condition && condition->size() == 1 ? (*condition)[0] : Scalar();
  std::optional<bool> taken;
  if (told.number()) taken = *told.number() != 0;
  if (told.kind == Scalar::Kind::kTruth) taken = answer(*told.comparison);
  if (taken) return inline_branch(*taken ? *then_branch : *else_branch, node.outputs);
  if (value(node.inputs[0]).dims.size() == 1 && !product(value(node.inputs[0]).dims).value()) {
    NodeContext context(*this, node);  // the run says how many there are: the first of them
    node.inputs[0] = context.make(op::Gather, {node.inputs[0], context.scalar(DType::kI64, 0)},
                                  {{attr::axis, int64_t(0)}});
  }
  const Value& given = value(node.inputs[0]);
  const auto elements = product(given.dims).value();
  if (given.dtype != DType::kBool || !elements || *elements != 1) {
    fail_corrupt(describe(node), "its condition is " + std::string(dtype_text(given.dtype)) + " " +
                                     text(given.dims) + ", expected one bool");
  }
  const size_t before = unsupported_->size();
  std::string why;
  const bool then_runs = walk_branch(*then_branch, node, true, &why),
             else_runs = walk_branch(*else_branch, node, false, &why);
  for (const auto& branch : {then_branch, else_branch})
    for (const ValueId id : branch->outputs) refuse_sequence(resolve(id));
  const bool both_run = then_runs && else_runs;
  const bool by_data = told.kind != Scalar::Kind::kTruth ||
                       is_data_dependent(model, Dims{told.comparison->a, told.comparison->b});
  if (then_runs != else_runs && by_data && unsupported_->size() == before)
    return keep_branch(node, then_runs, why);
  if (!both_run) why = "a branch cannot run with these shapes (" + why + ")";
  const bool whole = both_run && unsupported_->size() == before;
  std::vector<Cut> cuts;
  if (!both_run ||
      (whole && !merge_branches(node, *then_branch, *else_branch, by_data, &cuts, &why))) {
    if (!by_data && asks_)
      throw Undecided{describe(node), *told.comparison,
                      places_.empty() ? std::nullopt : std::optional(places_.back())};
    throw Refusal{"",
                  why + (!by_data ? ": it depends on whether " + told.comparison->text()
                                  : ": it depends on data"),
                  "bind the dimensions, or export a model without this branch"};
  }
  const Node place = node;
  out_->push_back(std::move(node));
  for (const Cut& cut : cuts) place_cut(cut, place);
}

}  // namespace ingot::graph
