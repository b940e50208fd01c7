// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/quantize/int8_graph.h"

#include <algorithm>
#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/files/work_budget.h"
#include "tools/graph/movement.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes::quantize {
namespace {

bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

/// One scale and zero point of 8 bits, as those of u8.
std::optional<QuantParams> one_scale(const Editor& e, const Node& node, DType integers) {
  const Constant *scale = e.constant(node.inputs[1]), *zero = e.constant(node.inputs[2]);
  if (!is_byte(integers) || !scale || !zero || scale->elements() != 1 || zero->elements() != 1)
    return std::nullopt;
  return QuantParams{*scale->as<float>(),
                     graph::read_integer(*zero, 0) + (integers == DType::kI8 ? 128 : 0)};
}

}  // namespace

int64_t byte_of(const QuantParams& params, float x) {
  const double zero = double(params.zero);
  const double kept = std::clamp(double(x / params.scale), -zero, 255 - zero);
  return std::isnan(kept) ? params.zero : int64_t(std::nearbyint(kept) + zero);
}

void Int8Graph::open_quantize(Node& node) {
  const ValueId y = node.outputs[0];
  const auto params = one_scale(e, node, e.value(y).dtype);
  if (!params) return;
  const Attributes attributes = {{attr::scale, double(params->scale)},
                                 {attr::zero_point, params->zero}};
  ValueId bytes = y;
  if (e.value(y).dtype == DType::kI8) {
    bytes = e.new_value(e.value(y).name + "/bytes", DType::kU8, e.dims(y));
    e.add(op::OffsetByte, {bytes}, {y}, node);
    offset_[y] = bytes;
  }
  e.kill(node);
  Node& made = e.add(op::Quantize, {node.inputs[0]}, {bytes}, node, attributes);
  quantizes_.push_back(&made);
  mine_.insert(&made);
}

void Int8Graph::open_dequantize(Node& node) {
  const ValueId x = node.inputs[0];
  const auto params = one_scale(e, node, e.value(x).dtype);
  if (!params || e.constant(x)) return;
  ValueId bytes = x;
  if (e.value(x).dtype == DType::kI8) {
    const auto [known, is_new] = offset_.try_emplace(x, kAbsent);
    if (is_new) known->second = e.emit(op::OffsetByte, {x}, DType::kU8, e.dims(x), node);
    bytes = known->second;
  }
  e.kill(node);
  Node& made = e.add(op::Dequantize, {bytes}, {node.outputs[0]}, node,
                     {{attr::scale, double(params->scale)}, {attr::zero_point, params->zero}});
  dequantizes_.push_back(&made);
  mine_.insert(&made);
}

/// What moves bytes as they are: signed ones as those that they were made of.
void Int8Graph::open_movement(Node& node) {
  const ValueId x = node.inputs.empty() ? kAbsent : node.inputs[0];
  if (x < 0 || e.constant(x) || node.op == op::Pad || !moves(node)) return;
  if (e.value(x).dtype == DType::kU8 && node.op == op::MaxPool && !e.is_output(node.outputs[0])) {
    e.bypass(node, largest_bytes(*this, node, x));
    return;
  }
  const auto known = offset_.find(x);
  if (known == offset_.end()) return;
  const ValueId first = moved(node, known->second, {}, 0);
  for (const ValueId y : node.outputs)
    if (y >= 0) offset_[y] = node.op == op::Split ? bytes_.at(y) : first;
}

void Int8Graph::open() {
  for (Node* node : e.nodes()) {
    open_movement(*node);
    if (node->op == op::QuantizeLinear) open_quantize(*node);
    if (node->op == op::DequantizeLinear) open_dequantize(*node);
  }
}

bool Int8Graph::moves(const Node& node) const {
  return !node.inputs.empty() && graph::moves_numbers(node, e.rank(node.inputs[0]));
}

/// The Dequantize, or the DequantizeLinear of a constant, that x is made of; nodes between with the
/// output that was followed, from x on.
const Node* Int8Graph::source_of(ValueId x, std::vector<std::pair<Node*, size_t>>* between) const {
  for (;;) {
    host::charge_work(1);
    Node* const node = e.producer(x);
    if (!node || e.value(x).dtype != DType::kF32) return nullptr;
    if (is_mine(node)) return node;
    if (node->op == op::DequantizeLinear)
      return e.constant(node->inputs[0]) && one_scale(e, *node, e.value(node->inputs[0]).dtype)
                 ? node
                 : nullptr;
    if (!moves(*node)) return nullptr;
    const auto which = std::find(node->outputs.begin(), node->outputs.end(), x);
    if (between) between->push_back({node, size_t(which - node->outputs.begin())});
    x = node->inputs[0];
  }
}

std::optional<QuantParams> Int8Graph::quant_params(ValueId x) const {
  std::vector<std::pair<Node*, size_t>> between;
  const Node* const source = source_of(x, &between);
  if (!source) return std::nullopt;
  const QuantParams params =
      source->op == op::Dequantize
          ? QuantParams{float(source->number(attr::scale, 1)), source->integer(attr::zero_point, 0)}
          : *one_scale(e, *source, e.value(source->inputs[0]).dtype);
  for (const auto& [node, which] : between) {
    if (node->op != op::Pad || node->text(attr::mode, "constant") != "constant") continue;
    const float padded = float(node->number(attr::value, 0));
    if (float(byte_of(params, padded) - params.zero) * params.scale != padded) return std::nullopt;
  }
  return params;
}

ValueId Int8Graph::bytes(ValueId x) {
  std::vector<std::pair<Node*, size_t>> between;
  const QuantParams of = *quant_params(x);
  const Node* const source = source_of(x, &between);
  ValueId made = source->inputs[0];
  if (const Constant* constant = e.constant(made); constant && constant->dtype == DType::kI8) {
    const auto [known, is_new] = offset_.try_emplace(made, kAbsent);
    if (is_new) {
      host::charge_memory(uint64_t(constant->elements()));
      std::vector<uint8_t> all;
      if (constant->bytes) all = *constant->bytes;
      for (uint8_t& each : all) each ^= 0x80;
      const std::string name = e.value(made).name + "/bytes";
      const Constant turned = graph::make_constant(DType::kU8, constant->dims, all.data());
      known->second = e.new_constant(name, turned);
    }
    made = known->second;
  }
  for (size_t i = between.size(); i-- > 0;) {
    const auto& [node, which] = between[i];
    const ValueId f32 = node->outputs[which];
    const auto known = bytes_.find(f32);
    made = known != bytes_.end() ? known->second : moved(*node, made, of, which);
    bytes_[f32] = made;
  }
  return made;
}

ValueId Int8Graph::moved(const Node& node, ValueId bytes, const QuantParams& params, size_t which) {
  if (node.op == op::MaxPool) return largest_bytes(*this, node, bytes);
  std::vector<ValueId> inputs = node.inputs, outputs;
  inputs[0] = bytes;
  for (size_t i = 0; i < node.outputs.size(); i++) {
    const ValueId y = node.outputs[i];
    outputs.push_back(y < 0 ? y : e.new_value(e.value(y).name + "/bytes", DType::kU8, e.dims(y)));
    if (y >= 0 && node.op == op::Split) bytes_[y] = outputs[i];
  }
  Attributes attributes = node.attributes;
  if (node.op == op::Pad)
    attributes[attr::value] = double(byte_of(params, float(node.number(attr::value, 0))));
  e.add(node.op, inputs, outputs, node, attributes);
  return outputs[which];
}

std::optional<Quantized> Int8Graph::quantized_constant(ValueId x) const {
  Quantized found;
  const Node* node = e.producer(x);
  if (node && node->op == op::Transpose) {
    found.perm = node->integers(attr::perm);
    node = e.producer(node->inputs[0]);
  }
  if (!node || node->op != op::DequantizeLinear) return std::nullopt;
  found.integers = e.constant(node->inputs[0]);
  const Constant *scale = e.constant(node->inputs[1]), *zero = e.constant(node->inputs[2]);
  if (!found.integers || !scale || !zero || scale->dims.size() > 1) return std::nullopt;
  for (int64_t i = 0; i < scale->elements(); i++) {
    found.scales.push_back(scale->as<float>()[i]);
    found.zeros.push_back(graph::read_integer(*zero, i));
  }
  found.axis = node->integer(attr::axis, 0);
  return found;
}

ValueId Int8Graph::lookup(ValueId x, const std::vector<int64_t>& table, const Node& from) {
  bool same = true;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < table.size(); i++) {
    same &= table[i] == int64_t(i);
    bytes.push_back(uint8_t(table[i]));
  }
  if (same) return x;
  // Above a Reshape nothing stands between it and the images of the operator that made them.
  const Dims dims = e.dims(x);
  while (const Node* const shaped = e.producer_if(x, op::Reshape)) x = shaped->inputs[0];
  const ValueId constant = e.new_constant(e.value(x).name + "/table",
                                          graph::make_constant(DType::kU8, {256}, bytes.data()));
  return e.reshape(e.emit(op::Lookup, {x, constant}, DType::kU8, e.dims(x), from), dims, from);
}

}  // namespace ingot::passes::quantize
