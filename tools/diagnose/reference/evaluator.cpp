// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/reference/evaluator.h"

#include <cstring>
#include <stdexcept>

#include "tools/compile/passes/common/constants.h"

namespace ingot::reference {

int64_t offset_of(const Dimensions& dims, const Dimensions& at) {
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); i++) offset = offset * dims[i] + at[i];
  return offset;
}

double broadcast_at(const Tensor& t, const Dimensions& at) {
  size_t lead = at.size() - t.dims.size();
  int64_t offset = 0;
  for (size_t i = 0; i < t.dims.size(); i++)
    offset = offset * t.dims[i] + (t.dims[i] == 1 ? 0 : at[lead + i]);
  return t.at[size_t(offset)];
}

const Tensor& Evaluator::get(graph::ValueId id) {
  auto found = values_.find(id);
  if (found != values_.end()) return found->second;
  if (known_)
    if (const Tensor* given = known_(id)) return *given;
  const graph::Constant* constant = model_.constant(id);
  if (!constant) throw std::runtime_error("no value for " + model_.values[size_t(id)].name);
  return values_[id] = Tensor{constant->dims, passes::numbers(*constant)};
}

Dimensions Evaluator::numbers(const graph::Dims& dims) const {
  Dimensions result;
  for (const graph::Dim& d : dims) result.push_back(number(d));
  return result;
}

bool Evaluator::declared(const graph::Node& node, size_t i, Dimensions& dims) const {
  const graph::Value& v = model_.values[size_t(node.outputs[i])];
  if (!v.shape_known) return false;
  try {
    dims = numbers(v.dims);
  } catch (const std::exception&) {
    return false;  // a size that this node, or one before it, resolves
  }
  return true;
}

void Evaluator::run(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes)
    if (!node.dead) run(node);
}

void Evaluator::run_loop(const graph::Node& node) {
  const graph::Graph& body = *node.subgraph(attr::body);
  std::vector<Tensor> carried;
  for (size_t i = 2; i < node.inputs.size(); i++) carried.push_back(in(node, i));
  bool goes_on = !has(node, 1) || in(node, 1).at[0] != 0;
  const int64_t count =
      has(node, 0) ? int64_t(in(node, 0).at[0]) : number(node.dims(attr::most).at(0));
  for (int64_t iteration = 0; iteration < count && goes_on; iteration++) {
    set(body.inputs[0], Tensor{{}, {double(iteration)}});
    for (size_t i = 0; i < carried.size(); i++) set(body.inputs[i + 1], carried[i]);
    run(body);
    for (size_t i = 0; i < carried.size(); i++) carried[i] = get(body.outputs[i + 1]);
    if (body.outputs[0] >= 0) goes_on = get(body.outputs[0]).at[0] != 0;
  }
  for (size_t i = 0; i < node.outputs.size(); i++)
    if (node.outputs[i] >= 0) set(node.outputs[i], carried[i]);
}

void Evaluator::run(const graph::Node& node) {
  if (node.op == op::If) {
    auto branch = node.subgraph(in(node, 0).at[0] != 0 ? attr::then_branch : attr::else_branch);
    if (!branch)
      throw std::runtime_error("evaluator: If '" + node.name + "' lacks the branch it takes");
    run(*branch);
    for (size_t i = 0; i < node.outputs.size(); i++)
      if (node.outputs[i] >= 0) set(node.outputs[i], Tensor(get(branch->outputs[i])));
    return;
  }
  if (node.op == op::Loop) return run_loop(node);
  std::vector<Tensor> results;
  for (auto family : {evaluate_elementwise, evaluate_spatial, evaluate_frame, evaluate_rows,
                      evaluate_movement, evaluate_indexed, evaluate_recurrent, evaluate_attention,
                      evaluate_quantized, evaluate_dynamic, evaluate_blocks}) {
    results = family(*this, node);
    if (!results.empty()) break;
  }
  if (results.empty()) throw std::runtime_error("evaluator: no operator " + text(node.op));
  for (size_t i = 0; i < node.outputs.size(); i++) {
    if (node.outputs[i] < 0) continue;
    Dimensions expected;
    if (declared(node, i, expected) && expected != results.at(i).dims) {
      auto extents = [](const Dimensions& dims) {
        std::string all;
        for (int64_t d : dims) all += std::to_string(d) + " ";
        return all;
      };
      throw std::runtime_error("evaluator: " + text(node.op) + " '" + node.name + "' gives dims " +
                               extents(results[i].dims) + "declared " + extents(expected));
    }
    set(node.outputs[i], std::move(results[i]));
  }
}

}  // namespace ingot::reference
