// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_hybrid.cpp - products of inputs that are quantized in each run with
// weights of int8, as TFLite's hybrid kernels compute them.
#include <algorithm>

#include "runtime/op/requantize.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/hybrid.h"
#include "tools/import/tflite/quantized_channels.h"
#include "tools/import/tflite/window.h"

namespace ingot::tflite {
namespace {

using graph::Dims;

ValueId constant_of(Call& call, DType dtype, int64_t count, const void* values) {
  return call.b.constant(graph::make_constant(dtype, {count}, values));
}

/// Sums, scales and biases of weights: operands 2 to 5. A bias that is no constant is left to the
/// caller, and so is one of another length.
void add_channels(Call& call, const Weights& w, size_t bias, std::vector<ValueId>* operands,
                  bool* has_bias) {
  if (w.products > quantized::kMaxProducts)
    call.refuse("filter", "a sum of " + std::to_string(w.products) +
                              " products of bytes leaves 32 bits, at most " +
                              std::to_string(quantized::kMaxProducts) + " are supported");
  host::charge_work(w.values.size() / 8);
  std::vector<int32_t> sums;
  std::vector<float> scales, biases(size_t(w.outputs), 0.0f);
  for (int64_t o = 0; o < w.outputs; o++) {
    int64_t sum = 0;
    for (int64_t k = 0; k < w.products; k++) sum += w.values[size_t(o * w.products + k)] - w.zero;
    sums.push_back(int32_t(sum));
    scales.push_back(w.scales[w.scales.size() > 1 ? size_t(o) : 0]);
  }
  *has_bias = bias != kNoBias && call.has(bias);
  if (*has_bias) {
    const graph::Constant* known = call.net.model.constant(call.input(bias));
    if (known && known->dtype == DType::kF32 && known->elements() == w.outputs) {
      const auto all = known->as<float>().part(0, w.outputs);
      biases.assign(all.begin(), all.end());
      *has_bias = false;
    }
  }
  operands->push_back(constant_of(call, DType::kI32, w.outputs, sums.data()));
  operands->push_back(constant_of(call, DType::kF32, w.outputs, scales.data()));
  operands->push_back(constant_of(call, DType::kF32, w.outputs, biases.data()));
  const std::vector<int32_t> zeros(size_t(w.outputs), int32_t(w.zero));
  operands->push_back(w.zero ? constant_of(call, DType::kI32, w.outputs, zeros.data()) : kAbsent);
}

/// Bytes and steps of x, whose first dimension has a scale of each of its elements.
std::vector<ValueId> quantized_rows(Call& call, ValueId x, bool asymmetric) {
  return call.b.emit_many(op::DynamicQuantize, {x},
                          {{attr::range, std::string(asymmetric ? "asymmetric" : "symmetric")},
                           {attr::axis, int64_t(1)}},
                          2);
}

ValueId with_bias(Call& call, ValueId y, size_t bias) {
  return call.b.emit(op::Add, {y, call.input(bias)});
}

/// `filter`: [O, h, w, I / groups] of w's values.
bool give_convolved(Call& call, const Weights& w, const std::vector<int64_t>& filter,
                    int64_t groups, bool asymmetric) {
  const Dims dims = call.b.dims(call.input(0));
  aten::Attributes attributes = window_attributes(
      call, dims, {filter[1], call.integer("stride_h"), call.integer("dilation_h_factor")},
      {filter[2], call.integer("stride_w"), call.integer("dilation_w_factor")});
  const std::vector<ValueId> x = quantized_rows(call, call.input(0), asymmetric);
  std::vector<ValueId> operands = {
      x[0], call.b.constant(graph::make_constant(DType::kI8, filter, w.values.data()))};
  bool has_bias = false;
  add_channels(call, w, 2, &operands, &has_bias);
  operands.push_back(x[1]);
  attributes[attr::groups] = groups;
  attributes[attr::method] = std::string(groups == 1                             ? "direct"
                                         : filter[3] == 1 && groups == w.outputs ? "depthwise"
                                                                                 : "grouped");
  attributes[attr::requant] = std::string("to_float");
  ValueId y = call.b.emit(op::QuantizedConv2d, operands, std::move(attributes));
  if (has_bias) y = with_bias(call, y, 2);
  call.give(call.activated(y));
  call.on_bytes = true;
  return true;
}

/// Of the image, where they are known.
int64_t known_channels(Call& call) {
  call.expect_rank(0, 4);
  const auto last = call.b.dims(call.input(0)).back().value();
  return last ? *last : 0;
}

}  // namespace

bool has_hybrid_weights(const Call& call, size_t weights, int64_t channel_axis) {
  if (!call.has(weights)) return false;
  const fb::Tensor& t = call.tensor(weights);
  if (t.type() != fb::TensorType::int8 && t.type() != fb::TensorType::int4) return false;
  const ModelFile& file = call.translator.file();
  if (!ModelFile::is_quantized(t) || !file.bytes(t).is_there || !call.reads_floats()) return false;
  const TensorQuantization q = file.quantization(t);
  return !q.is_blockwise && (q.scales.size() == 1 || q.axis == channel_axis) &&
         std::all_of(q.zero_points.begin(), q.zero_points.end(),
                     [&](int64_t zero) { return zero == q.zero_points[0]; });
}

ValueId hybrid_linear(Call& call, ValueId rows, size_t weights, size_t bias, bool asymmetric) {
  Weights w;
  const std::vector<int64_t> filter = ModelFile::shape(call.tensor(weights));
  if (filter.size() != 2 || filter[0] < 1 || filter[1] < 1 ||
      !read_weights_int8(call, weights, 0, &w))
    call.corrupt("its weights are no matrix");
  w.outputs = filter[0], w.products = filter[1];
  if (call.b.rank(rows) != 2 || call.b.dims(rows)[1] != graph::Dim(filter[1]))
    call.corrupt("its input has shape " + graph::text(call.b.dims(rows)) + ", its weights " +
                 graph::text(Dims{graph::Dim(filter[0]), graph::Dim(filter[1])}));
  const std::vector<ValueId> x = quantized_rows(call, rows, asymmetric);
  std::vector<ValueId> operands = {
      x[0], call.b.constant(graph::make_constant(DType::kI8, filter, w.values.data()))};
  bool has_bias = false;
  add_channels(call, w, bias, &operands, &has_bias);
  operands.push_back(x[1]);
  call.on_bytes = true;
  const ValueId y =
      call.b.emit(op::QuantizedLinear, operands, {{attr::requant, std::string("to_float")}});
  return has_bias ? with_bias(call, y, bias) : y;
}

bool convolve_hybrid(Call& call) {
  const int64_t channels = known_channels(call);
  const std::vector<int64_t> filter = ModelFile::shape(call.tensor(1));  // [O, h, w, I / groups]
  Weights w;
  if (filter.size() != 4 ||
      std::any_of(filter.begin(), filter.end(), [](int64_t d) { return d < 1; }) || channels < 1 ||
      channels % filter[3] != 0 || filter[0] % (channels / filter[3]) != 0 ||
      !has_hybrid_weights(call, 1, 0) || !read_weights_int8(call, 1, 0, &w))
    return false;
  w.outputs = filter[0], w.products = filter[1] * filter[2] * filter[3];
  return give_convolved(call, w, filter, channels / filter[3], w.scales.size() > 1);
}

bool convolve_depthwise_hybrid(Call& call) {
  const int64_t channels = known_channels(call);
  const std::vector<int64_t> filter =
      ModelFile::shape(call.tensor(1));  // [1, h, w, C * multiplier]
  Weights plain;
  if (filter.size() != 4 || filter[0] != 1 || filter[1] < 1 || filter[2] < 1 || channels < 1 ||
      filter[3] < 1 || filter[3] % channels != 0 || !has_hybrid_weights(call, 1, 3) ||
      !read_weights_int8(call, 1, 3, &plain) || int64_t(plain.scales.size()) != filter[3])
    return false;
  Weights w = plain;
  w.outputs = filter[3], w.products = filter[1] * filter[2];
  for (int64_t o = 0; o < w.outputs; o++)
    for (int64_t k = 0; k < w.products; k++)
      w.values[size_t(o * w.products + k)] = plain.values[size_t(k * w.outputs + o)];
  return give_convolved(call, w, {w.outputs, filter[1], filter[2], 1}, channels, true);
}

}  // namespace ingot::tflite
