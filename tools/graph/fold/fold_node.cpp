// SPDX-License-Identifier: Apache-2.0
// tools/graph/fold/fold_node.cpp - one node on constants: movement on bytes, arithmetic in double
// or 64-bit integers, rounded once.
#include <algorithm>
#include <cstring>

#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/fold/fold_elementwise.h"
#include "tools/graph/movement.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Ints = std::vector<int64_t>;

std::optional<Ints> fixed_dims(const Value& value) {
  Ints out;
  for (const Dim& d : value.dims) {
    if (!d.is_static()) return std::nullopt;
    out.push_back(*d.value());
  }
  return out;
}

void store(Model& model, ValueId id, Constant constant) {
  model.values[size_t(id)].constant = std::make_shared<const Constant>(std::move(constant));
}

std::optional<Constant> moved(const Node& node, const Ints& sources,
                              const std::vector<const Constant*>& inputs, DType dtype, Ints dims) {
  const size_t width = size_t(dtype_bytes(dtype));
  std::vector<const Constant*> data;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!(takes_indices(node) && i == 1)) data.push_back(inputs[i]);
  }
  if (data.size() == 1 && (node.op == op::Reshape || node.op == op::Identity)) {
    Constant same = *data[0];
    same.dims = std::move(dims);
    return same;
  }
  std::vector<uint8_t> bytes(sources.size() * width);
  const Constant fill = make_scalar(dtype, node.number(attr::value, 0));
  for (size_t i = 0; i < sources.size(); i++) {
    int64_t at = sources[i];
    const Constant* from = &fill;
    if (at == kFill) {
      at = 0;
    } else {
      size_t part = 0;
      while (part < data.size() && at >= data[part]->elements()) at -= data[part++]->elements();
      if (part == data.size()) return std::nullopt;
      from = data[part];
    }
    std::memcpy(bytes.data() + i * width, from->bytes->data() + size_t(at) * width, width);
  }
  Constant out;
  out.dtype = dtype;
  out.dims = std::move(dims);
  if (!bytes.empty()) out.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return out;
}

bool fold_movement(Model& model, const Node& node, const std::vector<const Constant*>& inputs) {
  std::vector<Ints> dims, outputs;
  for (const Constant* c : inputs) dims.push_back(c->dims);
  for (const ValueId id : node.outputs) {
    const auto out = id == kAbsent ? Ints() : fixed_dims(model.values[size_t(id)]);
    if (!out) return false;
    outputs.push_back(*out);
  }
  const Ints indices =
      takes_indices(node) && inputs.size() > 1 ? read_integers(*inputs[1]) : Ints();
  std::vector<Constant> made(outputs.size());
  for (size_t i = 0; i < outputs.size(); i++) {
    if (node.outputs[i] == kAbsent) continue;
    const bool copy = node.op == op::Reshape || node.op == op::Identity;  // needs no table
    const auto sources =
        copy ? Ints() : movement_sources(node, i, dims, outputs[i], indices, outputs);
    if (!sources) return false;
    auto constant =
        moved(node, *sources, inputs, model.values[size_t(node.outputs[i])].dtype, outputs[i]);
    if (!constant) return false;
    made[i] = std::move(*constant);
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    if (node.outputs[i] != kAbsent) store(model, node.outputs[i], std::move(made[i]));
  }
  return true;
}

bool is_movement(Operator op) {
  return class_of(op) == OperatorClass::kMovement || class_of(op) == OperatorClass::kIndex;
}

}  // namespace

bool fold_node(Model& model, const Node& node) {
  if (node.op == op::If || node.op == op::Shape || node.inputs.empty() || node.outputs.empty())
    return false;
  std::vector<const Constant*> inputs;
  int64_t in_count = 0, out_count = 0;
  for (const ValueId id : node.inputs) {
    const Constant* constant = model.constant(id);
    if (id != kAbsent && !constant) return false;
    inputs.push_back(constant);
    const bool again =
        // Concat(x, x) makes more than there was
        std::count(node.inputs.begin(), node.inputs.end(), id) > 1;
    if (constant && !again) in_count += constant->elements();
  }
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    const Value& value = model.values[size_t(id)];
    const auto dims = value.shape_known ? fixed_dims(value) : std::nullopt;
    if (!dims || value.dtype == DType::kInvalid) return false;
    out_count += count_of(*dims);
  }
  if (out_count > in_count + kMaxGrowth) return false;
  const bool shares = node.op == op::Reshape || node.op == op::Identity;
  if (!shares && out_count > model.fold_budget) return false;
  if (!shares) model.fold_budget -= out_count;
  if (is_movement(node.op)) {
    for (const Constant* c : inputs) {
      if (!c) return false;
    }
    return fold_movement(model, node, inputs);
  }
  if (node.outputs.size() != 1 || node.outputs[0] == kAbsent) return false;
  const Value& out = model.values[size_t(node.outputs[0])];
  auto constant = fold_elementwise(node, inputs, out.dtype, *fixed_dims(out));
  if (!constant) return false;
  store(model, node.outputs[0], std::move(*constant));
  return true;
}

}  // namespace ingot::graph
