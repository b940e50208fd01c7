// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/port_quantization.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

/// The one number of a constant of one element.
bool read_one(const Model& model, const Node& node, size_t operand, double* out) {
  const Constant* constant =
      operand < node.inputs.size() ? model.constant(node.inputs[operand]) : nullptr;
  if (!constant) return false;
  const std::vector<double> numbers = read_numbers(*constant);
  if (numbers.size() != 1) return false;
  *out = numbers[0];
  return true;
}

void record(Model* model, const Node& node, const std::string& port) {
  double scale = 0, zero_point = 0;
  const bool has_zero_point = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
  if (read_one(*model, node, 1, &scale) &&
      (!has_zero_point || read_one(*model, node, 2, &zero_point)))
    record_quantization(model, port, scale, int64_t(zero_point));
}

}  // namespace

void record_quantization(Model* model, const std::string& port, double scale, int64_t zero_point) {
  if (!std::isfinite(scale) || scale <= 0) return;
  uint64_t bits;
  std::memcpy(&bits, &scale, sizeof bits);
  char text[96];
  std::snprintf(text, sizeof text, "scale %.9g zero_point %" PRId64 " bits %016" PRIx64, scale,
                zero_point, bits);
  model->metadata.emplace("ingot.quantization." + port, text);
}

void record_quantization(Model* model) {
  const auto is_in = [](const auto& list, ValueId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (const Node& node : model->graph.nodes) {
    if (node.op == op::DequantizeLinear && !node.inputs.empty() &&
        is_in(model->graph.inputs, node.inputs[0]))
      record(model, node, model->values[size_t(node.inputs[0])].name);
    if (node.op == op::QuantizeLinear && !node.outputs.empty() &&
        is_in(model->graph.outputs, node.outputs[0]))
      record(model, node, model->values[size_t(node.outputs[0])].name);
  }
}

}  // namespace ingot::graph
