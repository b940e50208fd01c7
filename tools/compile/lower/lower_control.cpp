// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_control.cpp - If and Loop: subprograms, and what crosses their borders.
#include "tools/compile/lower/lower.h"

namespace ingot::convert {

void Lowering::lower_if(const graph::Node& node, LoweredInstruction* instruction) {
  IfAttributes attributes;
  const auto branch = [&](graph::AttributeName key, const char* suffix, uint32_t* subprogram) {
    if (!node.subgraph(key)) return;
    *subprogram = uint32_t(lowered_.subprograms.size());
    lowered_.subprograms.push_back({node.name + suffix, {}});
  };
  branch(attr::then_branch, "/then", &attributes.then_subprogram);
  branch(attr::else_branch, "/else", &attributes.else_subprogram);
  instruction->attributes = attributes;
  instruction->inputs = {value(node.inputs.at(0))};
  if (attributes.then_subprogram)
    lower_branch(*node.subgraph(attr::then_branch), instruction->outputs,
                 attributes.then_subprogram);
  if (attributes.else_subprogram)
    lower_branch(*node.subgraph(attr::else_branch), instruction->outputs,
                 attributes.else_subprogram);
}

int32_t Lowering::carry(int32_t initial, int32_t carried, uint32_t subprogram, Block* before) {
  lowered_.at(carried).carried_in = int32_t(subprogram);
  append_copy(initial, carried, "the first value of what a loop carries", before);
  return carried;
}

void Lowering::lower_loop(const graph::Node& node, LoweredInstruction* instruction, Block* before) {
  const graph::Graph& body = *node.subgraph(attr::body);
  LoopAttributes attributes;
  attributes.body = uint32_t(lowered_.subprograms.size());
  lowered_.subprograms.push_back({node.name + "/body", {}});
  instruction->attributes = attributes;
  instruction->extents = node.dims(attr::most);
  std::vector<int32_t> carried = {-1};  // the condition, then as in the body
  if (node.inputs[1] != graph::kAbsent) {
    LoweredValue condition;
    condition.name = node.name + "/condition";
    condition.dtype = DType::kBool;
    condition.dims = lowered_.at(value(node.inputs[1])).dims;
    condition.body = int32_t(attributes.body);
    condition.first_value = node.inputs[1];
    condition.next_value = body.outputs[0];
    carried[0] =
        carry(value(node.inputs[1]), lowered_.add(std::move(condition)), subprogram_, before);
  }
  for (size_t i = 2; i < node.inputs.size(); i++) {
    // The result is the storage itself; the body knows it under another name.
    const graph::ValueId result =
        i - 2 < node.outputs.size() ? node.outputs[i - 2] : graph::kAbsent;
    const int32_t storage = value(result == graph::kAbsent ? body.inputs[i - 1] : result);
    values_[size_t(body.inputs[i - 1])] = storage;
    lowered_.at(storage).body = int32_t(attributes.body);
    lowered_.at(storage).first_value = node.inputs[i];
    lowered_.at(storage).body_value = body.inputs[i - 1];
    lowered_.at(storage).next_value = body.outputs[i - 1];
    carried.push_back(carry(value(node.inputs[i]), storage, subprogram_, before));
  }
  instruction->inputs = {value(node.inputs[0])};
  instruction->inputs.insert(instruction->inputs.end(), carried.begin(), carried.end());
  instruction->outputs = {value(body.inputs[0])};
  lower_body(node, carried, attributes.body);
}

void Lowering::lower_body(const graph::Node& node, const std::vector<int32_t>& carried,
                          uint32_t subprogram) {
  const graph::Graph& body = *node.subgraph(attr::body);
  Block block;
  const uint32_t outer = subprogram_;
  subprogram_ = subprogram;
  lower_nodes(body, &block);
  subprogram_ = outer;
  std::vector<int32_t> next;
  for (const graph::ValueId id : body.outputs) next.push_back(value(id));
  size_t place = 0;
  // Copies at the end come one after the other: what one of them overwrites must not be what a
  // later one reads.
  for (int32_t& id : next) {
    const graph::ValueId graph_value = body.outputs[place++];
    if (id < 0 || !lowered_.at(id).carried()) continue;
    LoweredValue kept = lowered_.at(id);
    kept.kind = ValueKind::kActivation;
    kept.carried_in = -1;
    kept.graph_value = graph_value;
    kept.name += "/kept";
    const int32_t copy = lowered_.add(std::move(kept));
    append_copy(id, copy, "what a loop carries, before it changes", &block);
    id = copy;
  }
  for (size_t i = 0; i < carried.size(); i++)
    if (carried[i] >= 0)
      append_copy(next[i], carried[i], "the next value of what a loop carries", &block);
  lowered_.subprograms[subprogram].instructions = std::move(block);
}

}  // namespace ingot::convert
