// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_normalize.cpp - normalizations; those without a core operator are spelled
// out.
#include <algorithm>

#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"

namespace ingot::graph {
namespace {

void expect_vector(NodeContext& context, size_t input, Dim length, const char* name) {
  if (context.rank(input) == 1 && length == context.dims(0)[1]) {
    fit_equal(context, 0, 1, input, 0);
    length = context.dims(0)[1];
  }
  if (context.rank(input) == 1) context.force_equal(length, context.dims(input)[0]);
  if (context.rank(input) == 1 && (context.dims(input)[0] == length || !length.is_static())) return;
  context.corrupt(std::string("its ") + name + " has shape " + text(context.dims(input)) +
                  ", expected [" + length.text() + "]");
}
void expect_channels(NodeContext& context) {
  if (context.rank(0) < 2)
    context.corrupt("its input has shape " + text(context.dims(0)) +
                    ", expected at least 2 dimensions");
}

void batch(NodeContext& context) {
  expect_channels(context);
  const char* const kNames[] = {"scale", "B", "mean", "var"};
  for (size_t i = 0; i < 4; i++) expect_vector(context, i + 1, context.dims(0)[1], kNames[i]);
  context.set(0, context.dtype(0), context.dims(0));
}
void instance(NodeContext& context) {
  expect_channels(context);
  expect_vector(context, 1, context.dims(0)[1], "scale");
  expect_vector(context, 2, context.dims(0)[1], "B");
  context.set(0, context.dtype(0), context.dims(0));
}
void group(NodeContext& context) {
  expect_channels(context);
  const int64_t groups = context.node.integer(attr::num_groups, 0);
  const auto channels = context.dims(0)[1].value();
  if (!channels)
    context.refuse("", "its number of channels is symbolic (" + context.dims(0)[1].text() + ")",
                   "bind it with --dim");
  if (groups < 1 || *channels % groups != 0)
    context.corrupt("num_groups is " + std::to_string(groups) + " for " +
                    std::to_string(*channels) + " channels");
  // Until opset 20 scale and bias are per group, which some exporters did not heed.
  if (context.node.integer(attr::per_group, 0) != 0 && *channels != groups &&
      context.dims(1) == Dims{groups}) {
    context.erase({attr::per_group});
    for (size_t i = 1; i <= 2; i++) {
      expect_vector(context, i, Dim(groups), "scale or bias");
      const ValueId column = context.reshape(context.in(i), {groups, 1});
      context.node.inputs[i] =
          context.reshape(context.expand(column, {groups, *channels / groups}), {*channels});
    }
  }
  context.erase({attr::per_group});
  expect_vector(context, 1, context.dims(0)[1], "scale");
  expect_vector(context, 2, context.dims(0)[1], "bias");
  context.set(0, context.dtype(0), context.dims(0));
}
/// Mean and 1 / standard deviation, where somebody reads them: in f32 also of f16 and bf16, as
/// stash_type 1 says.
void statistics(NodeContext& context, int64_t first) {
  if (context.node.outputs.size() < 2) return;
  std::vector<int64_t> axes;
  for (int64_t i = first; i < context.rank(0); i++) axes.push_back(i);
  const auto mean_of = [&](ValueId x) {
    return context.make(op::ReduceMean, {x}, {{attr::axes, axes}, {attr::keepdims, int64_t(1)}});
  };
  const DType dtype = context.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  const ValueId x = context.dtype(0) == dtype ? context.in(0) : context.cast(context.in(0), dtype);
  const ValueId mean = mean_of(x), centred = context.make(op::Sub, {x, mean});
  const ValueId variance = mean_of(context.make(op::Mul, {centred, centred}));
  const ValueId shifted = context.make(
      op::Add, {variance, context.scalar(dtype, context.node.number(attr::epsilon, 1e-5))});
  const ValueId inverse = context.make(op::Reciprocal, {context.make(op::Sqrt, {shifted})});
  if (context.node.outputs[1] != kAbsent) context.run().replace(context.node.outputs[1], mean);
  if (context.node.outputs.size() > 2 && context.node.outputs[2] != kAbsent)
    context.run().replace(context.node.outputs[2], inverse);
  context.node.outputs.resize(1);
}
void layer(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, -1), context.rank(0));
  context.node.attributes[attr::axis] = axis;
  statistics(context, axis);
  if (context.node.outputs[0] == kAbsent) context.refuse("", "only its statistics are used");
  for (size_t i = 1; i < context.node.inputs.size(); i++) {
    for (int64_t back = 1; context.has(i) && back <= context.rank(i) && back <= context.rank(0);
         back++)
      if (context.dims(i)[size_t(context.rank(i) - back)] != Dim(1))
        fit_equal(context, 0, size_t(context.rank(0) - back), i, size_t(context.rank(i) - back));
  }
  for (size_t i = 1; i < context.node.inputs.size(); i++) {
    if (context.has(i) && broadcast(context, context.dims(0), context.dims(i)) != context.dims(0)) {
      context.corrupt("its scale or bias " + text(context.dims(i)) + " does not broadcast to " +
                      text(context.dims(0)));
    }
  }
  context.set(0, context.dtype(0), context.dims(0));
}

void lp(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, -1), context.rank(0));
  const Operator op = context.node.integer(attr::p, 2) == 1 ? op::ReduceL1 : op::ReduceL2;
  const ValueId norm =
      context.make(op, {context.in(0)},
                   {{attr::axes, std::vector<int64_t>{axis}}, {attr::keepdims, int64_t(1)}});
  // A row of zeros stays zero.
  const ValueId safe = context.make(op::Max, {norm, context.scalar(context.dtype(0), 1e-30)});
  context.finish(op::Div, {context.in(0), safe});
}

/// (x - mean) / (sqrt(mean(x^2) - mean^2) + 1e-9), as ONNX defines the function.
void mean_variance(NodeContext& context) {
  const std::vector<int64_t> axes =
      context.axes(context.node.integers(attr::axes), context.rank(0));
  const auto mean_of = [&](ValueId x) {
    return context.make(op::ReduceMean, {x}, {{attr::axes, axes}, {attr::keepdims, int64_t(1)}});
  };
  const ValueId x = context.in(0), mean = mean_of(x);
  const ValueId variance = context.make(
      op::Sub, {mean_of(context.make(op::Mul, {x, x})), context.make(op::Mul, {mean, mean})});
  const ValueId deviation = context.make(
      op::Add, {context.make(op::Sqrt, {variance}), context.scalar(context.dtype(0), 1e-9)});
  context.finish(op::Div, {context.make(op::Sub, {x, mean}), deviation});
}

/// x / (bias + alpha / size * sum of squares over `size` channels)^beta; the sum is an average pool
/// along the channels.
void local_response(NodeContext& context) {
  expect_channels(context);
  const int64_t size = context.node.integer(attr::size, 0);
  if (size < 1) context.corrupt("size is " + std::to_string(size) + ", expected at least 1");
  const Dims dims = context.dims(0);
  const ValueId x = context.in(0);
  const ValueId squares =
      context.reshape(context.make(op::Mul, {x, x}),
                      {dims[0], 1, dims[1], product(Dims(dims.begin() + 2, dims.end()))});
  const int64_t before = (size - 1) / 2;
  const ValueId mean =
      context.make(op::AveragePool, {squares},
                   {{attr::kernel_shape, std::vector<int64_t>{size, 1}},
                    {attr::pads, std::vector<int64_t>{before, 0, size - 1 - before, 0}},
                    {attr::count_include_pad, int64_t(1)}});
  const ValueId scaled = context.make(
      op::Mul, {context.reshape(mean, dims),
                context.scalar(context.dtype(0), context.node.number(attr::alpha, 1e-4))});
  const ValueId shifted = context.make(
      op::Add, {scaled, context.scalar(context.dtype(0), context.node.number(attr::bias, 1))});
  const ValueId power = context.make(
      op::Pow, {shifted, context.scalar(context.dtype(0), context.node.number(attr::beta, 0.75))});
  context.finish(op::Div, {x, power});
}

}  // namespace

void add_normalize_rules(InferTable& table) {
  table[op::BatchNormalization] = batch;
  table[op::InstanceNormalization] = instance;
  table[op::GroupNormalization] = group;
  table[op::LayerNormalization] = layer;
  table[op::RMSNormalization] = layer;
  table[op::LpNormalization] = lp;
  table[op::MeanVarianceNormalization] = mean_variance;
  table[op::LRN] = local_response;
}

}  // namespace ingot::graph
