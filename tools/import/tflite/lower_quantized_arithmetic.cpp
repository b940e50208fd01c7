// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_arithmetic.cpp - sums, products, pools and softmax of bytes.
#include <algorithm>
#include <cmath>

#include "runtime/op/quantized_elementwise.h"
#include "tools/import/tflite/fixed_point.h"
#include "tools/import/tflite/wide_integers.h"
#include "tools/import/tflite/window.h"

namespace ingot::tflite {
namespace {

struct Operands {
  QuantParams a, b, y;
  RealRange range;
};
/// Two tensors of integers of one type, and what is fused behind.
bool read_operands_int8(Call& call, Operands* out) {
  const auto a = call.quantized(0), b = call.quantized(1), y = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!a || !b || !y || !range || a->is_signed != b->is_signed || a->is_signed != y->is_signed ||
      a->is_int16 != b->is_int16 || a->is_int16 != y->is_int16)
    return false;
  *out = {*a, *b, *y, *range};
  return true;
}
aten::Attributes attributes_of_bytes(const Operands& o, const char* function, bool xnnpack) {
  const Limits limits = xnnpack ? limits_of_xnnpack(o.range, o.y) : limits_of_kernels(o.range, o.y);
  return {{attr::function, std::string(function)},
          {attr::requant, std::string(xnnpack ? "float_even" : "fixed_away")},
          {attr::a_zero, int64_t(o.a.zero)},
          {attr::b_zero, int64_t(o.b.zero)},
          {attr::y_zero, int64_t(o.y.zero)},
          {attr::low, limits.low},
          {attr::high, limits.high}};
}
void give_int8(Call& call, aten::Attributes attributes) {
  call.give(
      call.b.emit(op::QuantizedElementwise, {call.input(0), call.input(1)}, std::move(attributes)));
}

/// XNNPACK's: the larger of both scales over that of y has 21 bits.
void add_sum_multipliers(const Operands& o, aten::Attributes* attributes) {
  const float a = o.a.scale / o.y.scale, b = o.b.scale / o.y.scale;
  const int shift = 20 - std::ilogb(std::max(a, b));
  (*attributes)[attr::a_multiplier] = int64_t(std::nearbyint(std::ldexp(a, shift)));
  (*attributes)[attr::b_multiplier] = int64_t(std::nearbyint(std::ldexp(b, shift)));
  (*attributes)[attr::y_shift] = int64_t(shift);
}
/// TFLite's own: both terms on twice the larger scale.
void add_fixed_sum_multipliers(const Operands& o, aten::Attributes* attributes) {
  const double twice = 2 * double(std::max(o.a.scale, o.b.scale));
  const auto put = [&](graph::AttributeName multiplier, graph::AttributeName shift, double real) {
    const FixedPoint by = fixed_point(real);
    (*attributes)[multiplier] = int64_t(by.multiplier);
    (*attributes)[shift] = int64_t(-by.shift);
  };
  put(attr::a_multiplier, attr::a_shift, double(o.a.scale) / twice);
  put(attr::b_multiplier, attr::b_shift, double(o.b.scale) / twice);
  put(attr::y_multiplier, attr::y_shift,
      twice / (double(int64_t{1} << quantized_sum_shift(o.y.is_int16 ? DType::kI16 : DType::kU8)) *
               double(o.y.scale)));
}

bool sum_int8(Call& call, const char* function) {
  Operands o;
  if (!read_operands_int8(call, &o)) return false;
  const auto fits = [&](float scale) {
    return scale / o.y.scale >= 1.0f / 1024 && scale / o.y.scale < 256;
  };
  const bool xnnpack = call.as_xnnpack() && !o.y.is_int16 && fits(o.a.scale) && fits(o.b.scale);
  aten::Attributes attributes = attributes_of_bytes(o, function, xnnpack);
  if (xnnpack)
    add_sum_multipliers(o, &attributes);
  else
    add_fixed_sum_multipliers(o, &attributes);
  give_int8(call, std::move(attributes));
  return true;
}
bool add_int8(Call& call) { return sum_int8(call, "add"); }
bool subtract_int8(Call& call) { return sum_int8(call, "sub"); }

bool multiply_int8(Call& call) {
  Operands o;
  if (!read_operands_int8(call, &o)) return false;
  const float scale = o.a.scale * o.b.scale / o.y.scale;
  const bool xnnpack = call.as_xnnpack() && !o.y.is_int16 && scale >= 1.0f / 65536 && scale < 256;
  aten::Attributes attributes = attributes_of_bytes(o, "mul", xnnpack);
  if (xnnpack) {
    attributes[attr::scale] = double(scale);
  } else {
    const double real =
        call.as_micro() ? double(o.a.scale) * double(o.b.scale) / double(o.y.scale) : double(scale);
    const FixedPoint by = fixed_point(real);
    attributes[attr::y_multiplier] = int64_t(by.multiplier);
    attributes[attr::y_shift] = int64_t(-by.shift);
  }
  give_int8(call, std::move(attributes));
  return true;
}

bool pool_int8(Call& call, bool average) {
  call.expect_rank(0, 4);
  const auto x = call.quantized(0), y = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!x || !y || !range || x->is_signed != y->is_signed || x->is_int16 != y->is_int16)
    return false;
  const ValueId image = call.input(0);
  aten::Attributes attributes = window_attributes(
      call, call.b.dims(image), {call.integer("filter_height"), call.integer("stride_h"), 1},
      {call.integer("filter_width"), call.integer("stride_w"), 1});
  // XNNPACK leaves averages to TFLite's kernels, and what has two scales, which those do not read.
  const bool by_kernels = average || !(*x == *y);
  const Limits limits = by_kernels ? limits_of_kernels(*range, *y) : call.limits(*range, *y);
  attributes[attr::kind] = std::string(average ? "average" : "max");
  attributes[attr::offset] = int64_t(x->offset());
  attributes[attr::low] = limits.low, attributes[attr::high] = limits.high;
  call.give(call.b.emit(op::QuantizedPool2d, {image}, std::move(attributes)));
  return true;
}
bool max_pool_int8(Call& call) { return pool_int8(call, false); }
bool average_pool_int8(Call& call) { return pool_int8(call, true); }

/// exp of -i steps in f32, or of TFLite Micro in fixed point. None where that cannot hold them.
std::optional<graph::Constant> exponentials(Call& call, float scale) {
  const float beta = float(call.number("beta")), step = -scale * beta;
  if (!std::isfinite(step)) call.corrupt("its beta or scale leaves the range of float32");
  if (!call.as_micro()) {
    std::vector<float> table(256);
    for (int i = 0; i < 256; i++) table[size_t(255 - i)] = std::exp(step * float(i));
    return graph::make_constant(DType::kF32, {256}, table.data());
  }
  constexpr int kBits = 5;
  const auto input = fixed_input(double(beta) * double(scale), kBits);
  if (!input) return std::nullopt;
  std::vector<int32_t> table(256);
  for (int i = 0; i < 256; i++)
    if (i <= input->radius) table[size_t(255 - i)] = fixed_exp(multiplied(-i, input->by), kBits);
  return graph::make_constant(DType::kI32, {256}, table.data());
}

bool softmax_int8(Call& call) {
  const auto x = call.quant_params(0), y = call.output_quant_params(0);
  const auto wide = wide_quant_params_of(call.translator.file(), call.output_tensor(0));
  const bool is_short = wide && call.output_dtype(0) == DType::kI16 && wide->zero == INT16_MIN;
  const bool fits = x && (y || is_short) && call.rank(0) >= 1;
  const auto table = fits ? exponentials(call, x->scale) : std::nullopt;
  if (!table && wide) call.refuse("", "to int16 is supported from bytes, with a zero of -32768");
  if (!table) return false;
  call.give(call.b.emit(op::QuantizedSoftmax, {call.input(0), call.b.constant(*table)},
                        {{attr::scale, double(y ? y->scale : wide->scale)},
                         {attr::y_zero, y ? int64_t(y->zero) : wide->zero},
                         {attr::add_half, int64_t(y && !x->is_signed && !y->is_signed)},
                         {attr::to, int64_t(y ? DType::kU8 : DType::kI16)}}));
  return true;
}

}  // namespace

void add_quantized_binary(QuantizedTable& table) {
  table["ADD"] = add_int8;
  table["SUB"] = subtract_int8;
  table["MUL"] = multiply_int8;
  table["MAX_POOL_2D"] = max_pool_int8;
  table["AVERAGE_POOL_2D"] = average_pool_int8;
}
void add_quantized_arithmetic(QuantizedTable& table) {
  add_quantized_binary(table);
  table["SOFTMAX"] = softmax_int8;
}

}  // namespace ingot::tflite
