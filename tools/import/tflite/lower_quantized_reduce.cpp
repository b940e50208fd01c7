// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_reduce.cpp - means and sums of bytes.
#include <algorithm>
#include <cmath>

#include "runtime/op/requantize.h"
#include "tools/import/tflite/quantized_channels.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

constexpr int64_t kMaxExactSum = 65536;  // of bytes, as whole numbers in f32

struct Reduction {
  QuantParams x, y;
  ValueId bytes = kAbsent;
  Dims dims;                  // of bytes
  std::vector<int64_t> axes;  // sorted, each once
  int64_t count = 1;          // elements that make one
  bool keep = false;
  bool is_reduced(size_t axis) const {
    return std::find(axes.begin(), axes.end(), int64_t(axis)) != axes.end();
  }
  Dims output() const {
    Dims out;
    for (size_t i = 0; i < dims.size(); i++)
      if (!is_reduced(i) || keep) out.push_back(is_reduced(i) ? Dim(1) : dims[i]);
    return out;
  }
};
bool read_reduction(Call& call, Reduction* r) {
  const auto x = call.quantized(0), y = call.output_quantized(0);
  if (!x || !y || x->is_signed != y->is_signed || x->is_int16 != y->is_int16) return false;
  r->x = *x, r->y = *y, r->bytes = call.input(0), r->dims = call.b.dims(r->bytes);
  for (const int64_t given : call.known_integers(1, "axis"))
    r->axes.push_back(call.axis(given, int64_t(r->dims.size())));
  std::sort(r->axes.begin(), r->axes.end());
  r->axes.erase(std::unique(r->axes.begin(), r->axes.end()), r->axes.end());
  for (const int64_t axis : r->axes) {
    const auto extent = r->dims[size_t(axis)].value();
    if (!extent || *extent < 1 || *extent > kMaxExactSum) return false;
    r->count *= *extent;
    if (r->count > kMaxExactSum) return false;
  }
  r->keep = call.flag("keep_dims");
  return !r->axes.empty();
}

/// In f32: (the sum of the source's integers) * scale + zero.
ValueId scaled_sum(Call& call, const Reduction& r, float scale, float zero) {
  aten::Builder& b = call.b;
  const auto number = [&](double n) { return b.scalar(DType::kF32, n); };
  const ValueId whole = b.reduce(op::ReduceSum, b.cast(r.bytes, DType::kF32), r.axes, r.keep);
  const int64_t more = r.x.is_int16 ? 0 : r.count * r.x.offset();  // than the source's
  const ValueId sum = b.emit(op::Sub, {whole, number(double(more))});
  return b.emit(op::Add, {b.emit(op::Mul, {sum, number(double(scale))}), number(double(zero))});
}

/// XNNPACK's: the exact sum of the bytes times a scale, and a zero point that is no whole number,
/// in f32, ties to even.
bool reduced_by_xnnpack(Call& call, const Reduction& r, bool mean) {
  aten::Builder& b = call.b;
  const float ratio = r.x.scale / r.y.scale;
  const float scale = mean ? ratio * (1.0f / float(r.count)) : ratio;
  const float zero = float(r.y.source_zero()) - float(r.count * r.x.source_zero()) * scale;
  const ValueId kept =
      b.emit(op::Clip, {b.emit(op::Round, {scaled_sum(call, r, scale, zero)})},
             {{attr::min, double(-r.y.offset())}, {attr::max, double(255 - r.y.offset())}});
  call.give(
      b.cast(b.emit(op::Add, {kept, b.scalar(DType::kF32, double(r.y.offset()))}), DType::kU8));
  return true;
}

/// TFLite's kernels' sums: the same in another order, ties away from zero.
bool summed_by_kernels(Call& call, const Reduction& r) {
  const float scale = r.x.scale / r.y.scale;
  const float zero = -float(r.x.source_zero()) * scale * float(r.count);
  call.give(call.b.emit(op::Quantize, {scaled_sum(call, r, scale, zero)},
                        {{attr::scale, 1.0},
                         {attr::zero_point, int64_t(r.y.is_int16 ? 0 : r.y.zero)},
                         {attr::rounding, std::string("away")},
                         {attr::reciprocal, int64_t(0)},
                         {attr::to, int64_t(r.y.is_int16 ? DType::kI16 : DType::kU8)}}));
  return true;
}

/// A mean in fixed point: the sum of x * weights of 1, times a multiplier.
struct FixedMean {
  int32_t bias = 0;
  FixedPoint by;
  int64_t zero = 0;      // of the output
  int64_t together = 0;  // rounded_together()
};
/// TFLite's kernels': the division is in the multiplier.
FixedMean mean_of_kernels(const Reduction& r) {
  FixedMean m;
  m.bias = int32_t(-r.count * r.x.zero), m.zero = r.y.zero;
  const FixedPoint ratio = fixed_point(double(r.x.scale) / double(r.y.scale));
  int shift = 0;
  while (int64_t{2} << shift <= r.count) shift++;
  shift = std::min(shift, 31 + ratio.shift);
  m.by = {int32_t((int64_t(ratio.multiplier) << shift) / r.count), ratio.shift - shift};
  return m;
}
/// LiteRT's own of images whose dimensions stay: the zero points apart, rounded to whole
/// numbers. None where that leaves 16 bits.
std::optional<FixedMean> mean_of_images(const Reduction& r) {
  if (!r.keep || r.dims.size() != 4 || r.axes != std::vector<int64_t>{1, 2}) return std::nullopt;
  FixedMean m;
  m.bias = int32_t(-r.count * r.x.offset());
  const float zero = float(r.x.source_zero()) * r.x.scale / r.y.scale;
  m.zero = r.y.zero - int64_t(std::clamp(zero > 0 ? zero + 0.5f : zero - 0.5f, -1e6f, 1e6f));
  if (m.zero < INT16_MIN || m.zero > INT16_MAX - 255) return std::nullopt;
  m.by = fixed_point(double(r.x.scale / (float(r.count) * r.y.scale)));
  m.together = 16;
  return m;
}

/// How a mean is a product: rows of [count, channels] whose axes lie together, or were brought
/// together at the end.
struct Rows {
  ValueId image = kAbsent;
  int64_t channels = 1;
};
std::optional<Rows> rows_of(Call& call, const Reduction& r) {
  aten::Builder& b = call.b;
  const size_t first = size_t(r.axes.front());
  const bool together = size_t(r.axes.back()) + 1 == first + r.axes.size();
  Rows out;
  Dim rows(1);
  std::vector<int64_t> order;
  for (size_t i = 0; i < r.dims.size(); i++) {
    if (r.is_reduced(i)) continue;
    order.push_back(int64_t(i));
    const auto extent = r.dims[i].value();
    if (!together || i < first) {
      rows = rows * r.dims[i];
    } else if (!extent || *extent < 1 || *extent > (int64_t{1} << 31) / out.channels) {
      return std::nullopt;
    } else {
      out.channels *= *extent;
    }
  }
  order.insert(order.end(), r.axes.begin(), r.axes.end());
  out.image = b.reshape(together ? r.bytes : b.transpose(r.bytes, order),
                        out.channels == 1 ? Dims{rows, Dim(r.count)}
                                          : Dims{rows, Dim(r.count), Dim(1), Dim(out.channels)});
  return out;
}

FixedMean mean_of(const Call& call, const Reduction& r) {
  const auto images = call.as_micro() || r.x.is_int16 ? std::nullopt : mean_of_images(r);
  return images ? *images : mean_of_kernels(r);
}
/// TFLite Micro's of int8.
FixedMean sum_of_micro(const Reduction& r) {
  FixedMean m;
  m.bias = int32_t(-r.count * r.x.zero), m.zero = r.y.zero;
  m.by = fixed_point(double(r.x.scale) / double(r.y.scale));
  return m;
}

bool reduced_in_fixed_point(Call& call, const Reduction& r, const FixedMean& m) {
  aten::Builder& b = call.b;
  const auto rows = rows_of(call, r);
  if (!rows) return false;
  const int64_t channels = rows->channels;
  // A zero that is no byte: as numbers of 16 bits, which have 32768 added.
  const bool widened = m.zero < 0 || m.zero > r.y.most();
  const int64_t more = widened ? 32768 : 0;
  const auto each_channel = [&](DType dtype, int32_t value) {
    const auto all = std::vector<int32_t>(size_t(channels), value);
    return b.constant(graph::make_constant(dtype, {channels}, all.data()));
  };
  const std::vector<int8_t> ones(size_t(channels * r.count), 1);
  const std::vector<int64_t> extents = channels == 1
                                           ? std::vector<int64_t>{1, r.count}
                                           : std::vector<int64_t>{channels, r.count, 1, 1};
  const std::vector<ValueId> operands = {
      widened ? b.cast(rows->image, DType::kI16) : rows->image,
      b.constant(graph::make_constant(DType::kI8, extents, ones.data())),
      each_channel(DType::kI32, int32_t(m.bias - r.count * more)),
      each_channel(DType::kI32, m.by.multiplier), each_channel(DType::kI32, -m.by.shift)};
  aten::Attributes attributes = {
      {attr::y_zero, m.zero + more}, {attr::low, more}, {attr::high, r.y.most() + more}};
  if (channels > 1) {
    attributes[attr::kernel_h] = r.count;
    attributes[attr::groups] = channels;
    attributes[attr::method] = std::string("depthwise");
    attributes[attr::x_zero] = r.x.zero + more;
  }
  const auto made = [&](const char* requant) {
    attributes[attr::requant] = std::string(requant);
    return b.emit(channels == 1 ? op::QuantizedLinear : op::QuantizedConv2d, operands, attributes);
  };
  const ValueId y =
      channels == 1 ? made("fixed_away") : rounded_together(call, m.together, channels, made);
  call.give(b.reshape(widened ? b.cast(y, DType::kU8) : y, r.output()));
  return true;
}

bool mean_int8(Call& call) {
  Reduction r;
  if (!read_reduction(call, &r)) return false;
  if (call.as_xnnpack() && !r.x.is_int16) return reduced_by_xnnpack(call, r, true);
  return reduced_in_fixed_point(call, r, mean_of(call, r));
}
bool total_bytes(Call& call) {
  Reduction r;
  if (!read_reduction(call, &r)) return false;
  if (call.as_xnnpack() && !r.x.is_int16) return reduced_by_xnnpack(call, r, false);
  if (call.as_micro() && r.x.is_signed) return reduced_in_fixed_point(call, r, sum_of_micro(r));
  return summed_by_kernels(call, r);
}

/// LiteRT's: one factor after the other, each product rescaled by x / y^(1/n), spelled out.
bool product_of_integers(Call& call) {
  constexpr int64_t kMaxFactors = 64;
  Reduction r;
  if (!read_reduction(call, &r) || !r.x.is_signed || r.count > kMaxFactors) return false;
  aten::Builder& b = call.b;
  if (r.count == 1 && !call.as_micro()) {  // LiteRT moves the integers
    call.give(b.reshape(r.bytes, r.output()));
    return true;
  }
  Wide wide(b);
  std::vector<int64_t> order;
  Dims rest;
  for (size_t i = 0; i < r.dims.size(); i++)
    if (!r.is_reduced(i)) order.push_back(int64_t(i)), rest.push_back(r.dims[i]);
  order.insert(order.end(), r.axes.begin(), r.axes.end());
  const Dim rows = graph::product(rest);
  const ValueId factors =
      wide.add(wide.of(b.reshape(b.transpose(r.bytes, order), {rows, Dim(r.count)})),
               wide.number(r.x.is_int16 ? 0 : -r.x.zero));
  const double ratio = double(r.x.scale) / std::pow(double(r.y.scale), 1.0 / double(r.count));
  const FixedPoint by = fixed_point(ratio);
  const auto factor = [&](int64_t i) { return b.slice(factors, 1, Dim(i), Dim(i + 1)); };
  // what is rescaled is taken as a number of 32 bits
  const auto rescaled = [&](ValueId x) { return wide.multiplied_once(x, by); };
  ValueId product = factor(0);
  for (int64_t i = 1; i < r.count; i++) {
    const auto next = rescaled(wide.mul(product, factor(i)));
    if (!next) return false;
    product = wide.wrapped(*next);
  }
  const auto made = rescaled(product);
  if (!made) return false;
  const ValueId y = wide.add(wide.wrapped(*made), wide.number(r.y.is_int16 ? 0 : r.y.zero));
  const ValueId kept = r.y.is_int16 ? wide.as_i16(y) : wide.clamped(y, 0, 255);
  call.give(b.reshape(b.cast(kept, r.y.is_int16 ? DType::kI16 : DType::kU8), r.output()));
  return true;
}

}  // namespace

void add_quantized_reduce(QuantizedTable& table) {
  table["MEAN"] = mean_int8;
  table["SUM"] = total_bytes;
  table["REDUCE_PROD"] = product_of_integers;
}

}  // namespace ingot::tflite
