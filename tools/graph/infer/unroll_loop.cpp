// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/unroll_loop.cpp - a Loop whose body no run can repeat, since its shapes follow
// from the iteration or it changes a sequence: written out, where there are few iterations.
#include "tools/graph/infer/infer_loop.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr int64_t kMaxIterations = 64;
constexpr size_t kMaxNodes = 1 << 14;  // of all iterations

using Renamed = std::unordered_map<ValueId, ValueId>;

size_t count_nodes(const Graph& graph) {
  size_t count = graph.nodes.size();
  for (const Node& node : graph.nodes)
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute); inner && *inner)
        count += count_nodes(**inner);
  return count;
}

void rename(Renamed& names, std::vector<ValueId>& ids) {
  for (ValueId& id : ids)
    if (const auto found = names.find(id); found != names.end()) id = found->second;
}

/// The graph makes values of its own; those from outside stay.
void give_own_values(Model& model, const std::string& suffix, Graph& graph, Renamed& names) {
  const auto declare = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id == kAbsent || names.count(id)) continue;
      Value own = model.values[size_t(id)];
      names[id] = model.add_value(own.name + suffix);
      own.name += suffix;
      model.values[size_t(names[id])] = std::move(own);
    }
  };
  declare(graph.inputs);
  rename(names, graph.inputs);
  for (Node& node : graph.nodes) {
    declare(node.outputs);
    rename(names, node.inputs), rename(names, node.outputs);
    for (auto& [key, attribute] : node.attributes)
      if (auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute); inner && *inner)
        give_own_values(model, suffix, **inner, names);
  }
  rename(names, graph.outputs);
}

}  // namespace

bool Inference::unroll(Node& loop) {
  if (loop.op != op::Loop || !loop.subgraph(attr::body)) return false;
  Node read = cloned(loop);
  const auto trips = LoopBuilder(*this, read, {}).fixed_trips();
  if (!trips || *trips > kMaxIterations ||
      count_nodes(*loop.subgraph(attr::body)) * size_t(*trips) > kMaxNodes)
    return false;
  const size_t refused = unsupported_->size(), carried = read.inputs.size() - 2;
  std::vector<ValueId> values(read.inputs.begin() + 2, read.inputs.end());
  std::vector<std::vector<ValueId>> rows(read.outputs.size() - carried);
  if (*trips == 0 && !rows.empty()) return false;  // nothing says what a row would be
  NodeContext context(*this, loop);
  const bool yes = true;
  const ValueId always = context.constant(make_constant(DType::kBool, {}, &yes));
  for (int64_t i = 0; i < *trips; i++) {
    Node own = cloned(loop);
    Graph& body = *own.subgraph(attr::body);
    Renamed names = {{body.inputs[0], context.scalar(DType::kI64, double(i))},
                     {body.inputs[1], always}};
    for (size_t c = 0; c < carried; c++) names[body.inputs[c + 2]] = values[c];
    give_own_values(model, "/" + std::to_string(i), body, names);
    for (Node& node : body.nodes) visit(std::move(node));
    if (unsupported_->size() > refused) return false;
    for (size_t c = 0; c < carried; c++) values[c] = resolve(body.outputs[c + 1]);
    for (size_t r = 0; r < rows.size(); r++)
      rows[r].push_back(context.make(op::Unsqueeze, {body.outputs[carried + 1 + r]},
                                     {{attr::axes, std::vector<int64_t>{0}}}));
  }
  for (size_t o = 0; o < loop.outputs.size(); o++)
    if (loop.outputs[o] != kAbsent)
      replace(loop.outputs[o], o < carried ? values[o]
                                           : context.make(op::Concat, rows[o - carried],
                                                          {{attr::axis, int64_t(0)}}));
  return true;
}

}  // namespace ingot::graph
