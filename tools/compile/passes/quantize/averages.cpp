// SPDX-License-Identifier: Apache-2.0
// Averages are products with weights of 1: exact sums, scaled and rounded once.
#include <algorithm>

#include "runtime/op/requantize.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/compile/passes/quantize/int8_operands.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/graph/window.h"

namespace ingot::passes::quantize {
namespace {

ValueId averaged(Int8Graph& g, const Node& node, ValueId image, const QuantParams& x, int64_t count,
                 Attributes attributes, const Dims& dims, const Output& to) {
  Editor& e = g.e;
  const auto channels = dims[3].value();
  if (!channels || *channels < 1 || count < 1 || count > quantized::kMaxProducts) return kAbsent;
  const auto at = [&](graph::AttributeName key) { return std::get<int64_t>(attributes.at(key)); };
  host::charge_memory(uint64_t(*channels) * uint64_t(count + 8));
  const std::vector<int8_t> ones(size_t(*channels * count), 1);
  const std::vector<int32_t> bias(size_t(*channels), int32_t(-x.zero * count));
  const std::vector<float> by(size_t(*channels), x.scale / to.params.scale / float(count));
  const auto constant = [&](const char* what, Constant made) {
    return e.new_constant(node.name + what, std::move(made));
  };
  const Integers extents = {*channels, at(attr::kernel_h), at(attr::kernel_w), 1};
  const std::vector<ValueId> operands = {
      image, constant("/ones", graph::make_constant(DType::kI8, extents, ones.data())),
      constant("/bias", graph::make_constant(DType::kI32, {*channels}, bias.data())),
      constant("/multipliers", graph::make_constant(DType::kF32, {*channels}, by.data()))};
  attributes[attr::groups] = *channels;
  attributes[attr::method] = std::string("depthwise");
  attributes[attr::x_zero] = x.zero;
  limit(to, &attributes);
  const ValueId y = e.emit(op::QuantizedConv2d, operands, DType::kU8, dims, node, attributes);
  e.value(y).layout = "NHWC";
  return y;
}

ValueId averaged_windows(Int8Graph& g, const Node& root, const QuantParams& x, const Output& to) {
  Editor& e = g.e;
  const size_t rank = e.rank(root.inputs[0]);
  if ((rank != 3 && rank != 4) || !windows_fit(e, root)) return kAbsent;
  const graph::Window2d taps = graph::window_of(root);
  if (taps.has_pads() && root.integer(attr::count_include_pad, 0) == 0) return kAbsent;
  const Dims dims = image_dims(e.dims(root.outputs[0]));
  if (!dims[3].is_static() || taps.h.kernel > quantized::kMaxProducts ||
      taps.w.kernel > quantized::kMaxProducts ||
      taps.h.kernel * taps.w.kernel > quantized::kMaxProducts)
    return kAbsent;
  const ValueId y = averaged(g, root, image_of(e, g.bytes(root.inputs[0]), root), x,
                             taps.h.kernel * taps.w.kernel, window(root), dims, to);
  return y < 0 ? kAbsent : from_image(e, y, root);
}

/// ReduceMean over dimensions that lie together, with one dimension of channels on either side.
ValueId averaged_together(Int8Graph& g, const Node& root, const QuantParams& x, const Output& to) {
  Editor& e = g.e;
  const ValueId in = root.inputs[0];
  const Integers axes = root.integers(attr::axes);
  const Dims dims = e.dims(in);
  const size_t rank = dims.size();
  int64_t count = 1;
  for (size_t i = 0; i < axes.size(); i++) {
    const auto extent = dims[size_t(axes[i])].value();
    if (axes[i] != axes[0] + int64_t(i) || !extent || *extent < 1 || *extent > 65536)
      return kAbsent;
    count *= *extent;
    if (count > quantized::kMaxProducts) return kAbsent;
  }
  if (axes.empty() || axes[0] < 1) return kAbsent;
  const size_t first = size_t(axes[0]), behind = first + axes.size();
  if (rank - behind > 1 || (behind == rank && first != 2)) return kAbsent;
  const bool channels_first = behind == rank;
  const Dim channels = channels_first ? dims[1] : dims.back();
  if (!channels.is_static()) return kAbsent;
  Dim images = 1;
  for (size_t i = 0; i < (channels_first ? 1 : first); i++) images = images * dims[i];
  ValueId bytes = g.bytes(in);
  if (channels_first) {
    bytes = e.reshape(bytes, {dims[0], dims[1], Dim(count)}, root);
    bytes = e.transpose(bytes, {0, 2, 1}, root);
  }
  const ValueId image = e.reshape(bytes, {images, Dim(1), Dim(count), channels}, root);
  const Attributes attributes = {{attr::kernel_h, int64_t(1)}, {attr::kernel_w, count}};
  const ValueId y =
      averaged(g, root, image, x, count, attributes, {images, Dim(1), Dim(1), channels}, to);
  return e.reshape(y, e.dims(root.outputs[0]), root);
}

/// Over any dimensions: rows of what is averaged, times ones.
ValueId averaged_rows(Int8Graph& g, const Node& root, const QuantParams& x, const Output& to) {
  Editor& e = g.e;
  const Dims dims = e.dims(root.inputs[0]);
  const Integers axes = root.integers(attr::axes);
  Integers order;
  int64_t count = 1;
  for (int64_t i = 0; i < int64_t(dims.size()); i++)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  Dims kept;
  for (const int64_t i : order) kept.push_back(dims[size_t(i)]);
  for (const int64_t i : axes) {
    const auto extent = dims[size_t(i)].value();
    if (!extent || *extent < 1 || *extent > quantized::kMaxProducts) return kAbsent;
    count *= *extent;
    if (count > quantized::kMaxProducts) return kAbsent;
    order.push_back(i);
  }
  if (axes.empty()) return kAbsent;
  const std::vector<int8_t> ones(size_t(count), 1);
  const int32_t bias = int32_t(-x.zero * count);
  const float by = x.scale / to.params.scale / float(count);
  const auto constant = [&](const char* what, Constant made) {
    return e.new_constant(root.name + what, std::move(made));
  };
  kept.push_back(Dim(count));
  const ValueId bytes = e.reshape(e.transpose(g.bytes(root.inputs[0]), order, root), kept, root);
  kept.back() = Dim(1);
  Attributes attributes = {{attr::w_zero, int64_t(0)}};
  limit(to, &attributes);
  const ValueId y =
      e.emit(op::QuantizedLinear,
             {bytes, constant("/ones", graph::make_constant(DType::kI8, {1, count}, ones.data())),
              constant("/bias", graph::make_constant(DType::kI32, {1}, &bias)),
              constant("/multipliers", graph::make_constant(DType::kF32, {1}, &by))},
             DType::kU8, kept, root, attributes);
  return e.reshape(y, e.dims(root.outputs[0]), root);
}

}  // namespace

ValueId recognize_average(Int8Graph& g, const Node& root, const Output& to) {
  const auto x = g.quant_params(root.inputs[0]);
  if (!x) return kAbsent;
  if (root.op == op::AveragePool) return averaged_windows(g, root, *x, to);
  const ValueId together = averaged_together(g, root, *x, to);
  return together >= 0 ? together : averaged_rows(g, root, *x, to);
}

}  // namespace ingot::passes::quantize
