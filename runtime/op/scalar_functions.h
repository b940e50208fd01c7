// SPDX-License-Identifier: Apache-2.0
// runtime/op/scalar_functions.h - what every row of functions.def means, one element at a time: in
// double and in 64-bit whole numbers. The oracle, folding, tables of int8 and the reference take
// it from here; kernels compute the same within the tolerances of tests/conformance.
//
//   NaN        an operand that is NaN makes the result NaN, but for: Select; comparisons, which are
//              false (NotEqual: true); the logical ones, for which it is not zero; ThresholdedRelu
//              and Shrink, which are 0; Pow of 1, or to the power of 0
//   zero       keeps its sign where a function is odd at zero, and through Relu and Clip
//   infinity   x * gate(x) is NaN at -infinity where the gate is 0 there, but for Gelu, which is 0
//   integers   wrap; x / 0 and x mod 0 are 0; shifts by 64 and more shift everything out
//
// Threads  any.
#pragma once
#include <cmath>

#include "runtime/op/activation.h"
#include "runtime/op/elementwise.h"

namespace ingot::scalar {

/// The numbers of a function's step.
struct Numbers {
  double alpha = 0, beta = 0;
};

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) {
  return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

/// x truncated to int64; what lies outside becomes the smallest.
inline int64_t truncate(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? int64_t(x) : INT64_MIN;
}

/// Functions of one operand.
inline double unary(ElementwiseOp f, double x, const Numbers& by = {}) {
  const double alpha = by.alpha, beta = by.beta;
  switch (f) {
    case ElementwiseOp::kNeg: return -x;
    case ElementwiseOp::kAbs: return std::fabs(x);
    case ElementwiseOp::kSqrt: return std::sqrt(x);
    case ElementwiseOp::kRsqrt: return 1 / std::sqrt(x);
    case ElementwiseOp::kReciprocal: return 1 / x;
    case ElementwiseOp::kExp: return std::exp(x);
    case ElementwiseOp::kLog: return std::log(x);
    case ElementwiseOp::kSin: return std::sin(x);
    case ElementwiseOp::kCos: return std::cos(x);
    case ElementwiseOp::kTanh: return std::tanh(x);
    case ElementwiseOp::kSigmoid: return sigmoid(x);
    case ElementwiseOp::kErf: return std::erf(x);
    case ElementwiseOp::kFloor: return std::floor(x);
    case ElementwiseOp::kCeil: return std::ceil(x);
    case ElementwiseOp::kTrunc: return std::trunc(x);
    case ElementwiseOp::kRound: return std::nearbyint(x);
    case ElementwiseOp::kSign: return x > 0 ? 1 : x < 0 ? -1 : x;
    case ElementwiseOp::kRelu: return x < 0 ? 0 : x;
    case ElementwiseOp::kSilu: return x * sigmoid(x);
    case ElementwiseOp::kGelu:
      return std::isinf(x) ? (x > 0 ? x : 0) : x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case ElementwiseOp::kGeluTanh:
      return x * sigmoid(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
    case ElementwiseOp::kHardSwish: return x * (x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5);
    case ElementwiseOp::kSoftplus: return softplus(x);
    case ElementwiseOp::kMish: return x * std::tanh(softplus(x));
    case ElementwiseOp::kLogicalNot: return x == 0;
    case ElementwiseOp::kIsNan: return std::isnan(x);
    case ElementwiseOp::kIsInf: return std::isinf(x);
    case ElementwiseOp::kSquare: return x * x;
    case ElementwiseOp::kAtan: return std::atan(x);
    case ElementwiseOp::kTan: return std::tan(x);
    case ElementwiseOp::kAsin: return std::asin(x);
    case ElementwiseOp::kAcos: return std::acos(x);
    case ElementwiseOp::kSinh: return std::sinh(x);
    case ElementwiseOp::kCosh: return std::cosh(x);
    case ElementwiseOp::kAsinh: return std::asinh(x);
    case ElementwiseOp::kAcosh: return std::acosh(x);
    case ElementwiseOp::kAtanh: return std::atanh(x);
    case ElementwiseOp::kSoftsign: return x / (1 + std::fabs(x));
    case ElementwiseOp::kHardSigmoid: {
      const double y = alpha * x + beta;
      return y < 0 ? 0 : y > 1 ? 1 : y;
    }
    case ElementwiseOp::kElu: return x < 0 ? alpha * std::expm1(x) : x;
    case ElementwiseOp::kLeakyRelu: return x < 0 ? alpha * x : x;
    case ElementwiseOp::kClip: {
      const double low = x < alpha ? alpha : x;
      return low > beta ? beta : low;
    }
    case ElementwiseOp::kSelu: return beta * (x < 0 ? alpha * std::expm1(x) : x);
    case ElementwiseOp::kCelu: return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case ElementwiseOp::kThresholdedRelu: return x > alpha ? x : 0;
    case ElementwiseOp::kShrink: return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
    case ElementwiseOp::kScaleShift: return x * alpha + beta;
    case ElementwiseOp::kIdentity: return x;
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
      break;
  }
  return std::nan("");
}

/// Functions of two operands.
inline double binary(ElementwiseOp f, double a, double b) {
  switch (f) {
    case ElementwiseOp::kAdd: return a + b;
    case ElementwiseOp::kSub: return a - b;
    case ElementwiseOp::kMul: return a * b;
    case ElementwiseOp::kDiv: return a / b;
    case ElementwiseOp::kPow: return std::pow(a, b);
    case ElementwiseOp::kMin: return a < b || a != a ? a : b;
    case ElementwiseOp::kMax: return a > b || a != a ? a : b;
    case ElementwiseOp::kMod: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case ElementwiseOp::kFmod: return std::fmod(a, b);
    case ElementwiseOp::kPrelu: return a < 0 ? a * b : a;
    case ElementwiseOp::kEqual: return a == b;
    case ElementwiseOp::kLess: return a < b;
    case ElementwiseOp::kLessEqual: return a <= b;
    case ElementwiseOp::kGreater: return a > b;
    case ElementwiseOp::kGreaterEqual: return a >= b;
    case ElementwiseOp::kNotEqual: return a != b;
    case ElementwiseOp::kLogicalAnd: return a != 0 && b != 0;
    case ElementwiseOp::kLogicalOr: return a != 0 || b != 0;
    case ElementwiseOp::kLogicalXor: return (a != 0) != (b != 0);
    case ElementwiseOp::kAtan2: return std::atan2(a, b);
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
      break;
  }
  return std::nan("");
}

inline int64_t power(int64_t base, int64_t exponent, bool is_unsigned) {
  if (exponent < 0 && !is_unsigned) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = uint64_t(base);
  for (uint64_t e = uint64_t(exponent); e != 0; e >>= 1, factor *= factor)
    if (e & 1) result *= factor;
  return int64_t(result);
}

/// Functions of one operand; the bits of uint64_t where it is unsigned.
inline int64_t unary(ElementwiseOp f, int64_t x, bool is_unsigned, const Numbers& by = {}) {
  const bool negative = !is_unsigned && x < 0;
  switch (f) {
    case ElementwiseOp::kNeg: return int64_t(0 - uint64_t(x));
    case ElementwiseOp::kAbs: return negative ? int64_t(0 - uint64_t(x)) : x;
    case ElementwiseOp::kSign: return negative ? -1 : x != 0;
    case ElementwiseOp::kRelu: return negative ? 0 : x;
    case ElementwiseOp::kLogicalNot: return x == 0;
    case ElementwiseOp::kSquare: return int64_t(uint64_t(x) * uint64_t(x));
    case ElementwiseOp::kBitwiseNot: return ~x;
    case ElementwiseOp::kClip: {
      const double v = is_unsigned ? double(uint64_t(x)) : double(x);
      return v < by.alpha ? truncate(by.alpha) : v > by.beta ? truncate(by.beta) : x;
    }
    case ElementwiseOp::kIdentity: return x;
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 1
#include "runtime/op/other_functions.def"
      break;
  }
  return 0;
}

/// Functions of two operands; the bits of uint64_t where they are unsigned.
inline int64_t binary(ElementwiseOp f, int64_t a, int64_t b, bool is_unsigned) {
  const bool less = is_unsigned ? uint64_t(a) < uint64_t(b) : a < b;
  switch (f) {
    case ElementwiseOp::kAdd: return int64_t(uint64_t(a) + uint64_t(b));
    case ElementwiseOp::kSub: return int64_t(uint64_t(a) - uint64_t(b));
    case ElementwiseOp::kMul: return int64_t(uint64_t(a) * uint64_t(b));
    case ElementwiseOp::kDiv:
      return b == 0        ? 0
             : is_unsigned ? int64_t(uint64_t(a) / uint64_t(b))
             : b == -1     ? int64_t(0 - uint64_t(a))
                           : a / b;
    case ElementwiseOp::kPow: return power(a, b, is_unsigned);
    case ElementwiseOp::kMin: return less ? a : b;
    case ElementwiseOp::kMax: return less ? b : a;
    case ElementwiseOp::kMod:
    case ElementwiseOp::kFmod: {
      if (b == 0 || (!is_unsigned && b == -1)) return 0;
      if (is_unsigned) return int64_t(uint64_t(a) % uint64_t(b));
      const int64_t r = a % b;
      return f == ElementwiseOp::kMod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case ElementwiseOp::kEqual: return a == b;
    case ElementwiseOp::kLess: return less;
    case ElementwiseOp::kLessEqual: return less || a == b;
    case ElementwiseOp::kGreater: return !less && a != b;
    case ElementwiseOp::kGreaterEqual: return !less;
    case ElementwiseOp::kNotEqual: return a != b;
    case ElementwiseOp::kLogicalAnd: return a != 0 && b != 0;
    case ElementwiseOp::kLogicalOr: return a != 0 || b != 0;
    case ElementwiseOp::kLogicalXor: return (a != 0) != (b != 0);
    case ElementwiseOp::kBitwiseAnd: return a & b;
    case ElementwiseOp::kBitwiseOr: return a | b;
    case ElementwiseOp::kBitwiseXor: return a ^ b;
    case ElementwiseOp::kShiftLeft: return uint64_t(b) > 63 ? 0 : int64_t(uint64_t(a) << b);
    case ElementwiseOp::kShiftRight:
      return uint64_t(b) > 63 ? (is_unsigned || a >= 0 ? 0 : -1)
             : is_unsigned    ? int64_t(uint64_t(a) >> b)
                              : a >> b;
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 1
#include "runtime/op/other_functions.def"
      break;
  }
  return 0;
}

/// Any function; operands that it does not read are ignored.
inline double call(ElementwiseOp f, double a, double b, double c, const Numbers& by = {}) {
  if (f == ElementwiseOp::kSelect) return a != 0 ? b : c;
  if (f == ElementwiseOp::kFma) return a * b + c;
  return elementwise_arity(f) == 2 ? binary(f, a, b) : unary(f, a, by);
}
inline int64_t call(ElementwiseOp f, int64_t a, int64_t b, int64_t c, bool is_unsigned,
                    const Numbers& by = {}) {
  if (f == ElementwiseOp::kSelect) return a != 0 ? b : c;
  if (f == ElementwiseOp::kFma) return int64_t(uint64_t(a) * uint64_t(b) + uint64_t(c));
  return elementwise_arity(f) == 2 ? binary(f, a, b, is_unsigned) : unary(f, a, is_unsigned, by);
}

/// Of an epilogue: the function that it is, and whether a factor and a sum stand behind it.
struct ActivationFunction {
  ElementwiseOp op;
  bool is_affine;  // alpha * f(x) + beta, and f has no numbers
};
inline ActivationFunction function_of(Activation kind) {
  switch (kind) {
#define INGOT_ACTIVATION_Plain false
#define INGOT_ACTIVATION_Affine true
#define INGOT_ACTIVATION(name, number, function, cost, form) \
  case Activation::k##name:                                  \
    return {ElementwiseOp::k##function, INGOT_ACTIVATION_##form};
#include "runtime/op/activations.def"
#undef INGOT_ACTIVATION_Plain
#undef INGOT_ACTIVATION_Affine
  }
  return {ElementwiseOp::kIdentity, false};
}
inline double activate(const ActivationSpec& a, double x) {
  const ActivationFunction f = function_of(a.kind);
  const double alpha = double(a.alpha), beta = double(a.beta);
  if (f.is_affine) return alpha * unary(f.op, x) + beta;
  return unary(f.op, x, a.kind == Activation::kRelu6 ? Numbers{0, 6} : Numbers{alpha, beta});
}

}  // namespace ingot::scalar
