// SPDX-License-Identifier: Apache-2.0
// Queries, keys and values of one input are one product: the Attention reads slices of its rows.
#include <cstring>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

/// A Linear that only this Attention reads, without anything else in its store.
Node* projection(const Editor& e, const Node& attention, size_t operand) {
  const ValueId id = attention.inputs[operand];
  Node* node = e.rank(id) == 3 ? e.producer_if(id, op::Linear) : nullptr;
  if (!node || node->inputs.size() > 3 || node->has(attr::activation) || !e.read_once(id))
    return nullptr;
  const Constant* w = e.constant(node->inputs[1]);
  return w && w->bytes && w->dtype == DType::kF32 && w->dims.size() == 2 ? node : nullptr;
}

/// Rows of all weights, one after another; a missing bias is zeros.
Constant stacked(const Editor& e, const std::vector<Node*>& parts, size_t operand) {
  const Constant& first = *e.constant(parts[0]->inputs[1]);
  std::vector<int64_t> dims = {0};
  if (operand == 1) dims.push_back(first.dims[1]);
  std::vector<float> all;
  for (const Node* part : parts) {
    const int64_t rows = e.constant(part->inputs[1])->dims[0];
    dims[0] += rows;
    const Constant* c = operand < part->inputs.size() ? e.constant(part->inputs[operand]) : nullptr;
    const size_t before = all.size(), count = size_t(rows * (operand == 1 ? first.dims[1] : 1));
    all.resize(before + count, 0.0f);
    if (c && count) std::memcpy(all.data() + before, c->as<float>(), count * sizeof(float));
  }
  return graph::make_constant(DType::kF32, dims, all.data());
}

bool fuse(Editor& e, const std::vector<Node*>& parts) {
  Node& first = *parts[0];
  Dims dims = e.dims(first.outputs[0]);
  const Constant weights = stacked(e, parts, 1);
  dims.back() = Dim(weights.dims[0]);
  std::vector<ValueId> inputs = {
      first.inputs[0], e.new_constant(e.value(first.inputs[1]).name + "/stacked", weights)};
  bool any_bias = false;
  for (const Node* part : parts) any_bias |= part->inputs.size() > 2 && part->inputs[2] >= 0;
  if (any_bias)
    inputs.push_back(
        e.new_constant(e.value(first.outputs[0]).name + "/bias", stacked(e, parts, 2)));
  for (Node* part : parts) e.kill(*part);
  const ValueId all = e.emit(op::Linear, inputs, DType::kF32, dims, first);
  int64_t at = 0;
  for (Node* part : parts) {
    e.merge_sources(*e.producer(all), *part);
    const ValueId out = part->outputs[0];
    e.add(op::Slice, {all}, {out}, *part,
          {{attr::starts, Dims{Dim(0), Dim(0), Dim(at)}}, {attr::steps, Integers(3, 1)}});
    at += *e.dims(out).back().value();
  }
  return true;
}

}  // namespace

uint32_t fuse_projections(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Attention) continue;
    std::vector<Node*> all;
    for (size_t i = 0; i < 3; i++)
      if (Node* part = projection(e, *node, i)) all.push_back(part);
    for (size_t i = 0; i < all.size(); i++) {
      std::vector<Node*> parts;
      for (size_t k = i; k < all.size(); k++)
        if (all[k]->inputs[0] == all[i]->inputs[0]) parts.push_back(all[k]);
      if (parts.size() < 2) continue;
      changed += fuse(e, parts);
      e.drop_unread_constants();
      break;  // at most one pair or three of a kind among three
    }
  }
  return changed;
}

}  // namespace ingot::passes
