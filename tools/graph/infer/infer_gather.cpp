// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_gather.cpp - elements by index, and by order: Gather, Scatter, TopK,
// CumSum.
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void expect_indices(NodeContext& context, size_t input) {
  if (context.dtype(input) == DType::kI64 || context.dtype(input) == DType::kI32) return;
  context.corrupt(std::string("its indices are ") + dtype_text(context.dtype(input)) +
                  ", expected i32 or i64");
}

void gather(NodeContext& context) {
  expect_indices(context, 1);
  const int64_t axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  const Dims data = context.dims(0), indices = context.dims(1);
  const auto at = data.begin() + axis;
  Dims out(data.begin(), at);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), at + 1, data.end());
  const auto contents = context.run().contents(context.in(1));
  // One index that is a symbolic dim (the last frame, say) is a slice; the index never exists at
  // run time.
  if (contents && contents->size() == 1 && (*contents)[0].dim() && !(*contents)[0].number()) {
    const Dim index = *(*contents)[0].dim();
    const ValueId part = context.make(op::Slice, {context.in(0)},
                                      {{attr::starts, Dims{index}},
                                       {attr::ends, Dims{index + 1}},
                                       {attr::axes, std::vector<int64_t>{axis}}});
    return context.finish_shaped(op::Reshape, part, out);
  }
  context.node.attributes[attr::axis] = axis;
  context.set(0, context.dtype(0), std::move(out));
}
void gather_elements(NodeContext& context) {
  expect_indices(context, 1);
  if (context.rank(0) != context.rank(1))
    context.corrupt("its data " + text(context.dims(0)) + " and indices " + text(context.dims(1)) +
                    " differ in rank");
  context.node.attributes[attr::axis] =
      context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  context.set(0, context.dtype(0), context.dims(1));
}
void gather_nd(NodeContext& context) {
  expect_indices(context, 1);
  const int64_t batch = context.node.integer(attr::batch_dims, 0);
  const Dims data = context.dims(0), indices = context.dims(1);
  const auto depth = indices.empty() ? std::nullopt : indices.back().value();
  if (!depth) context.refuse("", "its indices " + text(indices) + " have no fixed last dimension");
  bool fits = batch >= 0 && batch < int64_t(indices.size()) && *depth >= 1 &&
              *depth <= int64_t(data.size()) - batch;
  for (size_t i = 0; fits && i < size_t(batch); i++) {
    fits = data[i] == indices[i] || !data[i].is_static() || !indices[i].is_static();
    context.force_equal(data[i], indices[i]);
  }
  if (!fits) {
    context.corrupt("its indices " + text(indices) + " do not fit data " + text(data) + " with " +
                    std::to_string(batch) + " batch dimensions");
  }
  Dims out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + *depth, data.end());
  context.set(0, context.dtype(0), std::move(out));
}
void scatter_elements(NodeContext& context) {
  expect_indices(context, 1);
  if (context.dtype(0) != context.dtype(2))
    context.corrupt("its data and updates have different types");
  if (context.rank(0) != context.rank(1) || context.rank(0) != context.rank(2))
    context.corrupt("its data, indices and updates differ in rank");
  context.node.attributes[attr::axis] =
      context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  context.set(0, context.dtype(0), context.dims(0));
}
void scatter_nd(NodeContext& context) {
  expect_indices(context, 1);
  if (context.dtype(0) != context.dtype(2))
    context.corrupt("its data and updates have different types");
  context.set(0, context.dtype(0), context.dims(0));
}

/// k is known only at run time: at most the whole dimension.
void top_k_data_dependent(NodeContext& context, int64_t axis) {
  if (context.dtype(1) != DType::kI64 || product(context.dims(1)) != Dim(1))
    context.corrupt("k is " + std::string(dtype_text(context.dtype(1))) + " " +
                    text(context.dims(1)) + ", expected one i64");
  const ValueId count = context.make(op::ResolveDim, {context.reshape(context.in(1), {})});
  Dims out = context.dims(0);
  out[size_t(axis)] = context.data_dependent_dim(count, out[size_t(axis)]);
  context.drop_inputs_from(1);
  context.set(0, context.dtype(0), out);
  context.set(1, DType::kI64, out);
}

void top_k(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, -1), context.rank(0));
  context.node.attributes[attr::axis] = axis;
  if (context.node.inputs.size() == 1 && !context.node.has(attr::k)) return;
  if (context.has(1) && !context.find_dims(attr::k, 1)) return top_k_data_dependent(context, axis);
  const Dims k = context.need_dims(attr::k, 1);
  if (k.size() != 1) context.corrupt("k has " + std::to_string(k.size()) + " elements, expected 1");
  Dims out = context.dims(0);
  if (!proven_at_least(out[size_t(axis)], k[0])) {
    if (proven_at_least(k[0], out[size_t(axis)] + 1))
      context.corrupt("k is " + k[0].text() + " of a dimension of " + out[size_t(axis)].text());
    context.note("TopK takes k = " + k[0].text() + " of a symbolic dimension " +
                 out[size_t(axis)].text() + ", which must be at least that");
  }
  out[size_t(axis)] = k[0];
  context.drop_inputs_from(1);
  context.erase({attr::k});
  context.set(0, context.dtype(0), out);
  context.set(1, DType::kI64, out);
}
void cum_sum(NodeContext& context) {
  const auto axis = context.integers(attr::axis_input, 1);
  const int64_t given =
      axis && axis->size() == 1 ? (*axis)[0] : context.node.integer(attr::axis, 0);
  context.drop_inputs_from(1);
  context.node.attributes[attr::axis] = context.axis(given, context.rank(0));
  context.set(0, context.dtype(0), context.dims(0));
}

/// The first lengths[b] steps of every sequence in reverse: rows [time, batch] (or [batch, time])
/// gathered by an index.
void reverse_sequence(NodeContext& context) {
  const Dims in = context.dims(0);
  const int64_t batch_axis = context.node.integer(attr::batch_axis, 1),
                time_axis = context.node.integer(attr::time_axis, 0);
  if (in.size() < 2 || batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis)
    context.corrupt("batch_axis " + std::to_string(batch_axis) + " and time_axis " +
                    std::to_string(time_axis) + " must be 0 and 1 of " + text(in));
  const Dim steps = in[size_t(time_axis)], batch = in[size_t(batch_axis)];
  if (context.rank(1) != 1)
    context.corrupt("its lengths have shape " + text(context.dims(1)) + ", expected one dimension");
  const auto known = context.run().contents(context.in(1));
  bool whole = known.has_value();
  for (size_t i = 0; whole && i < known->size(); i++)
    whole = (*known)[i].dim() && *(*known)[i].dim() == steps;
  if (whole) {
    const std::vector<int64_t> axes = {time_axis}, back = {-1};
    return context.finish(op::Slice, {context.in(0)},
                          {{attr::starts, Dims{Dim(-1)}},
                           {attr::ends, Dims{Dim(INT64_MIN)}},
                           {attr::axes, axes},
                           {attr::steps, back}});
  }
  const auto number = [&](double n) { return context.scalar(DType::kI64, n); };
  const auto along = [&](ValueId list, int64_t axis) {
    Dims dims = {1, 1};
    dims[size_t(axis)] = context.run().value(list).dims[0];
    return context.reshape(list, dims);
  };
  const ValueId step = along(context.counting(steps), time_axis),
                sequence = along(context.counting(batch), batch_axis);
  const ValueId length = along(context.cast(context.in(1), DType::kI64), batch_axis);
  const ValueId mirrored =
      context.make(op::Sub, {context.make(op::Sub, {length, number(1)}), step});
  const ValueId from =
      context.make(op::Where, {context.make(op::Less, {step, length}), mirrored, step});
  const ValueId outer = time_axis == 0 ? from : sequence, inner = time_axis == 0 ? sequence : from;
  const ValueId row =
      context.make(op::Add, {context.make(op::Mul, {outer, context.extent(in[1])}), inner});
  // A length beyond the sequence would read its neighbour: an index that no Gather takes.
  const ValueId sound = context.make(op::LessOrEqual, {length, context.extent(steps)});
  const ValueId index = context.make(op::Where, {sound, row, number(-1099511627776.0)});
  Dims rows(in.begin() + 1, in.end());
  rows[0] = in[0] * in[1];
  context.finish(op::Gather, {context.reshape(context.in(0), rows), index},
                 {{attr::axis, int64_t(0)}});
}

}  // namespace

namespace {

/// Columns of the last dimension; one row stays a row of a matrix, as ai.onnx.ml has it.
void choose_features(NodeContext& context) {
  ValueId x = context.in(0);
  const Dims dims = context.dims(0);
  if (dims.empty()) context.corrupt("its input is a scalar");
  if (dims.size() == 1) x = context.reshape(x, {Dim(1), dims[0]});
  const int64_t last = int64_t(context.run().value(x).dims.size()) - 1;
  context.finish(op::Gather, {x, context.in(1)}, {{attr::axis, last}});
}

}  // namespace

void add_gather_rules(InferTable& table) {
  table[op::ChooseFeatures] = choose_features;
  table[op::Gather] = gather;
  table[op::GatherElements] = gather_elements;
  table[op::GatherND] = gather_nd;
  table[op::ScatterElements] = scatter_elements;
  table[op::ScatterND] = scatter_nd;
  table[op::ReverseSequence] = reverse_sequence;
  table[op::TopK] = top_k;
  table[op::CumSum] = cum_sum;
}

}  // namespace ingot::graph
