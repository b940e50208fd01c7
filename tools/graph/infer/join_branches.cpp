// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/join_branches.cpp - an If whose branches give other extents: each branch pads
// what it gives to the most of both and says how many elements count; behind the If they are cut to
// that number.
#include "tools/graph/data_dependent.h"
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// A dim without the symbols that only a branch knows: each at its bound.
Dim Inference::bound_outside(const Dim& dim, const Graph& branch) const {
  std::map<std::string, Dim> bounds;
  for (const std::string& name : dim.symbols()) {
    const auto found = model.data_dependent.find(name);
    if (found == model.data_dependent.end() || !makes(branch, found->second.by)) continue;
    bounds[name] = bound_outside(found->second.bound, branch);
  }
  return bounds.empty() ? dim : dim.substitute(bounds);
}

bool Inference::makes(const Graph& graph, ValueId id) const {
  for (const Node& node : graph.nodes) {
    for (const ValueId made : node.outputs)
      if (made == id) return true;
    for (const auto& inner : node.subgraphs())
      if (makes(*inner, id)) return true;
  }
  return false;
}

/// Whether output i can be joined: a tensor of the same rank and type in both.
bool Inference::can_join(const Node& node, const Graph& then_branch, const Graph& else_branch,
                         size_t i) const {
  const Value &a = value(then_branch.outputs[i]), &b = value(else_branch.outputs[i]);
  return node.outputs[i] != kAbsent && a.dims.size() == b.dims.size();
}

/// A scalar in one branch and [1] in the other, as exporters write the same number, is a scalar: no
/// data decide a rank.
void Inference::join_ranks(Node& node, Graph& then_branch, Graph& else_branch, size_t i) {
  const Dims a = value(then_branch.outputs[i]).dims, b = value(else_branch.outputs[i]).dims;
  if (a.size() + b.size() != 1 || product(a) != Dim(1) || product(b) != Dim(1)) return;
  Graph& larger = a.size() > b.size() ? then_branch : else_branch;
  visit_into(larger.nodes, [&] {
    NodeContext context(*this, node);
    context.note(describe(node) + ": output " + std::to_string(i) +
                 " is a scalar in one branch and [1] in the other, taken as a scalar");
    larger.outputs[i] = context.reshape(larger.outputs[i], {});
  });
}

/// Adds to both branches what makes output i as large in each. The cuts behind the If go to `cuts`.
void Inference::join_output(Node& node, Graph& then_branch, Graph& else_branch, size_t i,
                            std::vector<Cut>* cuts) {
  Graph* const branches[] = {&then_branch, &else_branch};
  const Dims dims[] = {value(then_branch.outputs[i]).dims, value(else_branch.outputs[i]).dims};
  Cut cut;
  cut.result = node.outputs[i];
  Dims most = dims[0];
  for (size_t axis = 0; axis < most.size(); axis++) {
    const Dim a = bound_outside(dims[0][axis], then_branch),
              b = bound_outside(dims[1][axis], else_branch);
    if (dims[0][axis] == dims[1][axis] && a == dims[0][axis]) continue;
    most[axis] = max(a, b);
    for (size_t k = 0; k < 2; k++)
      visit_into(branches[k]->nodes, [&] {
        NodeContext context(*this, node);
        branches[k]->outputs.push_back(context.extent(dims[k][axis]));
      });
    const ValueId number = model.add_value(value(cut.result).name + "/extent", DType::kI64);
    model.values[size_t(number)].shape_known = true;
    node.outputs.push_back(number);
    cut.axes.push_back(int64_t(axis));
    cut.numbers.push_back(number);
    cut.bounds.push_back(most[axis]);
  }
  for (size_t k = 0; k < 2; k++)
    visit_into(branches[k]->nodes, [&] {
      NodeContext context(*this, node);
      branches[k]->outputs[i] = context.padded(branches[k]->outputs[i], most);
    });
  const ValueId whole = model.add_value(value(cut.result).name + "/whole");
  Value& type = model.values[size_t(whole)];
  type.dtype = value(branches[0]->outputs[i]).dtype;
  type.dims = most;
  type.shape_known = true;
  node.outputs[i] = cut.whole = whole;
  cuts->push_back(std::move(cut));
}

void Inference::place_cut(const Cut& cut, Node node) {
  NodeContext context(*this, node);
  Dims ends;
  for (size_t i = 0; i < cut.axes.size(); i++)
    ends.push_back(
        context.data_dependent_dim(context.make(op::ResolveDim, {cut.numbers[i]}), cut.bounds[i]));
  replace(cut.result, context.make(op::Slice, {cut.whole},
                                   {{attr::starts, Dims(ends.size(), Dim(0))},
                                    {attr::ends, ends},
                                    {attr::axes, cut.axes}}));
}

}  // namespace ingot::graph
