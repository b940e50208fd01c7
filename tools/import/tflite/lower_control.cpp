// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_control.cpp - subgraphs that are called: once, in one of two branches,
// again and again.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

constexpr int kMaxUnrolled = 64;  // rounds, before a loop becomes one of the graph

std::vector<Slot> given(Call& call, size_t first) {
  std::vector<Slot> out;
  for (size_t i = first; i < call.input_count(); i++) {
    const Slot slot = call.slot(i);
    if (slot.variable.empty()) (void)call.input(i);
    out.push_back(call.slot(i));
  }
  return out;
}

/// Of a boolean that is known while converting.
std::optional<bool> known_truth(Call& call, ValueId id) {
  const auto content = call.b.content(id);
  const auto number = content ? content->number() : std::nullopt;
  if (!number) return std::nullopt;
  return *number != 0;
}

void expect_values(Call& call, const std::vector<Slot>& slots) {
  for (const Slot& slot : slots)
    if (slot.id == kAbsent)
      call.refuse("", "hands a variable through a branch or a loop that the run decides");
}

/// Nodes of one way through the program.
struct Branch {
  std::shared_ptr<graph::Graph> graph = std::make_shared<graph::Graph>();
  std::vector<ValueId> outputs;
};

/// Runs `make` with nodes going to a graph of its own, whatever happens.
template <class Make>
Branch inside(Call& call, Make&& make) {
  Branch branch;
  call.b.inference().enter(&branch.graph->nodes);
  call.translator.enter_branch();
  try {
    for (const Slot& slot : make()) {
      if (slot.id == kAbsent)
        call.refuse("", "hands a variable through a branch or a loop that the run decides");
      branch.outputs.push_back(slot.id);
    }
  } catch (...) {
    call.translator.leave_branch();
    call.b.inference().leave();
    throw;
  }
  call.translator.leave_branch();
  call.b.inference().leave();
  return branch;
}

std::vector<ValueId> added(Call& call, graph::Node node, const std::vector<ValueId>& like) {
  graph::Model& model = call.b.model;
  for (const ValueId id : like)
    node.outputs.push_back(model.add_value(
        text(node.op) + "." + std::to_string(model.values.size()), call.b.dtype(id)));
  std::vector<ValueId> made = node.outputs;
  call.b.begin_node(call.source);  // behind those of the subgraphs
  if (!made.empty()) call.b.add(std::move(node));
  for (ValueId& id : made) id = call.b.resolve(id);
  return made;
}

void choose(Call& call) {
  const int64_t yes = call.integer("then_subgraph_index"), no = call.integer("else_subgraph_index");
  const ValueId condition = call.b.reshape(call.input(0), {});
  const std::vector<Slot> inputs = given(call, 1);
  if (const auto known = known_truth(call, condition)) {
    call.outputs = call.translator.call(*known ? yes : no, inputs);
    return;
  }
  Branch branches[2];
  branches[0] = inside(call, [&] { return call.translator.call(yes, inputs); });
  branches[1] = inside(call, [&] { return call.translator.call(no, inputs); });
  if (branches[0].outputs.size() != branches[1].outputs.size())
    call.corrupt("its branches have different numbers of outputs");
  graph::Node node;
  node.op = op::If;
  node.inputs = {condition};
  for (Branch& branch : branches) branch.graph->outputs = branch.outputs;
  node.attributes[attr::then_branch] = branches[0].graph;
  node.attributes[attr::else_branch] = branches[1].graph;
  call.give_all(added(call, std::move(node), branches[0].outputs));
}

ValueId goes_on(Call& call, int64_t condition, const std::vector<Slot>& at) {
  const std::vector<Slot> made = call.translator.call(condition, at);
  if (made.size() != 1 || made[0].id == kAbsent || call.b.dtype(made[0].id) != DType::kBool)
    call.corrupt("its condition is no boolean");
  return call.b.reshape(made[0].id, {});
}

/// A loop of the graph, whose carried values keep their types and shapes.
std::vector<Slot> loop(Call& call, int64_t condition, int64_t body, const std::vector<Slot>& at) {
  expect_values(call, at);
  graph::Model& model = call.b.model;
  const auto fresh = [&](const char* name, DType dtype, const graph::Dims& dims) {
    const ValueId id = model.add_value(name + std::to_string(model.values.size()), dtype);
    model.values[size_t(id)].dims = dims;
    model.values[size_t(id)].shape_known = true;
    return id;
  };
  const ValueId first = goes_on(call, condition, at);
  const ValueId iteration = fresh("iteration.", DType::kI64, {}),
                going = fresh("going.", DType::kBool, {});
  std::vector<ValueId> before, carried;
  std::vector<Slot> inputs;
  for (const Slot& slot : at) {
    before.push_back(slot.id);
    carried.push_back(fresh("carried.", call.b.dtype(slot.id), call.b.dims(slot.id)));
    inputs.push_back(Slot{carried.back(), false, ""});
  }
  ValueId more = kAbsent;
  Branch round = inside(call, [&] {
    const std::vector<Slot> made = call.translator.call(body, inputs);
    if (made.size() != inputs.size())
      call.corrupt("its body has " + std::to_string(made.size()) + " outputs, expected " +
                   std::to_string(inputs.size()));
    expect_values(call, made);
    more = goes_on(call, condition, made);
    return made;
  });
  for (size_t i = 0; i < carried.size(); i++)
    if (call.b.dims(round.outputs[i]) != call.b.dims(carried[i]) ||
        call.b.dtype(round.outputs[i]) != call.b.dtype(carried[i]))
      call.refuse("", "what it carries has shape " + graph::text(call.b.dims(carried[i])) +
                          " before a round and " + graph::text(call.b.dims(round.outputs[i])) +
                          " behind it");
  graph::Node node;
  node.op = op::Loop;
  node.inputs = {kAbsent, first};
  node.inputs.insert(node.inputs.end(), before.begin(), before.end());
  round.graph->inputs = {iteration, going};
  round.graph->inputs.insert(round.graph->inputs.end(), carried.begin(), carried.end());
  round.graph->outputs = {more};
  round.graph->outputs.insert(round.graph->outputs.end(), round.outputs.begin(),
                              round.outputs.end());
  node.attributes[attr::body] = round.graph;
  std::vector<Slot> out;
  for (const ValueId id : added(call, std::move(node), before)) out.push_back(Slot{id, false, ""});
  return out;
}

/// Unrolled as long as the condition is known while converting.
void repeat(Call& call) {
  const int64_t condition = call.integer("cond_subgraph_index"),
                body = call.integer("body_subgraph_index");
  std::vector<Slot> at = given(call, 0);
  for (int round = 0;; round++) {
    const auto known = known_truth(call, goes_on(call, condition, at));
    if (known && !*known) break;
    if (!known || round >= kMaxUnrolled) {
      at = loop(call, condition, body, at);
      break;
    }
    at = call.translator.call(body, at);
    if (at.size() != call.input_count()) call.corrupt("its body has another number of outputs");
  }
  call.outputs = at;
}

void call_subgraph(Call& call) {
  call.outputs = call.translator.call(call.integer("subgraph"), given(call, 0));
}
/// What it writes to variables is what they hold before the first run.
void call_once(Call& call) {
  const int64_t subgraph = call.integer("init_subgraph_index");
  if (call.translator.was_initialized(subgraph)) return;
  call.translator.begin_initialization();
  try {
    (void)call.translator.call(subgraph, {});
  } catch (...) {
    call.translator.end_initialization();
    throw;
  }
  call.translator.end_initialization();
}
void composite(Call& call) {
  call.outputs = call.translator.call(call.integer("decomposition_subgraph_index"), given(call, 0));
}

}  // namespace

void add_control(TranslateTable& table) {
  table["IF"] = {1, SIZE_MAX, choose};
  table["WHILE"] = {1, SIZE_MAX, repeat};
  table["CALL"] = {0, SIZE_MAX, call_subgraph};
  table["CALL_ONCE"] = {0, 0, call_once};
  table["STABLEHLO_COMPOSITE"] = {0, SIZE_MAX, composite};
}

}  // namespace ingot::tflite
