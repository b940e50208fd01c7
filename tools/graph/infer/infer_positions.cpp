// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_positions.cpp - MaxPool that also says where its maxima lie, and
// MaxUnpool that puts them back. Positions are the first greatest of the window's taps, which are
// slices side by side; the values come from the ordinary pool.
#include "tools/graph/infer/infer_positions.h"

#include <algorithm>

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;
constexpr int64_t kMaxTaps = 4096;

ValueId i64(NodeContext& context, int64_t n) { return context.scalar(DType::kI64, double(n)); }

/// Elements between neighbours along each spatial dimension of [N, C, ...], as rank-0 values.
std::vector<ValueId> steps_of(NodeContext& context, const Dims& in, bool column_major) {
  const size_t rank = in.size() - 2;
  std::vector<ValueId> steps(rank);
  ValueId step = i64(context, 1);
  for (size_t n = 0; n < rank; n++) {
    const size_t i = column_major ? n : rank - 1 - n;
    steps[i] = step;
    step = context.make(op::Mul, {step, context.extent(in[i + 2])});
  }
  return steps;
}

/// Which tap is greatest: i64 [N, C, places].
ValueId greatest_tap(NodeContext& context, const PoolWindow& w, const Dims& out, int64_t* taps) {
  const Dims in = context.dims(0);
  const size_t rank = w.kernel.size();
  Dims pads(in.size() * 2, Dim(0)), places = {out[0], out[1], Dim(1), Dim(1)};
  for (size_t i = 0; i < rank; i++) {
    // Where ceil_mode lets the last window reach further, the border grows with it.
    const Dim reach =
        (out[i + 2] - Dim(1)) * Dim(w.strides[i]) + Dim((w.kernel[i] - 1) * w.dilations[i] + 1);
    pads[i + 2] = Dim(w.pads[i]);
    pads[in.size() + i + 2] = max(Dim(w.pads[i + rank]), reach - in[i + 2] - Dim(w.pads[i]));
    places[2] = places[2] * out[i + 2];
  }
  const ValueId x = context.make(op::Pad, {context.in(0)},
                                 {{attr::pads, pads},
                                  {attr::mode, std::string("constant")},
                                  {attr::value, -3.4028234663852886e38}});
  Integers axes, at(rank, 0);
  for (size_t i = 0; i < rank; i++) axes.push_back(int64_t(i) + 2);
  std::vector<ValueId> parts;
  for (bool more = true; more;) {
    Dims starts, ends;
    for (size_t i = 0; i < rank; i++) {
      starts.push_back(Dim(at[i] * w.dilations[i]));
      ends.push_back(starts.back() + (out[i + 2] - Dim(1)) * Dim(w.strides[i]) + Dim(1));
    }
    const ValueId part = context.make(
        op::Slice, {x},
        {{attr::starts, starts}, {attr::ends, ends}, {attr::axes, axes}, {attr::steps, w.strides}});
    parts.push_back(context.reshape(part, places));
    more = false;
    for (size_t i = rank; i-- > 0 && !more;) {
      more = ++at[i] < w.kernel[i];
      if (!more) at[i] = 0;
    }
  }
  *taps = int64_t(parts.size());
  const ValueId all =
      parts.size() == 1 ? parts[0] : context.make(op::Concat, parts, {{attr::axis, int64_t(3)}});
  return context.make(op::ArgMax, {all},
                      {{attr::axis, int64_t(3)},
                       {attr::keepdims, int64_t(0)},
                       {attr::select_last_index, int64_t(0)}});
}

}  // namespace

void pool_with_positions(NodeContext& context, const PoolWindow& w, const Dims& out) {
  const Dims in = context.dims(0);
  const size_t rank = w.kernel.size();
  if (context.dtype(0) != DType::kF32) context.refuse("Indices", "are built for f32 only");
  int64_t size = 1;
  for (const int64_t k : w.kernel)
    size = k > kMaxTaps ? kMaxTaps + 1 : std::min(kMaxTaps + 1, size * k);
  if (size > kMaxTaps)
    context.refuse("Indices", "of a window of more than " + std::to_string(kMaxTaps) +
                                  " elements are not built");
  const std::vector<ValueId> steps =
      steps_of(context, in, context.node.integer(attr::storage_order, 0) != 0);
  int64_t taps = 0;
  const ValueId tap = greatest_tap(context, w, out, &taps);
  // offset of a tap = sum of k * dilation * step; start of a window = sum of (place * stride - pad)
  // * step.
  ValueId offsets = context.reshape(i64(context, 0), {1}), start = offsets;
  int64_t inner = taps;
  for (size_t i = 0; i < rank; i++) {
    inner /= w.kernel[i];
    Integers along;
    for (int64_t n = 0; n < taps; n++) along.push_back(n / inner % w.kernel[i] * w.dilations[i]);
    const ValueId table = context.constant(make_constant(DType::kI64, {taps}, along.data()));
    offsets = context.make(op::Add, {offsets, context.make(op::Mul, {table, steps[i]})});
    Dims shape(rank, Dim(1));
    shape[i] = out[i + 2];
    ValueId first =
        context.make(op::Mul, {context.counting(out[i + 2]), i64(context, w.strides[i])});
    first =
        context.make(op::Mul, {context.make(op::Sub, {first, i64(context, w.pads[i])}), steps[i]});
    start = context.make(op::Add, {start, context.reshape(first, shape)});
  }
  Dim places(1), area(1);
  for (size_t i = 0; i < rank; i++) places = places * out[i + 2], area = area * in[i + 2];
  const ValueId image =
      context.make(op::Mul, {context.counting(out[0] * out[1]), context.extent(area)});
  const ValueId offset = context.make(op::Gather, {offsets, tap}, {{attr::axis, int64_t(0)}});
  ValueId position = context.make(op::Add, {offset, context.reshape(start, {1, 1, places})});
  position = context.make(op::Add, {position, context.reshape(image, {out[0], out[1], 1})});
  Attributes attributes = context.node.attributes;
  attributes.erase(attr::auto_pad), attributes.erase(attr::storage_order);
  attributes[attr::pads] = w.pads;
  attributes[attr::kernel_shape] = w.kernel;
  const ValueId values = context.make(op::MaxPool, {context.in(0)}, std::move(attributes));
  const ValueId positions = context.reshape(position, out);
  context.same(0, values);
  context.same(1, positions);
}

void max_unpool(NodeContext& context) {
  const Dims in = context.dims(0);
  if (in.size() < 3 || context.dims(1) != in)
    context.corrupt("its values have shape " + text(in) + ", its positions " +
                    text(context.dims(1)));
  const size_t rank = in.size() - 2;
  const Integers kernel = context.node.integers(attr::kernel_shape);
  Integers strides = context.node.integers(attr::strides), pads = context.node.integers(attr::pads);
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(rank * 2, 0);
  if (kernel.size() != rank || strides.size() != rank || pads.size() != rank * 2)
    context.corrupt("kernel, strides and pads do not fit its rank");
  Dims out = {in[0], in[1]}, after(in.size() * 2, Dim(0)), given;
  if (context.has(2)) given = context.need_dims(attr::output_shape, 2);
  for (size_t i = 0; i < rank; i++) {
    out.push_back((in[i + 2] - Dim(1)) * Dim(strides[i]) +
                  Dim(kernel[i] - pads[i] - pads[i + rank]));
    if (given.size() == in.size()) after[in.size() + i + 2] = given[i + 2] - out.back();
  }
  const ValueId zeros = context.expand(context.scalar(context.dtype(0), 0), {product(out)});
  const Dims flat = {product(in)};
  const ValueId placed = context.make(
      op::ScatterElements,
      {zeros, context.reshape(context.in(1), flat), context.reshape(context.in(0), flat)},
      {{attr::axis, int64_t(0)}, {attr::reduction, std::string("none")}});
  const ValueId y = context.reshape(placed, out);
  context.finish(op::Pad, {y},
                 {{attr::pads, after}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
}

}  // namespace ingot::graph
