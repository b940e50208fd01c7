// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/window_rules.cpp - operators with a window along the axis, and recurrent
// layers.
#include <algorithm>
#include <limits>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/stream/operator_frames.h"

namespace ingot::convert {
namespace {

/// One dimension of a window in normal form: "kernel_shape" and its neighbors.
struct WindowAlong {
  int64_t kernel, stride, dilation, begin;
};

int64_t at(const graph::Node& node, graph::AttributeName key, size_t i, int64_t otherwise) {
  const std::vector<int64_t> list = node.integers(key);
  return i < list.size() ? list[i] : otherwise;
}

WindowAlong window_along(const graph::Node& node, size_t i) {
  return {at(node, attr::kernel_shape, i, 1), at(node, attr::strides, i, 1),
          at(node, attr::dilations, i, 1), at(node, attr::pads, i, 0)};
}

/// A window that fits once has a stride that says nothing: it moves frame by frame.
StreamRule slide_over(const OperatorFrames& node, const WindowAlong& window,
                      std::optional<double> outside,
                      std::function<void(graph::Node&, int64_t stride)> edit) {
  const Timeline& x = node.timeline(0);
  SlidingWindow span;
  span.kernel = (window.kernel - 1) * window.dilation + 1;
  span.begin = window.begin;
  span.extent = node.frames_of(0, x.axis);
  span.stride = span.extent == 1 ? 1 : window.stride;
  span.outside = outside;
  const Windowed over = slide(x, span);
  StreamRule rule;
  rule.y = over.y;
  rule.histories.emplace_back(0, over.x);
  rule.edit = [edit = std::move(edit), stride = span.stride](graph::Node& windowed) {
    edit(windowed, stride);
  };
  return rule;
}

/// Channels second, as ONNX has them.
StreamRule slide_channels_second(const OperatorFrames& node, std::optional<double> outside) {
  node.expect_first_alone();
  const size_t axis = node.timeline(0).axis;
  if (axis == 1) throw NotStreamable{"the axis is that of the channels, which it mixes", ""};
  if (axis == 0) {  // images one by one
    StreamRule rule;
    rule.y = node.timeline(0);
    rule.y.past.reset();
    return rule;
  }
  const size_t i = axis - 2, dimensions = node.rank(0) - 2;
  return slide_over(node, window_along(node.node, i), outside,
                    [i, dimensions](graph::Node& windowed, int64_t stride) {
                      std::vector<int64_t> pads = windowed.integers(attr::pads),
                                           strides = windowed.integers(attr::strides);
                      pads.resize(2 * dimensions, 0);
                      strides.resize(dimensions, 1);
                      pads[i] = pads[dimensions + i] = 0;
                      strides[i] = stride;
                      windowed.attributes[attr::pads] = pads;
                      windowed.attributes[attr::strides] = strides;
                    });
}

struct Direction {
  graph::AttributeName kernel, stride, dilation, before, after;
};
constexpr Direction kDirections[] = {
    {attr::kernel_h, attr::stride_h, attr::dilation_h, attr::pad_top, attr::pad_bottom},
    {attr::kernel_w, attr::stride_w, attr::dilation_w, attr::pad_left, attr::pad_right}};

/// Channels last, as the runtime has them.
StreamRule slide_channels_last(const OperatorFrames& node, std::optional<double> outside) {
  node.expect_first_alone();
  const size_t axis = node.timeline(0).axis;
  if (axis != 1 && axis != 2) throw NotStreamable{"the axis is that of its batch or channels", ""};
  const Direction& d = kDirections[axis - 1];
  const WindowAlong window = {node.node.integer(d.kernel, 1), node.node.integer(d.stride, 1),
                              node.node.integer(d.dilation, 1), node.node.integer(d.before, 0)};
  return slide_over(node, window, outside, [&d](graph::Node& windowed, int64_t stride) {
    windowed.attributes[d.before] = windowed.attributes[d.after] = int64_t{0};
    windowed.attributes[d.stride] = stride;
  });
}

}  // namespace

StreamRule convolve(const OperatorFrames& node) { return slide_channels_second(node, 0.0); }

StreamRule convolve_transposed(const OperatorFrames& node) {
  node.expect_first_alone();
  const Timeline& x = node.timeline(0);
  if (x.axis >= 2) {
    const WindowAlong window = window_along(node.node, x.axis - 2);
    if (window.kernel != 1 || window.stride != 1 || window.begin != 0 ||
        node.frames_of(0, x.axis) != x.extent)
      throw NotStreamable{"it spreads a frame over others",
                          "a transposed convolution streams where its kernel is 1 along the axis"};
  }
  return slide_channels_second(node, std::nullopt);
}

StreamRule pool(const OperatorFrames& node) {
  std::optional<double> outside;
  if (node.node.op == op::MaxPool) outside = -std::numeric_limits<double>::infinity();
  // an average over fewer frames where those outside do not count
  if (node.node.op == op::AveragePool && node.node.integer(attr::count_include_pad, 0) != 0)
    outside = 0;
  if (node.node.op == op::LpPool) outside = 0;
  return slide_channels_second(node, outside);
}

StreamRule convolve_bytes(const OperatorFrames& node) {
  if (node.node.text(attr::requant, "float_even") == "to_float")
    throw NotStreamable{"its input's scale is that of all frames of the whole", ""};
  return slide_channels_last(node, double(node.node.integer(attr::x_zero, 0)));
}

StreamRule pool_bytes(const OperatorFrames& node) {
  const bool is_max = node.node.text(attr::kind, "max") == "max";
  return slide_channels_last(node, is_max ? std::optional<double>(0) : std::nullopt);
}

StreamRule recur(const OperatorFrames& node) {
  node.expect_first_alone();
  const Timeline& x = node.timeline(0);
  const bool by_batch = node.node.integer(attr::layout, 0) == 1;
  if (x.axis != (by_batch ? 1u : 0u)) throw NotStreamable{"the axis is not that of its steps", ""};
  if (node.node.text(attr::direction, "forward") != "forward")
    throw NotStreamable{"it runs backward over the whole axis", ""};
  if (node.node.inputs.size() > 4 && node.node.inputs[4] >= 0)
    throw NotStreamable{"its sequences have lengths of their own", ""};
  if (x.offset != 0 || x.exact_from != 0)
    throw NotStreamable{
        "its state would begin with frames that the whole network does not have, for a layer "
        "before it has no padding or waits for later frames",
        ""};
  if (node.node.outputs.empty() || node.node.outputs[0] < 0)
    throw NotStreamable{"it gives the state after the last frame of the whole",
                        "take its output of each frame"};
  StreamRule rule;
  rule.y = x;
  rule.y.past.reset();
  // [T, D, B, H], by batch [B, T, D, H]
  rule.carried.push_back({5, 1});
  if (node.node.op == op::LSTM) rule.carried.push_back({6, 2});
  return rule;
}

}  // namespace ingot::convert
