// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_int16_binary.cpp - functions of two quantized tensors that have no
// kernel: comparisons of numbers on two scales, quotients and PRELU of int16. All in the fixed
// point of LiteRT's kernels, which TFLite Micro has too.
#include <algorithm>
#include <functional>

#include "tools/import/tflite/fixed_point.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

/// One type of integers with one scale each.
bool are_of_one_type(const std::optional<QuantParams>& a, const std::optional<QuantParams>& b) {
  return a && b && a->is_signed == b->is_signed && a->is_int16 == b->is_int16;
}

// Comparisons: both sides times 256 and their scales, whole numbers of 32 bits. Steps that are
// finer than 1/256 are therefore equal where they are near.

constexpr int32_t kCompared = 256;

/// The numbers of all bytes, or of all of int16 in order, that are compared.
std::vector<int32_t> compared_numbers(const QuantParams& x) {
  const FixedPoint by = fixed_point(double(x.scale));
  std::vector<int32_t> out;
  for (int32_t step = 0; step <= x.most(); step++)
    out.push_back(multiplied((step - x.zero) * kCompared, by));
  return out;
}
bool is_increasing(const std::vector<int32_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<int32_t>()) ==
         numbers.end();
}
ValueId compared_side(Call& call, size_t input, const QuantParams& x) {
  aten::Builder& b = call.b;
  if (x.is_int16) {
    Wide wide(b);
    return wide.multiplied(wide.mul(wide.of(call.input(input)), wide.number(kCompared)),
                           {fixed_point(double(x.scale))});
  }
  const std::vector<int32_t> numbers = compared_numbers(x);
  const ValueId table = b.constant(graph::make_constant(DType::kI32, {256}, numbers.data()));
  return b.emit(op::Gather, {table, b.cast(call.input(input), DType::kI32)},
                {{attr::axis, int64_t(0)}});
}

bool compare_integers(Call& call) {
  const auto x = call.quantized(0), y = call.quantized(1);
  // a scale above 1 is a shift that LiteRT's rounding does not define
  if (!are_of_one_type(x, y) || x->scale > 1 || y->scale > 1) return false;
  ValueId left = call.input(0), right = call.input(1);
  const std::string name = call.row.name;
  // of int16 LiteRT reads the scales where it looks for what is equal, and nowhere else
  const bool reads_scales = !x->is_int16 || name == "EQUAL" || name == "NOT_EQUAL";
  if (reads_scales && !(*x == *y && is_increasing(compared_numbers(*x))))
    left = compared_side(call, 0, *x), right = compared_side(call, 1, *y);
  const auto made = [&](graph::Operator op) { return call.b.emit(op, {left, right}); };
  call.give(name == "EQUAL"        ? made(op::Equal)
            : name == "NOT_EQUAL"  ? call.b.emit(op::Not, {made(op::Equal)})
            : name == "LESS"       ? made(op::Less)
            : name == "LESS_EQUAL" ? made(op::LessOrEqual)
            : name == "GREATER"    ? made(op::Greater)
                                   : made(op::GreaterOrEqual));
  return true;
}

// Quotients: the dividend to 31 bits times the reciprocal of the divisor to 31 bits.

constexpr int32_t kFarthest = 1 << 20;  // of a quotient

int leading_sign_bits(int32_t x) {  // behind the sign; 31 of 0 and -1
  return x == -1 ? 31 : __builtin_clrsb(x);
}
/// 1 / x of 1 <= x: a multiplier of 31 bits, and how far it was moved to the left.
struct Reciprocal {
  int32_t multiplier = 0;
  int shift = 0;
};
Reciprocal reciprocal_of(int32_t x) {
  const int headroom = __builtin_clz(uint32_t(x)) - 1;
  // of Q0: (x << headroom + 1) - 2^31 is what is behind 1 of a number of 1 .. 2
  const int64_t part = (int64_t(x) << (headroom + 1)) - (int64_t{1} << 31);
  return {fixed_reciprocal(int32_t(part)), 30 - headroom};
}
/// As LiteRT's: the nearest x / 2^bits, ties away from zero. It foresees 0 to 31 bits; of others
/// x86 and Arm take those modulo 64 in the mask and modulo 32 in the shift, so that what is not
/// negative is one more.
int32_t divided_modulo(int32_t x, int bits) {
  return bits & 32 ? (x >> (bits & 31)) + (x >= 0) : divided(x, bits & 31);
}
/// x / y * 2^shift * multiplier; the largest number of what is divided by zero.
int32_t quotient_of(int32_t x, int32_t y, const FixedPoint& by) {
  if (y == 0) return x < 0 ? -kFarthest : kFarthest;  // LiteRT ends the run
  if (y < 0) x = -x, y = -y;
  const Reciprocal inverse = reciprocal_of(y);
  const int headroom = leading_sign_bits(x);
  const int32_t quotient = multiplied(int32_t(uint32_t(x) << headroom), {inverse.multiplier, 0});
  return divided_modulo(multiplied(quotient, {by.multiplier, 0}),
                        inverse.shift + headroom - by.shift);
}

/// y as a byte of every pair of bytes; `of` takes distances from their zeros and gives one.
bool give_binary_table(Call& call, const QuantParams& x, const QuantParams& y,
                       const QuantParams& out, const Limits& limits,
                       const std::function<int32_t(int32_t, int32_t)>& of) {
  std::vector<uint8_t> table;
  for (int32_t p = 0; p < 256; p++)
    for (int32_t q = 0; q < 256; q++) {
      const int64_t step = int64_t(of(p - x.zero, q - y.zero)) + out.zero;
      table.push_back(uint8_t(std::clamp(step, limits.low, limits.high)));
    }
  aten::Builder& b = call.b;
  const auto wide = [&](size_t input) { return b.cast(call.input(input), DType::kI32); };
  const ValueId at =
      b.emit(op::Add, {b.emit(op::Mul, {wide(0), b.scalar(DType::kI32, 256)}), wide(1)});
  const ValueId pairs = b.constant(graph::make_constant(DType::kU8, {65536}, table.data()));
  call.give(b.emit(op::Gather, {pairs, at}, {{attr::axis, int64_t(0)}}));
  return true;
}

bool divide_int8(Call& call) {
  const auto x = call.quant_params(0), y = call.quant_params(1), out = call.output_quant_params(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!are_of_one_type(x, y) || !are_of_one_type(x, out) || !range) return false;
  const FixedPoint by = fixed_point(double(x->scale / (y->scale * out->scale)));
  return give_binary_table(call, *x, *y, *out, limits_of_kernels(*range, *out),
                           [&](int32_t p, int32_t q) { return quotient_of(p, q, by); });
}

/// Both terms on twice the larger scale, with 7 bits more; LiteRT has it of int8.
bool squared_difference_int8(Call& call) {
  const auto x = call.quant_params(0), y = call.quant_params(1), out = call.output_quant_params(0);
  if (!are_of_one_type(x, y) || !are_of_one_type(x, out) || !x->is_signed) return false;
  constexpr int kMore = 7;
  const double twice = 2 * double(std::max(x->scale, y->scale));
  const FixedPoint first = fixed_point(double(x->scale) / twice),
                   second = fixed_point(double(y->scale) / twice),
                   by = fixed_point(twice * twice /
                                    (double(int64_t{1} << (2 * kMore)) * double(out->scale)));
  if (by.shift > 0) return false;  // which LiteRT's rounding does not define
  return give_binary_table(call, *x, *y, *out, {}, [&](int32_t p, int32_t q) {
    const int32_t d = multiplied(p * (1 << kMore), first) - multiplied(q * (1 << kMore), second);
    return multiplied(d * d, by);
  });
}

bool divide_int16(Call& call) {
  const auto x = call.quantized(0), y = call.quantized(1), out = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!are_of_one_type(x, y) || !are_of_one_type(x, out) || !x->is_int16 || !range) return false;
  const FixedPoint by = fixed_point(double(x->scale / (y->scale * out->scale)));
  const Limits limits = limits_of_kernels(*range, *out);
  std::vector<int32_t> reciprocals = {0};
  for (int32_t n = 1; n <= 32768; n++) reciprocals.push_back(reciprocal_of(n).multiplier);
  aten::Builder& b = call.b;
  Wide wide(b);
  const ValueId divisor = wide.of(call.input(1)), sign = b.emit(op::Sign, {divisor}),
                size = b.emit(op::Abs, {divisor});
  const Wide::Normalized a = wide.normalized(wide.mul(wide.of(call.input(0)), sign)),
                         d = wide.normalized(size);
  const ValueId table = b.constant(
      graph::make_constant(DType::kI32, {int64_t(reciprocals.size())}, reciprocals.data()));
  const ValueId inverse = wide.of(b.emit(op::Gather, {table, size}, {{attr::axis, int64_t(0)}}));
  const ValueId step =
      wide.upper_product(wide.upper_product(a.number, inverse), wide.number(by.multiplier));
  // as divided_modulo()
  const ValueId bits =
      wide.add(wide.add(a.bits, b.emit(op::Neg, {d.bits})), wide.number(30 - by.shift));
  std::vector<int64_t> powers;
  for (int i = 0; i < 32; i++) powers.push_back(int64_t{1} << i);
  const ValueId within = wide.masked(bits, 5);
  const ValueId power =
      b.emit(op::Gather, {wide.numbers(powers), within}, {{attr::axis, int64_t(0)}});
  const ValueId near = wide.divided(step, power, wide.add(within, wide.number(1)));
  const ValueId is_positive = b.emit(op::GreaterOrEqual, {step, wide.number(0)}),
                far = wide.add(wide.shifted_each(step, within), wide.of(is_positive));
  const ValueId is_far = b.emit(op::Greater, {wide.masked(bits, 6), wide.number(31)}),
                quotient = b.emit(op::Where, {is_far, far, near});
  const ValueId most =
      wide.mul(b.emit(op::Where, {b.emit(op::Less, {wide.of(call.input(0)), wide.number(0)}),
                                  wide.number(-1), wide.number(1)}),
               wide.number(kFarthest));
  const ValueId made =
      b.emit(op::Where, {b.emit(op::Equal, {divisor, wide.number(0)}), most, quotient});
  call.give(b.cast(wide.clamped(made, limits.low - 32768, limits.high - 32768), DType::kI16));
  return true;
}

/// The sign of x chooses between two products in fixed point. LiteRT reads slopes as int8.
bool parametric_int16(Call& call) {
  const auto x = call.quantized(0), slope = call.quant_params(1), y = call.output_quantized(0);
  if (!are_of_one_type(x, y) || !x->is_int16 || !slope || !slope->is_signed) return false;
  aten::Builder& b = call.b;
  Wide wide(b);
  const ValueId n = wide.of(call.input(0)),
                by = wide.add(wide.of(call.input(1)), wide.number(-slope->zero));
  const ValueId kept = wide.multiplied(n, {fixed_point(double(x->scale / y->scale))}),
                scaled = wide.multiplied(wide.mul(n, by),
                                         {fixed_point(double(x->scale * slope->scale / y->scale))});
  const ValueId negative = b.emit(op::Less, {n, wide.number(0)});
  call.give(b.cast(wide.as_i16(b.emit(op::Where, {negative, scaled, kept})), DType::kI16));
  return true;
}

}  // namespace

void add_int8_binary(QuantizedTable& table) {
  for (const char* name : {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"})
    table[name] = compare_integers;
  table["DIV"] = divide_int8;
  table["SQUARED_DIFFERENCE"] = squared_difference_int8;
}
void add_int16_binary(QuantizedTable& table) {
  for (const char* name : {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"})
    table[name] = compare_integers;
  table["DIV"] = divide_int16;
  table["PRELU"] = parametric_int16;
}

}  // namespace ingot::tflite
