// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/translator_control.cpp - torch.cond, while_loop, scan and map: graphs in the
// arguments of a call become branches of an If and bodies of a Loop or Scan. Exported graphs write
// nothing in place, so what they give are their outputs alone.
#include "tools/import/aten/operands.h"
#include "tools/import/pt2/translator.h"

namespace ingot::pt2 {

using aten::Value;
using graph::ValueId;

namespace {

/// Nodes go to a graph of its own while it lives. Views that are taken inside are known there
/// alone.
class Inside {
 public:
  Inside(aten::Builder* builder, graph::Graph* graph)
      : builder_(builder), outer_(std::move(builder->on_take)) {
    builder_->on_take = [this](const aten::Tensor& view) { taken_.push_back(view); };
    builder_->inference().enter(&graph->nodes);
  }
  ~Inside() {
    builder_->inference().leave();
    builder_->on_take = std::move(outer_);
    for (const aten::Tensor& view : taken_) {
      aten::Builder::forget(view);
      if (builder_->on_take) builder_->on_take(view);
    }
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  aten::Builder* builder_;
  std::function<void(const aten::Tensor& view)> outer_;
  std::vector<aten::Tensor> taken_;
};

}  // namespace

/// The graphs among the arguments, and all others, lists taken apart.
struct Translator::ControlCall {
  std::vector<const Json*> graphs;
  std::vector<std::vector<Value>> groups;  // one an argument that is no graph
};

Translator::ControlCall Translator::control_call(const Json& node, Names* names) {
  ControlCall call;
  for (const Json& input : array(node, "inputs")) {
    const auto [kind, held] = tagged(field(input, "arg"));
    if (kind == "as_graph") {
      call.graphs.push_back(&object(*held, "graph"));
      continue;
    }
    const Value value = argument(field(input, "arg"), *names);
    call.groups.push_back(value.items ? *value.items : std::vector<Value>{value});
  }
  return call;
}

/// A tensor of what control flow carries. @throws Refused
ValueId Translator::carried(const Value& value) {
  aten::Builder& b = *builder_;
  if (value.is(Value::Kind::kTensor)) return b.read(value.tensor);
  if (value.is(Value::Kind::kInt)) return b.extent(value.integer);
  if (value.is(Value::Kind::kBool)) return b.scalar(DType::kBool, value.truth);
  if (value.is(Value::Kind::kFloat)) return b.scalar(DType::kF32, value.number);
  if (value.is(Value::Kind::kUnknown)) {
    if (const std::string why = value.reason(); !why.empty()) throw aten::Refused{"", why, ""};
    throw aten::Reported{};
  }
  throw aten::Refused{"", "carries " + value.describe() + "; only tensors and numbers can be", ""};
}

std::vector<ValueId> Translator::all_carried(const std::vector<Value>& values) {
  std::vector<ValueId> ids;
  for (const Value& value : values) ids.push_back(carried(value));
  return ids;
}

/// Nodes of an inner graph where the builder stands.
std::vector<Value> Translator::inner_results(const Json& inner, const std::vector<Value>& operands,
                                             int depth) {
  if (depth >= 16) corrupt(file_ + ": its graphs nest too deeply");
  Names local;
  const Json& inputs = array(inner, "inputs");
  if (inputs.size() != operands.size())
    corrupt(file_ + ": a graph has " + std::to_string(inputs.size()) + " inputs and gets " +
            std::to_string(operands.size()));
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto [kind, held] = tagged(inputs[i]);
    if (kind == "as_tensor") define(name_in(*held), operands[i], &local);
    if (kind.rfind("as_sym_", 0) == 0 && held->is_object() && held->contains("as_name"))
      define(text(*held, "as_name"), operands[i], &local);
  }
  run_nodes(inner, &local, depth + 1);
  std::vector<Value> results;
  for (const Json& output : array(inner, "outputs")) results.push_back(argument(output, local));
  return results;
}

/// A value as the input of a body, of the type of `like`, without its first dimension for a slice.
ValueId Translator::body_input(const char* name, ValueId like, bool is_slice) {
  graph::Dims dims = builder_->dims(like);
  if (is_slice) {
    if (dims.empty()) throw aten::Refused{"", "goes along a number", ""};
    dims.erase(dims.begin());
  }
  const ValueId id = model.add_value(std::string(name) + "." + std::to_string(model.values.size()),
                                     builder_->dtype(like));
  model.values[size_t(id)].dims = std::move(dims);
  model.values[size_t(id)].shape_known = true;
  return id;
}

std::vector<Value> Translator::add_control(graph::Node node, size_t results) {
  std::vector<ValueId> made;
  for (size_t i = 0; i < results; i++) {
    made.push_back(model.add_value(text(node.op) + "." + std::to_string(model.values.size())));
    node.outputs.push_back(made.back());
  }
  builder_->add(std::move(node));
  std::vector<Value> values;
  for (const ValueId id : made) values.push_back(Value::of(builder_->own(builder_->resolve(id))));
  return values;
}

std::vector<Value> Translator::run_cond(const Json& node, ControlCall& call, int depth) {
  if (call.graphs.size() != 2 || call.groups.empty() || call.groups[0].size() != 1)
    corrupt(file_ + ": a cond has " + std::to_string(call.graphs.size()) + " graphs, expected 2");
  std::vector<Value> operands;
  for (size_t i = 1; i < call.groups.size(); i++)
    operands.insert(operands.end(), call.groups[i].begin(), call.groups[i].end());
  const Value& chooses = call.groups[0][0];
  if (chooses.is(Value::Kind::kBool))
    return inner_results(*call.graphs[chooses.truth ? 0 : 1], operands, depth);
  aten::Builder& b = *builder_;
  graph::Node made;
  made.op = op::If, made.name = text(node, "name");
  made.inputs = {b.cast(carried(chooses), DType::kBool)};
  size_t count = 0;
  for (size_t side = 0; side < 2; side++) {
    auto branch = std::make_shared<graph::Graph>();
    {
      const Inside inside(&b, branch.get());
      branch->outputs = all_carried(inner_results(*call.graphs[side], operands, depth));
    }
    if (side == 1 && branch->outputs.size() != count)
      corrupt(file_ + ": the branches of a cond give " + std::to_string(count) + " and " +
              std::to_string(branch->outputs.size()) + " results");
    count = branch->outputs.size();
    made.attributes[side == 0 ? attr::then_branch : attr::else_branch] = branch;
  }
  b.begin_node({made.name, "cond", ""});
  return add_control(std::move(made), count);
}

std::vector<Value> Translator::run_while(const Json& node, ControlCall& call, int depth) {
  if (call.graphs.size() != 2 || call.groups.empty())
    corrupt(file_ + ": a while_loop has " + std::to_string(call.graphs.size()) +
            " graphs, expected 2");
  aten::Builder& b = *builder_;
  std::vector<Value> others;
  for (size_t i = 1; i < call.groups.size(); i++)
    others.insert(others.end(), call.groups[i].begin(), call.groups[i].end());
  const auto with_others = [&](std::vector<Value> values) {
    values.insert(values.end(), others.begin(), others.end());
    return values;
  };
  const auto condition = [&](const std::vector<Value>& state) {
    const std::vector<Value> asked = inner_results(*call.graphs[0], with_others(state), depth);
    if (asked.size() != 1) corrupt(file_ + ": the condition of a while_loop is no single value");
    const ValueId id = b.cast(carried(asked[0]), DType::kBool);
    return b.rank(id) == 0 ? id : b.reshape(id, {});
  };
  graph::Node made;
  made.op = op::Loop, made.name = text(node, "name");
  made.inputs = {graph::kAbsent, condition(call.groups[0])};
  auto body = std::make_shared<graph::Graph>();
  body->inputs = {model.add_value("iteration." + std::to_string(model.values.size()), DType::kI64),
                  model.add_value("going." + std::to_string(model.values.size()), DType::kBool)};
  for (const ValueId id : body->inputs) model.values[size_t(id)].shape_known = true;
  std::vector<Value> state;
  for (const ValueId id : all_carried(call.groups[0])) {
    made.inputs.push_back(id);
    body->inputs.push_back(body_input("carried", id, false));
    state.push_back(Value::of(b.own(body->inputs.back())));
  }
  {
    const Inside inside(&b, body.get());
    const std::vector<Value> next = inner_results(*call.graphs[1], with_others(state), depth);
    if (next.size() != state.size())
      corrupt(file_ + ": a while_loop carries " + std::to_string(state.size()) +
              " values and gives " + std::to_string(next.size()));
    const std::vector<ValueId> ids = all_carried(next);
    body->outputs = {condition(next)};
    body->outputs.insert(body->outputs.end(), ids.begin(), ids.end());
  }
  made.attributes[attr::body] = body;
  b.begin_node({made.name, "while_loop", ""});
  return add_control(std::move(made), state.size());
}

/// scan: graph, first values, what is gone along, others. map: graph, what is gone along, others.
std::vector<Value> Translator::run_scan(const Json& node, ControlCall& call, bool has_state,
                                        int depth) {
  const size_t lists = has_state ? 2 : 1;
  if (call.graphs.size() != 1 || call.groups.size() < lists)
    corrupt(file_ + ": a scan has " + std::to_string(call.graphs.size()) + " graphs, expected 1");
  aten::Builder& b = *builder_;
  const std::vector<Value> first = has_state ? call.groups[0] : std::vector<Value>();
  const std::vector<Value>& along = call.groups[lists - 1];
  graph::Node made;
  made.op = op::Scan, made.name = text(node, "name");
  auto body = std::make_shared<graph::Graph>();
  std::vector<Value> operands;
  const auto enter = [&](const std::vector<Value>& values, bool is_slice) {
    for (const ValueId id : all_carried(values)) {
      made.inputs.push_back(id);
      body->inputs.push_back(body_input(is_slice ? "slice" : "carried", id, is_slice));
      operands.push_back(Value::of(b.own(body->inputs.back())));
    }
  };
  enter(first, false);
  enter(along, true);
  for (size_t i = lists; i < call.groups.size(); i++)
    operands.insert(operands.end(), call.groups[i].begin(), call.groups[i].end());
  {
    const Inside inside(&b, body.get());
    body->outputs = all_carried(inner_results(*call.graphs[0], operands, depth));
  }
  const size_t results = body->outputs.size();
  made.attributes[attr::body] = body;
  made.attributes[attr::num_scan_inputs] = int64_t(along.size());
  b.begin_node({made.name, has_state ? "scan" : "map", ""});
  return add_control(std::move(made), results);
}

bool Translator::run_control(const Json& node, Names* names, int depth) {
  const std::string target = text(node, "target"), prefix = "torch.ops.higher_order.";
  const std::string op = target.rfind(prefix, 0) == 0 ? target.substr(prefix.size()) : "";
  if (op != "cond" && op != "while_loop" && op != "scan" && op != "map_impl") return false;
  ControlCall call = control_call(node, names);
  std::vector<Value> results = op == "cond"         ? run_cond(node, call, depth)
                               : op == "while_loop" ? run_while(node, call, depth)
                                                    : run_scan(node, call, op == "scan", depth);
  const Json& outputs = array(node, "outputs");
  if (outputs.size() == 1 && tagged(outputs[0]).first == "as_tensors")
    results = {Value::list(std::move(results))};
  keep(outputs, std::move(results), names);
  return true;
}

}  // namespace ingot::pt2
