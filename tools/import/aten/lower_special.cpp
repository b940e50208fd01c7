// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_special.cpp - functions of one or two numbers that are formulas of the
// elementary ones.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

constexpr double kPi = 3.14159265358979323846, kLn2 = 0.69314718055994530942;

/// Minus zero counts; the sign of NaN does not.
Term has_minus(const Term& x) {
  if (!graph::is_floating(x.dtype())) return x < 0;
  return either(x < 0, both(equal(x, 0), (1.0 / x) < 0));
}
Results sign_bit(Operands& o) { return result_of(has_minus(term(o, "self"))); }
Results copy_sign(Operands& o) {
  const Terms t = two_terms(o, "self", "other", true);
  const Term size = absolute(t.x);
  return result_of(where(has_minus(t.y), -size, size));
}
/// The larger one times a root between 1 and 1.5, so that no square overflows.
Results hypotenuse(Operands& o) {
  const Terms t = two_terms(o, "self", "other", true);
  const Term x = absolute(t.x), y = absolute(t.y), large = larger(x, y), small = smaller(x, y);
  const Term ratio = small / large, made = large * square_root(ratio * ratio + 1.0);
  const Term infinite = call(
      op::IsInf, large, {{attr::detect_negative, int64_t(0)}, {attr::detect_positive, int64_t(1)}});
  return result_of(where(either(equal(large, 0), infinite), large, made));
}
Results close(Operands& o) {
  Terms t = two_terms(o, "self", "other");
  const bool floats = graph::is_floating(t.x.dtype());
  if (!floats) t = {t.x.cast(DType::kF64), t.y.cast(DType::kF64)};
  const Term apart = absolute(t.x - t.y),
             allowed = absolute(t.y) * o.number("rtol") + o.number("atol");
  const Term infinite = call(
      op::IsInf, apart, {{attr::detect_negative, int64_t(1)}, {attr::detect_positive, int64_t(1)}});
  Term made = either(equal(t.x, t.y), both(!infinite, apart <= allowed));
  if (o.flag("equal_nan")) made = either(made, both(is_not_a_number(t.x), is_not_a_number(t.y)));
  return result_of(made);
}
Results times_power_of_two(Operands& o) {
  const Terms t = two_terms(o, "self", "other", true);
  return result_of(t.x * call(op::Pow, t.y.number(2), t.y));
}
Results log_add_powers_of_two(Operands& o) {
  const Terms t = two_terms(o, "self", "other", true);
  return result_of(log_add_exponentials(t.x * kLn2, t.y * kLn2) * (1 / kLn2));
}
/// x log(y), 0 where x is 0 and y a number; xlog1py: x log(1 + y).
Results x_log_y(Operands& o) {
  const Terms t = two_terms(o, "self", "other", true);
  const Term y = o.op() == "special_xlog1py" ? t.y + 1.0 : t.y;
  const Term made = where(equal(t.x, 0), 0, t.x * logarithm(y));
  return result_of(where(is_not_a_number(t.y), t.y, made));
}
Term where_zero(const Term& x, const Term& made) { return where(equal(x, 0), 0, made); }
Results entropy(Operands& o) {
  const Term x = floating_term(o, "self");
  const Term made = where_zero(x, -(x * logarithm(x)));
  return result_of(where(x < 0, -INFINITY, made));
}
Results sinc(Operands& o) {
  const Term x = floating_term(o, "self") * kPi;
  return result_of(where(equal(x, 0), 1, call(op::Sin, x) / x));
}
/// In f64, as PyTorch has it.
Results power_in_f64(Operands& o) {
  const auto wide = [&](const char* name) {
    return Term{&o.b, as_type(o.b, o.value(name), DType::kF64)};
  };
  return result_of(call(op::Pow, wide("self"), wide("exponent")));
}
Results round_to_decimals(Operands& o) {
  const Term x = term(o, "self");
  const int64_t decimals = o.integer("decimals");
  if (!graph::is_floating(x.dtype()) || decimals == 0)
    return result_of(graph::is_floating(x.dtype()) ? call(op::Round, x) : x);
  const double scale = std::pow(10.0, double(std::abs(decimals)));
  return result_of(decimals > 0 ? call(op::Round, x * scale) / scale
                                : call(op::Round, x / scale) * scale);
}

/// Lanczos' approximation with g = 7 and nine terms, 1e-15 of the gamma function; below 1/2 by
/// reflection. In f64, since its sum cancels.
Term log_gamma(const Term& given) {
  static const double kTerms[] = {
      0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
      771.32342877765313,   -176.61502916214059,   12.507343278686905,
      -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  const Term x = given.cast(DType::kF64);
  const Term low = x < 0.5, z = where(low, 1.0 - x, x) - 1.0;
  Term sum = z.number(kTerms[0]);
  for (int i = 1; i < 9; i++) sum = sum + kTerms[i] / (z + double(i));
  const Term t = z + 7.5;
  const Term above = (z + 0.5) * logarithm(t) - t + logarithm(sum) + 0.5 * std::log(2 * kPi);
  const Term wave = absolute(call(op::Sin, (x - call(op::Floor, x)) * kPi));
  const Term made = where(low, std::log(kPi) - logarithm(wave) - above, above);
  const Term infinite = call(
      op::IsInf, x, {{attr::detect_negative, int64_t(1)}, {attr::detect_positive, int64_t(1)}});
  return where(infinite, INFINITY, made).cast(given.dtype());
}
Results logarithm_of_gamma(Operands& o) { return result_of(log_gamma(floating_term(o, "self"))); }
/// Its derivative: the recurrence up to 6, then the asymptotic series; below 1/2 by reflection.
Results digamma(Operands& o) {
  const Term given = floating_term(o, "self"), x = given.cast(DType::kF64);
  const Term low = x < 0.5;
  Term z = where(low, 1.0 - x, x), sum = z.number(0);
  for (int i = 0; i < 6; i++) {
    sum = sum - 1.0 / z;
    z = z + 1.0;
  }
  const Term r = 1.0 / (z * z);
  Term series = r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132.0))));
  const Term above = sum + logarithm(z) - 0.5 / z - series;
  const Term made = where(low, above - kPi / call(op::Tan, x * kPi), above);
  return result_of(made.cast(given.dtype()));
}
Results complement_of_erf(Operands& o) {
  const Term x = floating_term(o, "self");
  return result_of((1.0 - call(op::Erf, x.cast(DType::kF64))).cast(x.dtype()));
}
/// The normal distribution: (1 + erf(x / sqrt 2)) / 2.
Results normal_distribution(Operands& o) {
  const Term x = floating_term(o, "self");
  const Term made = (call(op::Erf, x.cast(DType::kF64) * std::sqrt(0.5)) + 1.0) * 0.5;
  return result_of((o.op() == "special_log_ndtr" ? logarithm(made) : made).cast(x.dtype()));
}
/// A start by Winitzki's formula, 2e-3 of it, and three steps of Newton's method in f64.
Results inverse_of_erf(Operands& o) {
  const Term given = floating_term(o, "self"), y = given.cast(DType::kF64);
  constexpr double kA = 0.147;
  const Term logs = logarithm((1.0 - y) * (1.0 + y));
  const Term t = logs * 0.5 + 2 / (kPi * kA);
  const Term size = square_root(square_root(t * t - logs / kA) - t);
  Term x = where(y < 0, -size, size);
  for (int i = 0; i < 3; i++)
    x = x - (call(op::Erf, x) - y) * exponential(x * x) * (std::sqrt(kPi) / 2);
  const Term edge = equal(absolute(y), 1);
  return result_of(where(edge, y / 0.0, x).cast(given.dtype()));
}
/// Abramowitz and Stegun, 9.8.1 and 9.8.2: 2e-7 of exp(x).
Results bessel(Operands& o) {
  const Term given = floating_term(o, "self"), x = absolute(given);
  const auto polynomial = [](const Term& at, std::initializer_list<double> terms) {
    Term sum = at.number(0);
    for (const double c : terms) sum = sum * at + c;
    return sum;
  };
  const Term square = x * x / (3.75 * 3.75), inverse = 3.75 / larger(x, 3.75);
  const Term near = polynomial(
                 square, {0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0}),
             far =
                 polynomial(inverse, {0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281,
                                      -0.00157565, 0.00225319, 0.01328592, 0.39894228});
  const bool scaled = o.op() == "special_i0e";
  const Term below = scaled ? near * exponential(-x) : near;
  const Term root = far / square_root(larger(x, 3.75));
  return result_of(where(x < 3.75, below, scaled ? root : root * exponential(x)));
}

/// By powers of two: integers of any sign.
Results shifted(Operands& o) {
  const Terms t = two_terms(o, "self", "other");
  if (graph::is_floating(t.x.dtype())) o.refuse("self", "shifts of floats are not supported");
  const Term power = call(op::Pow, t.x.number(2), t.y);
  const bool left =
      o.op().find("l") != std::string::npos && o.op().find("right") == std::string::npos;
  if (left) return result_of(t.x * power);
  const Term rest = call(op::Mod, t.x, power, {{attr::fmod, int64_t(0)}});
  return result_of((t.x - rest) / power);
}

}  // namespace

void add_special(Table& table) {
  table.add("signbit", "Tensor self", sign_bit);
  for (const char* overload : {"Tensor", "Scalar"}) {
    const std::string other = std::string("Tensor self, ") + overload + " other",
                      dot = std::string(".") + overload;
    table.add("copysign" + dot, other, copy_sign);
    table.add("xlogy" + dot, other, x_log_y);
    table.add("special_xlogy" + dot, other, x_log_y);
    table.add("special_xlog1py" + dot, other, x_log_y);
    for (const char* name :
         {"bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__"})
      table.add(name + dot, other, shifted);
    table.add("float_power" + dot, std::string("Tensor self, ") + overload + " exponent",
              power_in_f64);
  }
  table.add("float_power.Scalar_Tensor", "Scalar self, Tensor exponent", power_in_f64);
  table.add("xlogy.Scalar_Self", "Scalar self, Tensor other", x_log_y);
  table.add_all("hypot", "Tensor self, Tensor other", hypotenuse);
  table.add("isclose",
            "Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False",
            close);
  table.add("ldexp.Tensor", "Tensor self, Tensor other", times_power_of_two);
  table.add("logaddexp2", "Tensor self, Tensor other", log_add_powers_of_two);
  table.add("special_entr", "Tensor self", entropy);
  table.add_all("sinc special_sinc", "Tensor self", sinc);
  table.add("round.decimals", "Tensor self, *, int decimals", round_to_decimals);
  table.add_all("lgamma special_gammaln", "Tensor self", logarithm_of_gamma);
  table.add_all("digamma special_digamma", "Tensor self", digamma);
  table.add_all("erfc special_erfc", "Tensor self", complement_of_erf);
  table.add_all("special_ndtr special_log_ndtr", "Tensor self", normal_distribution);
  table.add_all("erfinv special_erfinv", "Tensor self", inverse_of_erf);
  table.add_all("i0 special_i0 special_i0e", "Tensor self", bessel);
}

}  // namespace ingot::aten
