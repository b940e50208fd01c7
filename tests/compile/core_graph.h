// SPDX-License-Identifier: Apache-2.0
// tests/compile/core_graph.h - models in core form (tools/compile/passes/README.md) in a few lines,
// with seeded weights.
#pragma once
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::convert {

using graph::Dims;
using graph::ValueId;
using AttributeMap = graph::Attributes;

class CoreGraph {
 public:
  graph::Model model;
  explicit CoreGraph(uint32_t seed = 1) : random_(seed) { model.name = "core"; }

  ValueId input(const std::string& name, Dims dims, DType dtype = DType::kF32) {
    const ValueId id = value(name, std::move(dims), dtype);
    model.graph.inputs.push_back(id);
    return id;
  }
  ValueId value(const std::string& name, Dims dims, DType dtype = DType::kF32) {
    const ValueId id = model.add_value(name, dtype);
    model.values[size_t(id)].dims = std::move(dims);
    model.values[size_t(id)].shape_known = true;
    return id;
  }
  void output(ValueId id) { model.graph.outputs.push_back(id); }
  ValueId weights(std::vector<int64_t> dims, float scale = 0.5f) {
    int64_t count = 1;
    for (const int64_t n : dims) count *= n;
    std::vector<float> numbers(static_cast<size_t>(count));
    std::uniform_real_distribution<float> draw(-scale, scale);
    for (float& x : numbers) x = draw(random_);
    return constant(dims, numbers);
  }
  ValueId constant(std::vector<int64_t> dims, const std::vector<float>& numbers) {
    return added(graph::make_constant(DType::kF32, std::move(dims), numbers.data()));
  }
  ValueId indices(std::vector<int64_t> dims, const std::vector<int64_t>& numbers) {
    return added(graph::make_constant(DType::kI64, std::move(dims), numbers.data()));
  }
  /// Adds a node with one result and returns it.
  ValueId node(graph::Operator op, std::vector<ValueId> inputs, Dims dims,
               AttributeMap attributes = {}, DType dtype = DType::kF32) {
    const ValueId y = value(text(op) + std::to_string(model.values.size()), std::move(dims), dtype);
    add(op, std::move(inputs), {y}, std::move(attributes));
    return y;
  }
  graph::Node& add(graph::Operator op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                   AttributeMap attributes = {}) {
    graph::Node node;
    node.op = op;
    node.name = text(op) + "_" + std::to_string(model.source_nodes.size());
    node.sources = {uint32_t(model.source_nodes.size())};
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.attributes = std::move(attributes);
    model.source_nodes.push_back({node.name, text(op), ""});
    block_->nodes.push_back(std::move(node));
    return block_->nodes.back();
  }
  /// Nodes go to `graph` until end(). Gives where they went before.
  graph::Graph* begin(graph::Graph* graph) { return std::exchange(block_, graph); }
  void end(graph::Graph* outer = nullptr) { block_ = outer ? outer : &model.graph; }

  ValueId conv(ValueId x, int64_t outputs, int64_t kernel, int64_t stride = 1,
               const std::string& activation = "relu", ValueId residual = -1,
               const std::string& method = "direct") {
    const Dims in = model.values[size_t(x)].dims;
    const int64_t channels = *in[3].value(), pad = kernel / 2;
    const auto extent = [&](const graph::Dim& n) {
      return (n + graph::Dim(2 * pad - kernel)) / graph::Dim(stride) + graph::Dim(1);
    };
    const ValueId w = weights({outputs, kernel, kernel, method == "depthwise" ? 1 : channels}),
                  b = weights({outputs});
    std::vector<ValueId> inputs{x, w, b};
    if (residual >= 0) inputs.push_back(residual);
    const Dims out{in[0], extent(in[1]), extent(in[2]), outputs};
    return node(op::Conv2d, inputs, out,
                {{attr::kernel_shape, std::vector<int64_t>{kernel, kernel}},
                 {attr::strides, std::vector<int64_t>{stride, stride}},
                 {attr::pads, std::vector<int64_t>{pad, pad, pad, pad}},
                 {attr::group, method == "depthwise" ? channels : 1},
                 {attr::method, method},
                 {attr::activation, activation}});
  }
  /// u8 NHWC, float_even; pads of the zero point that keep the extents divided by the stride.
  ValueId conv_of_bytes(ValueId x, int64_t outputs, int64_t kernel, int64_t stride = 1,
                        const std::string& method = "direct") {
    const Dims in = model.values[size_t(x)].dims;
    const bool depthwise = method == "depthwise";
    const int64_t channels = *in[3].value(), pad = kernel / 2, depth = depthwise ? 1 : channels;
    std::vector<int8_t> numbers(size_t(outputs * kernel * kernel * depth));
    for (int8_t& w : numbers) w = int8_t(int(random_() % 255) - 127);
    const std::vector<int32_t> biases(size_t(outputs), 500);
    const std::vector<float> multipliers(size_t(outputs), 0.004f);
    const auto extent = [&](const graph::Dim& n) {
      return (n + graph::Dim(2 * pad - kernel)) / graph::Dim(stride) + graph::Dim(1);
    };
    const ValueId w = added(graph::make_constant(DType::kI8, {outputs, kernel, kernel, depth},
                                                 numbers.data())),
                  b = added(graph::make_constant(DType::kI32, {outputs}, biases.data())),
                  m = constant({outputs}, multipliers);
    return node(op::QuantizedConv2d, {x, w, b, m}, {in[0], extent(in[1]), extent(in[2]), outputs},
                {{attr::kernel_h, kernel},
                 {attr::kernel_w, kernel},
                 {attr::stride_h, stride},
                 {attr::stride_w, stride},
                 {attr::pad_top, pad},
                 {attr::pad_left, pad},
                 {attr::pad_bottom, pad},
                 {attr::pad_right, pad},
                 {attr::groups, depthwise ? channels : int64_t(1)},
                 {attr::method, method},
                 {attr::x_zero, int64_t(120)},
                 {attr::y_zero, int64_t(120)},
                 {attr::low, int64_t(90)}},
                DType::kU8);
  }
  ValueId relu(ValueId x) {
    return node(op::Elementwise, {x}, model.values[size_t(x)].dims,
                {{attr::steps, std::vector<int64_t>{17, 0, 0, 0}},
                 {attr::step_numbers, std::vector<double>{0, 0}}});
  }
  ValueId add_to(ValueId x, ValueId other) {
    return node(op::Elementwise, {x, other}, model.values[size_t(x)].dims,
                {{attr::steps, std::vector<int64_t>{96, 0, 1, 0}},
                 {attr::step_numbers, std::vector<double>{0, 0}}});
  }
  ValueId slice_channels(ValueId x, int64_t start, int64_t count) {
    Dims dims = model.values[size_t(x)].dims, starts(dims.size(), graph::Dim(0));
    starts.back() = start;
    const std::vector<int64_t> steps(dims.size(), 1);
    dims.back() = count;
    return node(op::Slice, {x}, dims, {{attr::starts, starts}, {attr::steps, steps}});
  }
  ValueId concat(std::vector<ValueId> parts, int64_t axis) {
    Dims dims = model.values[size_t(parts[0])].dims;
    for (size_t i = 1; i < parts.size(); i++)
      dims[size_t(axis)] = dims[size_t(axis)] + model.values[size_t(parts[i])].dims[size_t(axis)];
    return node(op::Concat, std::move(parts), dims, {{attr::axis, axis}});
  }

 private:
  ValueId added(graph::Constant constant) {
    return model.add_constant("c" + std::to_string(model.values.size()), std::move(constant));
  }
  std::mt19937 random_;
  graph::Graph* block_ = &model.graph;
};

}  // namespace ingot::convert
