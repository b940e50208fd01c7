// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_double.cpp - operators in types that no kernel computes them in:
// normalizations of f64 are spelled out in f64; convolutions, pools, recurrent networks, attention
// and resampling of f64, transforms and sampling of f16 and bf16 are computed in f32, which is
// noted.
#include <set>
#include <string_view>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using AxisList = std::vector<int64_t>;

ValueId reduced_over(NodeContext& context, Operator op, ValueId x, const AxisList& axes) {
  return context.make(op, {x}, {{attr::axes, axes}, {attr::keepdims, int64_t(1)}});
}

/// exp(x - max) / sum of these, or its logarithm. @pre node.axis counts from either end.
void softmax_steps(NodeContext& context) {
  const AxisList axes{context.axis(context.node.integer(attr::axis, -1), context.rank(0))};
  const ValueId x = context.in(0);
  const ValueId below = context.make(op::Sub, {x, reduced_over(context, op::ReduceMax, x, axes)});
  const ValueId each = context.make(op::Exp, {below});
  const ValueId sum = reduced_over(context, op::ReduceSum, each, axes);
  if (context.node.op == op::Softmax) return context.finish(op::Div, {each, sum});
  context.finish(op::Sub, {below, context.make(op::Log, {sum})});
}

/// (x - mean) / sqrt(variance + epsilon) over `axes`; without the mean where it is not `centred`.
ValueId normalized_over(NodeContext& context, ValueId x, const AxisList& axes, bool centred) {
  if (centred) x = context.make(op::Sub, {x, reduced_over(context, op::ReduceMean, x, axes)});
  const ValueId square = context.make(op::Mul, {x, x});
  const ValueId epsilon = context.scalar(DType::kF64, context.node.number(attr::epsilon, 1e-5));
  const ValueId variance =
      context.make(op::Add, {reduced_over(context, op::ReduceMean, square, axes), epsilon});
  return context.make(op::Div, {x, context.make(op::Sqrt, {variance})});
}

AxisList axes_behind(int64_t first, int64_t rank) {
  AxisList axes;
  for (int64_t i = first; i < rank; i++) axes.push_back(i);
  return axes;
}

/// Scale, and a bias where there is one, shaped `dims` when these are not empty.
void finish_scaled(NodeContext& context, ValueId y, const Dims& dims) {
  const auto shaped = [&](size_t input) {
    return dims.empty() ? context.in(input) : context.reshape(context.in(input), dims);
  };
  y = context.make(op::Mul, {y, shaped(1)});
  if (context.has(2)) y = context.make(op::Add, {y, shaped(2)});
  context.same(0, y);
}

/// After its own rule: shapes are checked, the axis counts from the front.
void layer_steps(NodeContext& context) {
  const int64_t axis = context.node.integer(attr::axis, -1);
  const AxisList axes = axes_behind(axis, context.rank(0));
  const bool centred = context.node.op == op::LayerNormalization;
  finish_scaled(context, normalized_over(context, context.in(0), axes, centred), {});
}

void channel_steps(NodeContext& context) {
  const Dims dims = context.dims(0);
  Dims along(dims.size() - 1, Dim(1));
  along[0] = dims[1];
  ValueId x = context.in(0);
  if (context.node.op == op::GroupNormalization) {
    const Dim groups(context.node.integer(attr::num_groups, 1));
    x = context.reshape(x, {dims[0], groups, product(Dims(dims.begin() + 1, dims.end())) / groups});
  }
  const int64_t rank = int64_t(context.run().value(x).dims.size());
  const ValueId y = normalized_over(context, x, axes_behind(2, rank), true);
  finish_scaled(context, context.reshape(y, dims), along);
}

}  // namespace

void infer_in_single(NodeContext& context) {
  std::vector<ValueId> inputs = context.node.inputs;
  for (ValueId& id : inputs)
    if (id != kAbsent && is_floating(context.run().value(id).dtype))
      id = context.cast(id, DType::kF32);
  const DType wanted = context.dtype(0);
  const std::vector<ValueId> outputs = context.node.outputs;
  const std::vector<ValueId> made =
      context.make_many(context.node.op, inputs, context.node.attributes, outputs.size());
  context.note(std::string("is computed in f32; the source has ") + dtype_text(wanted));
  for (size_t i = 0; i < outputs.size(); i++) {
    if (outputs[i] == kAbsent) continue;
    const bool is_single = context.run().value(made[i]).dtype == DType::kF32;
    context.same(i, is_single ? context.cast(made[i], wanted) : made[i]);
  }
}

bool lacks_type(Operator op, DType dtype) {
  static constexpr graph::Operators kDouble = {
      op::Attention,  op::AveragePool, op::Conv,   op::ConvTranspose, op::DeformConv, op::GRU,
      op::GridSample, op::LSTM,        op::LpPool, op::MaxPool,       op::RNN,        op::RoiAlign};
  static constexpr graph::Operators kHalf = {op::DFT, op::DeformConv, op::RoiAlign, op::STFT};
  if (dtype == DType::kF64) return kDouble.has(op);
  return (dtype == DType::kF16 || dtype == DType::kBF16) && kHalf.has(op);
}

bool spell_double(NodeContext& context) {
  const Operator op = context.node.op;
  if (op == op::Softmax || op == op::LogSoftmax)
    softmax_steps(context);
  else if (op == op::LayerNormalization || op == op::RMSNormalization)
    layer_steps(context);
  else if (op == op::InstanceNormalization || op == op::GroupNormalization)
    channel_steps(context);
  else
    return false;
  return true;
}

}  // namespace ingot::graph
