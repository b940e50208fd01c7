// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/random_state.h"

namespace ingot::graph {
namespace {

ValueId find_random_state(const Model& model) {
  for (const ValueId id : model.graph.inputs)
    if (model.values[size_t(id)].name == kRandomState) return id;
  return kAbsent;
}
ValueId add_numbers(Model& model, const char* name) {
  const ValueId id = model.add_value(name, DType::kI64);
  Value& value = model.values[size_t(id)];
  value.dims = {Dim(2)};
  value.shape_known = true;
  return id;
}

}  // namespace

ValueId random_state(Model& model) {
  ValueId id = find_random_state(model);
  if (id != kAbsent) return id;
  id = add_numbers(model, kRandomState);
  model.graph.inputs.push_back(id);
  return id;
}

bool count_random_runs(Model& model) {
  const ValueId state = find_random_state(model);
  if (state == kAbsent) return false;
  const int64_t step[] = {0, 1};
  Node next;
  next.op = op::Add;
  next.name = kNextRandomState;
  next.inputs = {state, model.add_constant("random_step", make_constant(DType::kI64, {2}, step))};
  next.outputs = {add_numbers(model, kNextRandomState)};
  model.graph.outputs.push_back(next.outputs[0]);
  model.graph.nodes.push_back(std::move(next));
  return true;
}

}  // namespace ingot::graph
