// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/read_loop.cpp - Loop and Scan as ONNX has them.
#include <algorithm>

#include "tools/graph/infer/infer_loop.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {

void LoopBuilder::read_loop_ports() {
  node_.inputs.resize(std::max<size_t>(node_.inputs.size(), 2), kAbsent);
  const size_t carried = node_.inputs.size() - 2;
  if (body_->inputs.size() != carried + 2 || body_->outputs.size() < carried + 1 ||
      node_.outputs.size() > body_->outputs.size() - 1)
    fail_corrupt(describe(node_), "carries " + std::to_string(carried) + " values; its body has " +
                                      std::to_string(body_->inputs.size()) + " inputs and " +
                                      std::to_string(body_->outputs.size()) +
                                      " outputs, the node " + std::to_string(node_.outputs.size()));
  node_.outputs.resize(body_->outputs.size() - 1, kAbsent);
  const bool yes = true;
  always_ = run_.model.add_constant("true" + std::to_string(run_.model.values.size()),
                                    make_constant(DType::kBool, {}, &yes));
  iteration_ = body_->inputs[0];
  Value& iteration = run_.model.values[size_t(iteration_)];
  iteration.dtype = DType::kI64;
  iteration.dims.clear();
  iteration.shape_known = true;
  condition_ = node_.inputs[1] == kAbsent ? always_ : node_.inputs[1];
  inner_condition_ = body_->inputs[1];
  next_condition_ = body_->outputs[0];
  for (size_t i = 0; i < carried; i++) {
    if (node_.inputs[i + 2] == kAbsent) fail_corrupt(describe(node_), "a carried input is missing");
    carried_.push_back(
        {node_.inputs[i + 2], body_->inputs[i + 2], body_->outputs[i + 1], node_.outputs[i], i});
  }
}

std::optional<int64_t> LoopBuilder::fixed_trips() {
  read_loop_ports();
  find_trips(node_.inputs[0]);
  return has_condition_ || is_bounded_ ? std::nullopt : trips_.value();
}

void LoopBuilder::read_loop() {
  read_loop_ports();
  std::vector<Written> rows;
  for (size_t i = carried_.size(); i < node_.outputs.size(); i++)
    if (node_.outputs[i] != kAbsent)
      rows.push_back({body_->outputs[i + 1], node_.outputs[i], 0, false});
  drop_invariants();
  find_trips(node_.inputs[0]);
  run_.replace(inner_condition_, always_);  // an iteration runs only while it is
  for (const Carried& each : carried_) set_type_of(each.inner, each.initial);
  finish(rows);
}

void LoopBuilder::read_row(ValueId sequence, ValueId row, int64_t axis, bool reverse) {
  const Dims& dims = run_.value(sequence).dims;
  if (axis < 0) axis += int64_t(dims.size());
  if (axis < 0 || axis >= int64_t(dims.size()))
    fail_corrupt(describe(node_), "a sequence of shape " + text(dims) + " has no such axis");
  if (trips_ == Dim(-1)) trips_ = dims[size_t(axis)];
  if (trips_ != dims[size_t(axis)])
    throw Refusal{
        "", "its sequences have lengths " + trips_.text() + " and " + dims[size_t(axis)].text(),
        "bind the dimensions"};
  run_.replace(row, inside(op::Gather, {sequence, index(reverse)}, {{attr::axis, axis}}));
}

void LoopBuilder::read_scan() {
  const size_t sequences = size_t(node_.integer(attr::num_scan_inputs, 0));
  if (sequences == 0 || sequences > node_.inputs.size() ||
      body_->inputs.size() != node_.inputs.size() ||
      body_->outputs.size() != node_.outputs.size() ||
      body_->outputs.size() < node_.inputs.size() - sequences)
    fail_corrupt(describe(node_), "its inputs and outputs do not match its body's");
  const size_t carried = node_.inputs.size() - sequences;
  const auto at = [&](AttributeName key, size_t i) {
    const std::vector<int64_t> all = node_.integers(key);
    return i < all.size() ? all[i] : 0;
  };
  const std::vector<Node> body = std::move(body_->nodes);  // rows are read first
  body_->nodes.clear();
  iteration_ = typed("iteration", DType::kI64, {});
  trips_ = Dim(-1);
  for (size_t i = 0; i < carried; i++) {
    carried_.push_back({node_.inputs[i], body_->inputs[i], body_->outputs[i], node_.outputs[i], i});
    set_type_of(body_->inputs[i], node_.inputs[i]);
  }
  for (size_t i = 0; i < sequences; i++)
    read_row(node_.inputs[carried + i], body_->inputs[carried + i], at(attr::scan_input_axes, i),
             at(attr::scan_input_directions, i) != 0);
  for (const Node& each : body) body_->nodes.push_back(each);
  made_by_.clear();
  for (const Node& each : body_->nodes)
    for (const ValueId id : each.outputs)
      if (id != kAbsent) made_by_[id] = &each;
  drop_invariants();
  std::vector<Written> rows;
  for (size_t i = carried; i < node_.outputs.size(); i++)
    if (node_.outputs[i] != kAbsent)
      rows.push_back({body_->outputs[i], node_.outputs[i], at(attr::scan_output_axes, i - carried),
                      at(attr::scan_output_directions, i - carried) != 0});
  finish(rows);
}

}  // namespace ingot::graph
