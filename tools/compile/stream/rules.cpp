// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/rules.cpp - operators that work on frames one by one or move them; the table
// of all. Windows and recurrent layers: window_rules.cpp.
#include "tools/compile/stream/rules.h"

#include <algorithm>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/stream/operator_frames.h"
#include "tools/graph/elementwise_steps.h"

namespace ingot::convert {
namespace {

/// The first operand alone has frames, and the output has them along the same axis.
StreamRule frame_by_frame(const OperatorFrames& node) {
  node.expect_first_alone();
  StreamRule rule;
  rule.y = node.timeline(0);
  rule.y.past.reset();
  return rule;
}

/// Nothing about one frame depends on another, unless the operator works along `forbidden`.
StreamRule beside(const OperatorFrames& node, int64_t forbidden, const char* work) {
  if (int64_t(node.timeline(0).axis) == forbidden)
    throw NotStreamable{std::string(work) + " over the whole axis", ""};
  return frame_by_frame(node);
}

StreamRule by_axis(const OperatorFrames& node, const char* work) {
  return beside(node, node.node.integer(attr::axis, -1), work);
}
StreamRule softmax(const OperatorFrames& node) { return by_axis(node, "softmax"); }
StreamRule cumulate(const OperatorFrames& node) { return by_axis(node, "sum"); }
StreamRule softmax_last(const OperatorFrames& node) {
  return beside(node, int64_t(node.rank(0)) - 1, "softmax");
}
StreamRule linear(const OperatorFrames& node) {
  if (node.out_dims().size() != node.rank(0))
    throw NotStreamable{"its rows are those of a flattened tensor", ""};
  return beside(node, int64_t(node.rank(0)) - 1, "a product");
}
StreamRule batch_normalize(const OperatorFrames& node) { return beside(node, 1, "a scale"); }
/// With one scale for each index along `axis`, of a constant operand of one dimension.
StreamRule quantize(const OperatorFrames& node) {
  const graph::Constant* scale = node.constant(1);
  return beside(node, scale && scale->elements() > 1 ? node.node.integer(attr::axis, 1) : -1,
                "a scale for each frame");
}
StreamRule normalize_rows(const OperatorFrames& node) {
  if (int64_t(node.timeline(0).axis) >= node.node.integer(attr::axis, 0))
    throw NotStreamable{"normalizes over the whole axis", ""};
  return frame_by_frame(node);
}

StreamRule reduce(const OperatorFrames& node) {
  std::vector<int64_t> axes = node.node.integers(attr::axes);
  if (node.node.has(attr::axis)) axes = {node.node.integer(attr::axis, 0)};
  StreamRule rule = frame_by_frame(node);
  const auto axis = int64_t(rule.y.axis);
  if (axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end())
    throw NotStreamable{"reduces over the whole axis",
                        "a pooling with a window says over how many frames"};
  if (node.node.integer(attr::keepdims, 1) == 0)
    rule.y.axis -= size_t(
        std::count_if(axes.begin(), axes.end(), [&](int64_t reduced) { return reduced < axis; }));
  return rule;
}

/// Operands of the same frames; others are the same for each frame.
StreamRule together(const OperatorFrames& node, const std::vector<size_t>& with_frames,
                    size_t out_axis) {
  std::vector<Timeline> timelines;
  for (const size_t i : with_frames) {
    timelines.push_back(node.timeline(i));
    if (timelines.back().rate != timelines[0].rate ||
        timelines.back().extent != timelines[0].extent)
      throw NotStreamable{"its operands have different numbers of frames", ""};
  }
  const Aligned aligned = align(timelines);
  StreamRule rule;
  rule.y = aligned.y;
  rule.y.axis = out_axis;
  for (size_t i = 0; i < with_frames.size(); i++)
    rule.histories.emplace_back(with_frames[i], aligned.operands[i]);
  return rule;
}

StreamRule broadcast(const OperatorFrames& node) {
  const size_t rank = node.out_dims().size();
  std::vector<size_t> with_frames;
  size_t axis = rank;
  const auto aligned_axis = [&](size_t operand, size_t from) {
    return rank - node.rank(operand) + from;
  };
  for (size_t i = 0; i < node.node.inputs.size(); i++) {
    if (!node.has_frames(i)) continue;
    const size_t here = aligned_axis(i, node.timeline(i).axis);
    if (axis != rank && here != axis)
      throw NotStreamable{"its operands have their frames along different axes", ""};
    axis = here;
    with_frames.push_back(i);
  }
  for (size_t i = 0; i < node.node.inputs.size(); i++) {
    if (node.node.inputs[i] < 0 || node.has_frames(i)) continue;
    const graph::Dims& dims = node.dims(i);
    const size_t added = rank - dims.size();
    if (axis >= added && dims[axis - added] != graph::Dim(1))
      throw NotStreamable{
          "an operand has numbers of its own for each frame of the whole, such as "
          "positions",
          ""};
  }
  return together(node, with_frames, axis);
}

/// Frames of one number before and after, or none.
StreamRule pad_frames(const Timeline& x, int64_t before, int64_t extent,
                      std::optional<double> filling) {
  StreamRule rule;
  rule.y = x;
  rule.y.extent = extent;
  rule.y.offset = x.offset - before;
  rule.y.exact_to = std::clamp<int64_t>(x.exact_to + before, 0, extent);
  const bool is_past_known = x.offset >= 0 || (filling && x.past == filling);
  if (before > 0) {
    rule.y.exact_from = x.offset <= 0 && x.exact_from == 0 ? 0 : x.exact_from + before;
    rule.y.past = is_past_known ? filling : std::nullopt;
  }
  return rule;
}

StreamRule concatenate(const OperatorFrames& node) {
  const auto axis = size_t(node.node.integer(attr::axis, 0));
  std::vector<size_t> with_frames;
  for (size_t i = 0; i < node.node.inputs.size(); i++)
    if (node.has_frames(i)) with_frames.push_back(i);
  const Timeline& first = node.timeline(with_frames[0]);
  if (first.axis != axis) {
    if (with_frames.size() != node.node.inputs.size())
      throw NotStreamable{"it joins frames with what is no frame", ""};
    return together(node, with_frames, first.axis);
  }
  if (with_frames.size() != 1) throw NotStreamable{"it joins one stretch of frames to another", ""};
  // constants before and after are padding
  int64_t before = 0;
  std::optional<double> filling;
  for (size_t i = 0; i < node.node.inputs.size(); i++) {
    if (i == with_frames[0]) continue;
    const graph::Constant* constant = node.constant(i);
    const std::optional<double> number = constant ? passes::uniform(*constant) : std::nullopt;
    if (!number || (filling && *filling != *number))
      throw NotStreamable{"it joins frames to what is not one number repeated", ""};
    filling = number;
    if (i < with_frames[0]) before += constant->dims[axis];
  }
  StreamRule rule = pad_frames(first, before, node.frames_of(0, axis), filling);
  rule.only_operand = with_frames[0];
  return rule;
}

StreamRule pad(const OperatorFrames& node) {
  const Timeline& x = node.timeline(0);
  graph::Dims before = node.node.dims(attr::before);
  const std::string mode = node.node.text(attr::mode, "constant");
  const int64_t extent = node.frames_of(0, x.axis);
  const std::optional<int64_t> front = before[x.axis].value();
  if (!front) throw NotStreamable{"the number of frames that it adds is dynamic", ""};
  if (mode != "constant" && extent != x.extent)
    throw NotStreamable{"it pads the axis with other frames (" + mode + ")",
                        "pad it with a number"};
  const bool pads_frames = extent != x.extent;
  StreamRule rule =
      pad_frames(x, *front, extent,
                 pads_frames ? std::optional(node.node.number(attr::value, 0)) : std::nullopt);
  rule.edit = [before, axis = x.axis](graph::Node& padded) mutable {
    before[axis] = graph::Dim(0);
    padded.attributes[attr::before] = before;
  };
  return rule;
}

StreamRule slice(const OperatorFrames& node) {
  const Timeline& x = node.timeline(0);
  graph::Dims starts = node.node.dims(attr::starts);
  const int64_t step = node.node.integers(attr::steps)[x.axis];
  if (step < 1) throw NotStreamable{"it turns the order of the frames round", ""};
  const std::optional<int64_t> start = starts[x.axis].value();
  if (!start) throw NotStreamable{"the first frame that it takes is dynamic", ""};
  SlidingWindow span;
  span.stride = step;
  span.begin = -*start;
  span.extent = node.frames_of(0, x.axis);
  const Windowed windowed = slide(x, span);
  StreamRule rule;
  rule.y = windowed.y;
  rule.y.past = step == 1 ? x.past : std::nullopt;
  rule.histories.emplace_back(0, windowed.x);
  rule.edit = [starts, axis = x.axis](graph::Node& cut) mutable {
    starts[axis] = graph::Dim(0);
    cut.attributes[attr::starts] = starts;
  };
  return rule;
}

StreamRule split(const OperatorFrames& node) {
  return beside(node, node.node.integer(attr::axis, 0), "a division");
}

StreamRule gather(const OperatorFrames& node) {
  const int64_t axis = node.node.integer(attr::axis, 0);
  if (node.has_frames(0) && node.has_frames(1))
    throw NotStreamable{"it looks frames up by frames", ""};
  if (node.has_frames(1)) {  // rows of a table
    StreamRule rule;
    rule.y = node.timeline(1);
    rule.y.past.reset();
    rule.y.axis += size_t(axis);
    return rule;
  }
  StreamRule rule = beside(node, axis, "a choice");
  if (int64_t(rule.y.axis) > axis) rule.y.axis = rule.y.axis + node.rank(1) - 1;
  return rule;
}

StreamRule transpose(const OperatorFrames& node) {
  StreamRule rule = frame_by_frame(node);
  const std::vector<int64_t> perm = node.node.integers(attr::perm);
  rule.y.past = node.timeline(0).past;
  rule.y.axis = size_t(std::find(perm.begin(), perm.end(), int64_t(rule.y.axis)) - perm.begin());
  return rule;
}

/// The axis is where the same number of elements lies before it. Of several, where the extent is
/// 1, the nearest.
StreamRule reshape(const OperatorFrames& node) {
  StreamRule rule = frame_by_frame(node);
  rule.y.past = node.timeline(0).past;
  const graph::Dims& from = node.dims(0);
  const graph::Dims& to = node.out_dims();
  const size_t axis = rule.y.axis;
  const graph::Dim before =
      graph::product(graph::Dims(from.begin(), from.begin() + std::ptrdiff_t(axis)));
  std::optional<size_t> found;
  graph::Dim passed(1);
  for (size_t k = 0; k < to.size(); k++) {
    const auto distance = [&](size_t place) { return place > axis ? place - axis : axis - place; };
    if (passed == before && to[k] == from[axis] && (!found || distance(k) < distance(*found)))
      found = k;
    passed = passed * to[k];
  }
  if (!found) throw NotStreamable{"it mixes the axis with others", ""};
  rule.y.axis = *found;
  return rule;
}

/// Expand, Tile and Resize where they leave the axis as it is.
StreamRule keep_axis(const OperatorFrames& node) {
  StreamRule rule = frame_by_frame(node);
  rule.y.axis += node.out_dims().size() - node.rank(0);
  if (node.out_dims()[rule.y.axis] != graph::Dim(rule.y.extent))
    throw NotStreamable{"it makes more or fewer frames of these", ""};
  return rule;
}

/// Of products of matrices: the axis that is summed over, and the axis of the output.
StreamRule matmul(const OperatorFrames& node) {
  const size_t out_rank = node.out_dims().size();
  std::vector<size_t> with_frames;
  size_t axis = out_rank;
  for (size_t i = 0; i < 2; i++) {
    if (!node.has_frames(i)) continue;
    const size_t rank = node.rank(i), here = node.timeline(i).axis;
    if (rank < 2 || node.rank(1 - i) < 2 || here == (i == 0 ? rank - 1 : rank - 2))
      throw NotStreamable{"it sums over the whole axis", ""};
    const size_t out = out_rank - rank + here;
    if (axis != out_rank && axis != out)
      throw NotStreamable{"it multiplies each frame by each, as attention does", ""};
    axis = out;
    with_frames.push_back(i);
  }
  for (size_t i = 0; i < 2; i++) {
    const size_t added = out_rank - node.rank(i);
    if (!node.has_frames(i) && axis + 2 < out_rank && axis >= added &&
        node.dims(i)[axis - added] != graph::Dim(1))
      throw NotStreamable{"an operand has numbers of its own for each frame of the whole", ""};
  }
  return together(node, with_frames, axis);
}

StreamRule gemm(const OperatorFrames& node) {
  node.expect_first_alone();
  StreamRule rule = frame_by_frame(node);
  const size_t rows = node.node.integer(attr::transA, 0) ? 1 : 0;
  if (rule.y.axis != rows) throw NotStreamable{"it sums over the whole axis", ""};
  if (node.node.inputs.size() > 2 && node.node.inputs[2] >= 0 && node.rank(2) == 2 &&
      node.dims(2)[0] != graph::Dim(1))
    throw NotStreamable{"it adds numbers of their own to each frame of the whole", ""};
  rule.y.axis = 0;
  return rule;
}

constexpr struct {
  graph::Operators ops;
  StreamRule (*rule)(const OperatorFrames&);
} kRules[] = {
    {{op::Cast, op::Identity, op::QuantizedElementwise}, broadcast},
    {{op::OffsetByte, op::Lookup, op::Quantize, op::Dequantize}, frame_by_frame},
    {{op::QuantizeLinear, op::DequantizeLinear}, quantize},
    {{op::BatchNormalization}, batch_normalize},
    {{op::LayerNormalization, op::RMSNormalization}, normalize_rows},
    {{op::Softmax, op::LogSoftmax}, softmax},
    {{op::QuantizedSoftmax}, softmax_last},
    {{op::CumSum}, cumulate},
    {graph::kReductions, reduce},
    {{op::ArgMax, op::ArgMin}, reduce},
    {{op::Concat}, concatenate},
    {{op::Pad}, pad},
    {{op::Slice}, slice},
    {{op::Split}, split},
    {{op::Gather}, gather},
    {{op::Transpose}, transpose},
    {{op::Reshape}, reshape},
    {{op::Expand, op::Tile, op::Resize}, keep_axis},
    {{op::MatMul}, matmul},
    {{op::Gemm}, gemm},
    {{op::Linear, op::QuantizedLinear}, linear},
    {{op::Conv}, convolve},
    {{op::ConvTranspose}, convolve_transposed},
    {{op::MaxPool, op::AveragePool, op::LpPool}, pool},
    {{op::QuantizedConv2d}, convolve_bytes},
    {{op::QuantizedPool2d}, pool_bytes},
    {graph::kRecurrences, recur},
};

}  // namespace

StreamRule stream_rule(const graph::Model& model, const graph::Node& node,
                       const Timelines& timelines) {
  const OperatorFrames frames{model, node, timelines};
  if (graph::has_steps(node.op)) return broadcast(frames);
  for (const auto& row : kRules)
    if (row.ops.has(node.op)) return row.rule(frames);
  if (node.op == op::Attention || node.op == op::QuantizedMatMul)
    throw NotStreamable{"it weighs all frames of the whole", ""};
  throw NotStreamable{"it is not known to work on one frame after another", ""};
}

}  // namespace ingot::convert
