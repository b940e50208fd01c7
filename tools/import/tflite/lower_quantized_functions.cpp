// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_functions.cpp - functions of one tensor of bytes: tables that
// are computed while converting, as the runtime computes them whose integers are wanted.
#include <cmath>
#include <limits>

#include "tools/import/tflite/call.h"
#include "tools/import/tflite/fixed_point.h"

namespace ingot::tflite {

float exact_gelu(float x) {
  constexpr float kRoot = 0.70710678118654752440f;
  return 0.5f * x * std::erfc(-x * kRoot);  // as LiteRT: 1 + erf would lose what is small
}
float approximate_gelu(float x) {
  constexpr float kSlope = 0.79788456080286535588f;
  return 0.5f * x * (1 + std::tanh(kSlope * (x + 0.044715f * x * x * x)));
}

namespace {

struct Ends {
  QuantParams x, y;
};
std::optional<Ends> ends_of(Call& call) {
  const auto x = call.quant_params(0), y = call.output_quant_params(0);
  if (!x || !y || x->is_signed != y->is_signed) return std::nullopt;
  return Ends{*x, *y};
}
bool give_int8(Call& call, const Table& table) {
  bool same = true;
  for (size_t i = 0; i < table.size(); i++) same &= table[i] == i;
  const ValueId x = call.input(0);
  if (same)
    call.give(x);
  else
    call.give(call.b.emit(
        op::Lookup, {x, call.b.constant(graph::make_constant(DType::kU8, {256}, table.data()))}));
  return true;
}

float logistic(float x) {
  if (x > 100) return 1;
  if (x < -100) return 0;
  const double e = std::exp(double(x));
  return float(e / (1 + e));
}
float logistic_of_kernels(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float hyperbolic(float x) { return std::tanh(x); }
float exponential(float x) { return std::exp(x); }
float exponential_unit(float x) { return x < 0 ? std::expm1(x) : x; }

/// By a table of XNNPACK, or of TFLite's kernels.
template <float (*xnnpack)(float), float (*kernels)(float) = xnnpack>
bool by_either(Call& call) {
  const auto ends = ends_of(call);
  return ends && give_int8(call, call.as_xnnpack() ? table_of_xnnpack(ends->x, ends->y, xnnpack)
                                                   : table_of_kernels(ends->x, ends->y, kernels));
}
template <float (*function)(float)>
bool by_kernels(Call& call) {
  const auto ends = ends_of(call);
  return ends && give_int8(call, table_of_kernels(ends->x, ends->y, function));
}
/// TFLite Micro's functions of int8, Q4.27 to Q0.31, of which `bits` are kept.
bool by_fixed_point(Call& call, int32_t (*function)(int32_t), int bits, int32_t zero) {
  const auto ends = ends_of(call);
  const auto input = ends ? fixed_input(double(ends->x.scale), 4) : std::nullopt;
  if (!input) return false;
  const QuantParams& x = ends->x;
  return give_int8(call, table_of(x, ends->y, [&](int32_t step) {
                     const int32_t d = step - x.source_zero();
                     if (d <= -input->radius) return -128;
                     if (d >= input->radius) return 127;
                     return divided(function(multiplied(d, input->by)), 31 - bits) + zero;
                   }));
}
bool is_micro_int8(Call& call) {
  return call.as_micro() && call.quant_params(0) && call.quant_params(0)->is_signed;
}
bool logistic_int8(Call& call) {
  if (is_micro_int8(call)) return by_fixed_point(call, fixed_logistic, 8, -128);
  return by_either<logistic, logistic_of_kernels>(call);
}
bool tanh_int8(Call& call) {
  if (is_micro_int8(call)) return by_fixed_point(call, fixed_tanh, 7, 0);
  return by_either<hyperbolic>(call);
}
bool elu_int8(Call& call) {
  const auto ends = ends_of(call);
  return ends && ends->x.is_signed && by_either<exponential_unit>(call);
}
bool log_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends || !ends->x.is_signed) return false;
  const float least = float(-128 - ends->y.source_zero()) * ends->y.scale;
  return give_int8(call, table_of_kernels(ends->x, ends->y,
                                          [&](float x) { return x <= 0 ? least : std::log(x); }));
}
bool gelu_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends) return false;
  const bool approximate = call.flag("approximate");
  return give_int8(call,
                   table_of_kernels(ends->x, ends->y, approximate ? approximate_gelu : exact_gelu));
}

/// Cut off, not rounded. LiteRT ends a run on what is below zero; here it is zero.
bool root_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends || !ends->x.is_signed) return false;
  const QuantParams &x = ends->x, &y = ends->y;
  return give_int8(call, table_of(x, y, [&](int32_t step) {
                     const int32_t d = std::max(step - x.source_zero(), 0);
                     const float steps = std::sqrt(float(d) * x.scale) / y.scale;
                     return int32_t(std::min(steps, 1e6f)) + y.source_zero();
                   }));
}
/// Of zero, and of what LiteRT ends a run on, the largest number.
bool inverse_root_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends || !ends->x.is_signed) return false;
  const QuantParams &x = ends->x, &y = ends->y;
  return give_int8(call, table_of(x, y, [&](int32_t step) {
                     const int32_t d = step - x.source_zero();
                     if (d <= 0) return 127;
                     const double steps =
                         1 / (std::sqrt(double(d) * double(x.scale)) * double(y.scale));
                     return int32_t(std::round(std::min(steps, 1e6))) + y.source_zero();
                   }));
}

/// Two products in fixed point, of which the sign of x chooses.
bool parametric_int8(Call& call) {
  const auto x = call.quant_params(0), slope = call.quant_params(1),
             y = call.output_quant_params(0);
  if (!x || !slope || !y || x->is_signed != y->is_signed || x->is_signed != slope->is_signed)
    return false;
  const FixedPoint keep = fixed_point(double(x->scale / y->scale)),
                   by = fixed_point(double(x->scale * slope->scale / y->scale));
  const Table table = table_of(*x, *y, [&](int32_t step) {
    return multiplied(step - x->source_zero(), keep) + y->source_zero();
  });
  aten::Builder& b = call.b;
  const ValueId bytes = call.input(0);
  const ValueId positive = b.emit(
      op::Lookup, {bytes, b.constant(graph::make_constant(DType::kU8, {256}, table.data()))});
  const ValueId negative = b.emit(op::QuantizedElementwise, {bytes, call.input(1)},
                                  {{attr::function, std::string("mul")},
                                   {attr::requant, std::string("fixed_away")},
                                   {attr::a_zero, int64_t(x->zero)},
                                   {attr::b_zero, int64_t(slope->zero)},
                                   {attr::y_zero, int64_t(y->zero)},
                                   {attr::y_multiplier, int64_t(by.multiplier)},
                                   {attr::y_shift, int64_t(-by.shift)},
                                   {attr::low, int64_t(0)},
                                   {attr::high, int64_t(255)}});
  const ValueId below = b.emit(op::Less, {bytes, b.scalar(DType::kU8, double(x->zero))});
  call.give(b.emit(op::Where, {below, negative, positive}));
  return true;
}

/// TFLite's own: rescaled in fixed point, then limited.
bool rectified_int8(Call& call, float low, float high) {
  const auto ends = ends_of(call);
  if (!ends) return false;
  const QuantParams &x = ends->x, &y = ends->y;
  const FixedPoint by = fixed_point(double(x.scale / y.scale));
  const Limits limits = limits_of_kernels({low, high}, y);
  return give_int8(call, table_of(x, y, [&](int32_t step) {
                     const int64_t made = int64_t(multiplied(step - x.source_zero(), by)) + y.zero;
                     return int32_t(std::clamp(made, limits.low, limits.high)) - y.offset();
                   }));
}
constexpr float kNone = std::numeric_limits<float>::infinity();
bool relu_int8(Call& call) { return rectified_int8(call, 0, kNone); }
/// TFLite Micro limits the bytes of its input, whatever the scale of its output.
bool relu6_int8(Call& call) {
  if (!is_micro_int8(call)) return rectified_int8(call, 0, 6);
  const auto ends = ends_of(call);
  if (!ends) return false;
  const Limits limits = limits_of_kernels({0, 6}, ends->x);
  return give_int8(call, table_of(ends->x, ends->y, [&](int32_t step) {
                     const int64_t byte = step + ends->x.offset();
                     return int32_t(std::clamp(byte, limits.low, limits.high)) - ends->y.offset();
                   }));
}
bool relu_n1_int8(Call& call) { return rectified_int8(call, -1, 1); }
bool relu_01_int8(Call& call) { return rectified_int8(call, 0, 1); }

bool leaky_relu_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends) return false;
  const QuantParams &x = ends->x, &y = ends->y;
  const float alpha = float(call.number("alpha"));
  const float positive = x.scale / y.scale, negative = positive * alpha;
  const bool xnnpack = call.as_xnnpack() && std::isnormal(alpha) && positive >= 1.0f / 256 &&
                       positive <= 128 && negative >= -127.99609375f && negative <= 128 &&
                       std::fabs(negative) >= 1.0f / 256;
  if (xnnpack) {
    const int32_t up = int32_t(std::nearbyint(256.0f * positive)),
                  down = int32_t(std::nearbyint(256.0f * negative));
    return give_int8(call, table_of(x, y, [&](int32_t step) {
                       const int32_t d = step - x.source_zero();
                       return (y.source_zero() * 256 + d * (d >= 0 ? up : down) + 128) >> 8;
                     }));
  }
  const FixedPoint up = fixed_point(double(positive)),
                   down = fixed_point(double(x.scale * alpha / y.scale));
  return give_int8(call, table_of(x, y, [&](int32_t step) {
                     const int32_t d = step - x.source_zero();
                     return multiplied(d, d >= 0 ? up : down) + y.source_zero();
                   }));
}

bool absolute_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends) return false;
  const QuantParams &x = ends->x, &y = ends->y;
  const FixedPoint by = fixed_point(double(x.scale) / double(y.scale));
  return give_int8(call, table_of(x, y, [&](int32_t step) {
                     const int32_t size = std::abs(step - x.source_zero());
                     return (x.scale == y.scale ? size : multiplied(size, by)) + y.source_zero();
                   }));
}

// hard_swish in 16 bits, as TFLite's kernels have it.
int16_t saturated(int64_t n) { return int16_t(std::clamp<int64_t>(n, INT16_MIN, INT16_MAX)); }
/// Upper half of twice the product, to the nearest, and toward zero.
int16_t nearest_product(int16_t a, int16_t b) {
  const int32_t product = int32_t(a) * b;
  const int32_t half = product >= 0 ? 1 << 14 : 1 - (1 << 14);
  return saturated((product + half) / (1 << 15));
}
int16_t short_product(int16_t a, int16_t b) { return saturated(int32_t(a) * b / (1 << 15)); }
int16_t upper_half(int32_t multiplier) {
  return saturated((int64_t(multiplier) + (1 << 15)) >> 16);
}

bool hard_swish_int8(Call& call) {
  const auto ends = ends_of(call);
  if (!ends) return false;
  const QuantParams &x = ends->x, &y = ends->y;
  const float fine = (1.0f / 128.0f) * x.scale, unit = 3.0f / 32768.0f;
  const FixedPoint out = fixed_point(double(fine / y.scale)),
                   relu = fixed_point(double(fine / unit));
  if (out.shift > 0) return false;  // LiteRT refuses it
  const int16_t out_half = upper_half(out.multiplier), relu_half = upper_half(relu.multiplier);
  return give_int8(call, table_of(x, y, [&](int32_t step) {
                     const int16_t input = int16_t((step - x.source_zero()) * 128);
                     const int16_t scaled = nearest_product(input, out_half);
                     int16_t gate = input;
                     if (relu.shift > 0) gate = saturated(int64_t(gate) << (relu.shift - 1));
                     gate = nearest_product(gate, relu_half);
                     if (relu.shift > 0) gate = saturated(int64_t(gate) * 2);
                     if (relu.shift < 0) gate = int16_t(divided(gate, -relu.shift));
                     gate = int16_t((int32_t(gate) + (1 << 15)) >> 1);
                     return divided(short_product(gate, scaled), -out.shift) + y.source_zero();
                   }));
}

/// Bytes to bytes; from numbers it is what stands behind the operator in floating point.
bool requantize_int8(Call& call) {
  const auto x = call.quant_params(0), y = call.output_quant_params(0);
  if (!x || !y) return requantize_wide(call);
  if (!call.as_micro()) return give_int8(call, table_of_rescaling(*x, *y, call.as_xnnpack()));
  const FixedPoint by = fixed_point(double(x->scale) / double(y->scale));
  return give_int8(call, table_of(*x, *y, [&](int32_t step) {
                     return multiplied(step - x->source_zero(), by) + y->source_zero();
                   }));
}

}  // namespace

void add_quantized_functions(QuantizedTable& table) {
  table["LOGISTIC"] = logistic_int8;
  table["TANH"] = tanh_int8;
  table["ELU"] = elu_int8;
  table["EXP"] = by_kernels<exponential>;
  table["LOG"] = log_int8;
  table["GELU"] = gelu_int8;
  table["RELU"] = relu_int8;
  table["RELU6"] = relu6_int8;
  table["RELU_N1_TO_1"] = relu_n1_int8;
  table["RELU_0_TO_1"] = relu_01_int8;
  table["LEAKY_RELU"] = leaky_relu_int8;
  table["ABS"] = absolute_int8;
  table["HARD_SWISH"] = hard_swish_int8;
  table["SQRT"] = root_int8;
  table["RSQRT"] = inverse_root_int8;
  table["PRELU"] = parametric_int8;
  table["QUANTIZE"] = requantize_int8;
}

}  // namespace ingot::tflite
