// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_window.cpp - convolutions and pools: explicit pads, and the extents they
// give.
#include <algorithm>
#include <limits>
#include <optional>

#include "tools/graph/infer/infer_positions.h"
#include "tools/graph/infer/infer_volume.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  std::string auto_pad;
  size_t rank = 0;
  Dims outputs;  // extents, where a Pad in front has made those of auto_pad
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

std::vector<int64_t> per_axis(NodeContext& context, AttributeName key, size_t rank, size_t per,
                              int64_t otherwise) {
  std::vector<int64_t> values = context.node.integers(key);
  if (values.empty()) values.assign(rank * per, otherwise);
  if (values.size() != rank * per) {
    context.corrupt(text(key) + " has " + std::to_string(values.size()) + " entries, expected " +
                    std::to_string(rank * per));
  }
  return values;
}

/// Reads what is given; kernel_shape from the weight when it is absent.
Window read_window(NodeContext& context, const Dims* weight) {
  Window w;
  if (context.rank(0) < 3)
    context.corrupt("its input has shape " + text(context.dims(0)) +
                    ", expected at least 3 dimensions");
  w.rank = size_t(context.rank(0) - 2);
  w.kernel = context.node.integers(attr::kernel_shape);
  if (weight) {
    if (weight->size() != w.rank + 2)
      context.corrupt("its weight has shape " + text(*weight) + ", its input " +
                      text(context.dims(0)));
    std::vector<int64_t> from_weight;
    for (size_t i = 0; i < w.rank; i++) {
      const auto k = (*weight)[i + 2].value();
      if (!k) context.refuse("", "its weight has a symbolic shape");
      from_weight.push_back(*k);
    }
    if (!w.kernel.empty() && w.kernel != from_weight)
      context.corrupt("kernel_shape differs from its weight " + text(*weight));
    w.kernel = from_weight;
  }
  if (w.kernel.size() != w.rank)
    context.corrupt("kernel_shape has " + std::to_string(w.kernel.size()) + " entries, expected " +
                    std::to_string(w.rank));
  w.strides = per_axis(context, attr::strides, w.rank, 1, 1);
  w.dilations = per_axis(context, attr::dilations, w.rank, 1, 1);
  w.auto_pad = context.node.text(attr::auto_pad, "NOTSET");
  w.pads = w.auto_pad == "NOTSET" ? per_axis(context, attr::pads, w.rank, 2, 0)
                                  : std::vector<int64_t>(w.rank * 2, 0);
  constexpr int64_t kLimit = int64_t(1) << 31;
  for (size_t i = 0; i < w.rank; i++) {
    if (w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 || w.kernel[i] > kLimit ||
        w.strides[i] > kLimit || w.dilations[i] > kLimit) {
      context.corrupt("kernel, stride and dilation must be at least 1");
    }
  }
  for (const int64_t p : w.pads) {
    if (p > kLimit || p < -kLimit) context.corrupt("pad " + std::to_string(p) + " is out of range");
    if (p < 0) context.refuse("pads", "negative pads are not supported");
  }
  return w;
}

void split_same(const std::string& auto_pad, int64_t total, int64_t* before, int64_t* after) {
  *before = auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
  *after = total - *before;
}

/// What a window over symbolic extents is padded with; nothing where that is not known.
std::optional<double> border_value(NodeContext& context) {
  if (context.node.op == op::MaxPool) return -std::numeric_limits<double>::infinity();
  if (context.node.op != op::ConvInteger || !context.has(2)) return 0;
  const Constant* zero = context.model().constant(context.in(2));
  return zero && zero->elements() == 1 ? std::optional<double>(read_number(*zero, 0))
                                       : std::nullopt;
}

/// `totals` as a Pad in front of the window.
void pad_in_front(NodeContext& context, Window& w, const Dims& totals) {
  const auto value = border_value(context);
  if (!value)
    context.refuse("auto_pad",
                   w.auto_pad + " over symbolic extents needs one constant zero point of its input",
                   "bind the extents with --dim or --input-shape");
  Dims pads((w.rank + 2) * 2, Dim(0));
  for (size_t i = 0; i < w.rank; i++) {
    const Dim half = totals[i] / Dim(2), rest = totals[i] - half;
    const bool is_lower = w.auto_pad == "SAME_LOWER";
    pads[i + 2] = is_lower ? rest : half;
    pads[i + 4 + w.rank] = is_lower ? half : rest;
    w.outputs.push_back(ceil_div(context.dims(0)[i + 2], w.strides[i]));
  }
  const bool counts_inside =
      context.node.op == op::AveragePool && context.node.integer(attr::count_include_pad, 0) == 0;
  if (counts_inside) {  // the average of all, beside the share that lies inside
    Attributes attributes = context.node.attributes;
    attributes[attr::count_include_pad] = int64_t(1);
    const ValueId one = context.scalar(context.dtype(0), 1);
    const ValueId share =
        context.make(op::AveragePool, {context.expand(one, context.dims(0))}, attributes);
    const ValueId all = context.make(op::AveragePool, {context.in(0)}, attributes);
    return context.same(0, context.make(op::Div, {all, share}));
  }
  const std::string mode = "constant";
  context.node.inputs[0] = context.make(
      op::Pad, {context.in(0)}, {{attr::pads, pads}, {attr::mode, mode}, {attr::value, *value}});
}

/// auto_pad to pads; SAME gives ceil(extent / stride) outputs. May end the node.
void resolve_pads(NodeContext& context, Window& w) {
  if (w.auto_pad != "SAME_UPPER" && w.auto_pad != "SAME_LOWER") return;
  Dims totals;
  for (size_t i = 0; i < w.rank; i++) {
    const Dim& in = context.dims(0)[i + 2];
    totals.push_back(
        max(Dim(0), (ceil_div(in, w.strides[i]) - 1) * w.strides[i] + w.extent(i) - in));
  }
  if (!std::all_of(totals.begin(), totals.end(), [](const Dim& d) { return d.is_static(); }))
    return pad_in_front(context, w, totals);
  for (size_t i = 0; i < w.rank; i++)
    split_same(w.auto_pad, *totals[i].value(), &w.pads[i], &w.pads[i + w.rank]);
}

Dim output_extent(NodeContext& context, const Window& w, size_t i, bool ceil_mode) {
  if (!w.outputs.empty()) return w.outputs[i];
  const Dim padded = context.dims(0)[i + 2] + w.pads[i] + w.pads[i + w.rank];
  const Dim room = padded - w.extent(i);
  // With ceil_mode a window may reach beyond the end, but by less than a stride.
  if (proven_at_least(Dim(ceil_mode ? -w.strides[i] : -1), room)) {
    context.corrupt("its window of " + std::to_string(w.extent(i)) +
                    " is larger than its padded input of " + padded.text());
  }
  if (!ceil_mode) return room / w.strides[i] + 1;
  // The last window must start inside the input or the pad before it.
  return min(ceil_div(room, w.strides[i]) + 1,
             ceil_div(context.dims(0)[i + 2] + w.pads[i], w.strides[i]));
}

void write_window(NodeContext& context, const Window& w) {
  context.node.attributes[attr::kernel_shape] = w.kernel;
  context.node.attributes[attr::strides] = w.strides;
  context.node.attributes[attr::dilations] = w.dilations;
  context.node.attributes[attr::pads] = w.pads;
  context.erase({attr::auto_pad});
}

void expect_bias(NodeContext& context, const Dim& channels) {
  if (!context.has(2)) return;
  if (context.rank(2) != 1 || context.dims(2)[0] != channels)
    context.corrupt("its bias has shape " + text(context.dims(2)) + ", expected [" +
                    channels.text() + "]");
}
int64_t channels_of(NodeContext& context, const Dim& d) {
  if (!d.is_static())
    context.refuse("", "its number of channels is symbolic (" + d.text() + ")",
                   "bind it with --dim or --input-shape");
  return *d.value();
}
int64_t group_of(NodeContext& context) {
  const int64_t group = context.node.integer(attr::group, 1);
  if (group < 1) context.corrupt("group is " + std::to_string(group) + ", expected at least 1");
  context.node.attributes[attr::group] = group;
  return group;
}

/// Window, group and output of a convolution; no dims where it was rewritten (three dimensions).
std::optional<Dims> convolve(NodeContext& context, bool may_rewrite) {
  const Dims weight = context.dims(1);
  Window w = read_window(context, &weight);
  resolve_pads(context, w);
  const int64_t group = group_of(context);
  context.force_equal(context.dims(0)[1], weight[1] * group);
  const int64_t in = channels_of(context, context.dims(0)[1]);
  const int64_t per_group = channels_of(context, weight[1]), out = channels_of(context, weight[0]);
  if (in % group != 0 || in / group != per_group || out % group != 0) {
    context.corrupt("its input has " + std::to_string(in) + " channels in " +
                    std::to_string(group) + " groups, its weight " + text(weight) + " takes " +
                    std::to_string(per_group) + " per group");
  }
  Dims dims = {context.dims(0)[0], weight[0]};
  for (size_t i = 0; i < w.rank; i++) dims.push_back(output_extent(context, w, i, false));
  if (w.rank == 3 && may_rewrite) {
    expect_bias(context, weight[0]);
    convolve_volume(context, {w.kernel, w.strides, w.dilations, w.pads}, dims, group);
    return std::nullopt;
  }
  write_window(context, w);
  return dims;
}

void conv(NodeContext& context) {
  if (context.dtype(0) != context.dtype(1))
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", its weight " +
                    dtype_text(context.dtype(1)));
  auto dims = convolve(context, true);
  if (!dims) return;
  expect_bias(context, context.dims(1)[0]);
  context.set(0, context.dtype(0), std::move(*dims));
}

/// Constant, or what a constant of bytes stands for.
bool has_stored_weights(NodeContext& context) {
  if (context.model().constant(context.in(1))) return true;
  const Node* const maker = context.run().maker(context.in(1));
  return maker && maker->op == op::DequantizeLinear && context.model().constant(maker->inputs[0]);
}

void conv_transpose(NodeContext& context) {
  if (context.dtype(0) != context.dtype(1))
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", its weight " +
                    dtype_text(context.dtype(1)));
  const Dims weight = context.dims(1);
  Window w = read_window(context, &weight);
  const int64_t group = group_of(context), in = channels_of(context, context.dims(0)[1]);
  if (channels_of(context, weight[0]) != in || in % group != 0) {
    context.corrupt("its input has " + std::to_string(in) + " channels in " +
                    std::to_string(group) + " groups, its weight is " + text(weight));
  }
  const std::vector<int64_t> extra = per_axis(context, attr::output_padding, w.rank, 1, 0);
  std::vector<int64_t> shape = context.node.integers(attr::output_shape);
  if (shape.size() == w.rank + 2)
    shape.erase(shape.begin(), shape.begin() + 2);  // some exporters count batch and channels
  const Dim channels = weight[1] * group;
  expect_bias(context, channels);
  Dims dims = {context.dims(0)[0], channels};
  const bool same = w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER";
  for (size_t i = 0; i < w.rank; i++) {
    if (extra[i] < 0 || (extra[i] >= w.strides[i] && extra[i] >= w.dilations[i]))
      context.corrupt("output_padding must be smaller than stride or dilation");
    const Dim full = (context.dims(0)[i + 2] - 1) * w.strides[i] + extra[i] + w.extent(i);
    if (shape.empty() && !same) {
      dims.push_back(full - w.pads[i] - w.pads[i + w.rank]);
      continue;
    }
    if (!shape.empty() && shape.size() != w.rank)
      context.corrupt("output_shape has " + std::to_string(shape.size()) + " entries, expected " +
                      std::to_string(w.rank));
    const Dim wanted = shape.empty() ? context.dims(0)[i + 2] * w.strides[i] : Dim(shape[i]);
    const Dim total = full - wanted;
    if (!total.is_static())
      context.refuse("output_shape", "needs the extent of a symbolic dimension",
                     "bind it with --dim or --input-shape");
    if (*total.value() < 0 && -*total.value() < w.strides[i]) {  // what output_padding would add
      dims.push_back(wanted);
      continue;
    }
    if (*total.value() < 0)
      context.refuse("output_shape",
                     wanted.text() + " is larger than what the input gives, " + full.text());
    // ONNX puts the odd one at the end for SAME_UPPER alone.
    const int64_t half = *total.value() / 2;
    w.pads[i] = w.auto_pad == "SAME_UPPER" ? half : *total.value() - half;
    w.pads[i + w.rank] = *total.value() - w.pads[i];
    dims.push_back(wanted);
  }
  if (w.rank > 2 || !has_stored_weights(context))
    return spell_transposed(context, {w.kernel, w.strides, w.dilations, w.pads}, dims, group);
  write_window(context, w);
  context.erase({attr::output_padding, attr::output_shape});
  context.set(0, context.dtype(0), std::move(dims));
}

/// Pools are of f32: small integers go there and come back unchanged.
bool pooled_as_float(NodeContext& context) {
  const DType dtype = context.dtype(0);
  if (is_floating(dtype)) return false;
  if (dtype != DType::kI8 && dtype != DType::kU8 && dtype != DType::kI16 && dtype != DType::kU16) {
    context.refuse("", std::string("pooling of ") + dtype_text(dtype) + " is not supported");
  }
  const ValueId x = context.make(op::Cast, {context.in(0)}, {{attr::to, int64_t(DType::kF32)}});
  const ValueId y = context.make(context.node.op, {x}, context.node.attributes);
  context.finish(op::Cast, {y}, {{attr::to, int64_t(dtype)}});
  return true;
}

/// (sum of |x|^p)^(1/p) for p beyond 2: the sum is an average that counts the border, times the
/// size of the window.
void lp_by_powers(NodeContext& context, const Window& w, int64_t p) {
  const DType dtype = context.dtype(0);
  double size = 1;
  for (const int64_t k : w.kernel) size *= double(k);
  const ValueId powers = context.make(
      op::Pow, {context.make(op::Abs, {context.in(0)}), context.scalar(dtype, double(p))});
  Attributes attributes = context.node.attributes;
  attributes.erase(attr::p);
  attributes[attr::count_include_pad] = int64_t(1);
  const ValueId mean = context.make(op::AveragePool, {powers}, std::move(attributes));
  const ValueId sum = context.make(op::Mul, {mean, context.scalar(dtype, size)});
  context.finish(op::Pow, {sum, context.scalar(dtype, 1.0 / double(p))});
}

void pool(NodeContext& context) {
  const bool plain = context.node.outputs.size() < 2 || context.node.outputs[1] == kAbsent;
  if (plain && pooled_as_float(context)) return;
  Window w = read_window(context, nullptr);
  if (const int64_t p = context.node.integer(attr::p, 2);
      context.node.op == op::LpPool && p != 1 && p != 2) {
    if (p < 1 || context.node.integer(attr::ceil_mode, 0) != 0)
      context.refuse("p", std::to_string(p) + " is not supported here");
    return lp_by_powers(context, w, p);
  }
  resolve_pads(context, w);
  if (context.finished()) return;
  const bool ceil_mode = context.node.integer(attr::ceil_mode, 0) != 0;
  Dims dims = {context.dims(0)[0], context.dims(0)[1]};
  for (size_t i = 0; i < w.rank; i++) {
    if (w.pads[i] >= w.extent(i) || w.pads[i + w.rank] >= w.extent(i))
      context.corrupt("its pads are as large as its window");
    dims.push_back(output_extent(context, w, i, ceil_mode));
    // Of a window that is larger than its input the part inside is left: averages are of what is
    // there.
    const auto padded = (context.dims(0)[i + 2] + w.pads[i] + w.pads[i + w.rank]).value();
    if (ceil_mode && padded && w.extent(i) > *padded)
      w.kernel[i] = (*padded - 1) / w.dilations[i] + 1;
  }
  if (!plain) return pool_with_positions(context, {w.kernel, w.strides, w.dilations, w.pads}, dims);
  if (w.rank == 3) return pool_volume(context, {w.kernel, w.strides, w.dilations, w.pads}, dims);
  write_window(context, w);
  context.erase({attr::ceil_mode});
  context.set(0, context.dtype(0), std::move(dims));
}

void global_pool(NodeContext& context) {
  if (context.rank(0) < 3)
    context.corrupt("its input has shape " + text(context.dims(0)) +
                    ", expected at least 3 dimensions");
  std::vector<int64_t> axes;
  const int64_t first = context.node.integer(attr::channels_last, 0) != 0 ? 1 : 2;
  for (int64_t i = 2; i < context.rank(0); i++) axes.push_back(i - 2 + first);
  Operator op = context.node.op == op::GlobalAveragePool ? op::ReduceMean : op::ReduceMax;
  if (context.node.op == op::GlobalLpPool) {
    const int64_t p = context.node.integer(attr::p, 2);
    if (p != 1 && p != 2) context.refuse("p", std::to_string(p) + ", supported are 1 and 2");
    op = p == 1 ? op::ReduceL1 : op::ReduceL2;
  }
  context.finish(op, {context.in(0)}, {{attr::axes, axes}, {attr::keepdims, int64_t(1)}});
}

}  // namespace

void infer_conv_integer(NodeContext& context) {
  context.set(0, DType::kI32, *convolve(context, false));
}

void add_window_rules(InferTable& table) {
  table[op::Conv] = conv;
  table[op::ConvTranspose] = conv_transpose;
  table[op::MaxPool] = pool;
  table[op::MaxUnpool] = max_unpool;
  table[op::AveragePool] = pool;
  table[op::LpPool] = pool;
  table[op::GlobalAveragePool] = global_pool;
  table[op::GlobalMaxPool] = global_pool;
  table[op::GlobalLpPool] = global_pool;
}

}  // namespace ingot::graph
