// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/elementwise/steps_wide.inl - one step over a block of int64, uint64 or double, one
// element at a time. Whole numbers wrap; x / 0, x % 0 and x % -1 are 0. Transcendental functions of
// double come from the C library: same bits on every instruction set of one build, not between
// libraries.
#pragma once
#include <math.h>

#include "kernels/cpu/elementwise/convert.inl"
#include "runtime/op/elementwise.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// A comparison that Clang for Arm cannot join with the choice behind it: it makes fmax of both,
/// whose result for -0 is another.
INGOT_INLINE bool below_zero(double x) {
  int below = x < 0;
#if defined(__clang__) && (defined(__aarch64__) || defined(__arm__))
  asm("" : "+r"(below));
#endif
  return below != 0;
}
INGOT_FN inline double sigmoid_f64(double x) { return 1 / (1 + exp(-x)); }
INGOT_FN inline double softplus_f64(double x) {
  return x != x ? x : (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/// A function of the C library; library: false, as in device code, leaves it out.
#define INGOT_LIBRARY(op, expression)         \
  case ElementwiseOp::op:                     \
    if constexpr (library) return expression; \
    break;

template <bool library = true>
INGOT_FN double unary_f64(const ElementwiseStep& s, double x) {
  const double alpha = double(s.alpha), beta = double(s.beta);
  switch (s.op) {
    INGOT_LIBRARY(kExp, exp(x))
    INGOT_LIBRARY(kLog, log(x))
    INGOT_LIBRARY(kSin, sin(x))
    INGOT_LIBRARY(kCos, cos(x))
    INGOT_LIBRARY(kTanh, tanh(x))
    INGOT_LIBRARY(kSigmoid, sigmoid_f64(x))
    INGOT_LIBRARY(kErf, erf(x))
    INGOT_LIBRARY(kSilu, x * sigmoid_f64(x))
    INGOT_LIBRARY(kGelu, x < -40 ? 0 : x * erfc(-x * 0.70710678118654752440) * 0.5)
    INGOT_LIBRARY(kGeluTanh, x * sigmoid_f64(1.5957691216057307 * (x + 0.044715 * x * x * x)))
    INGOT_LIBRARY(kSoftplus, softplus_f64(x))
    INGOT_LIBRARY(kMish, x * tanh(softplus_f64(x)))
    INGOT_LIBRARY(kAtan, atan(x))
    INGOT_LIBRARY(kTan, tan(x))
    INGOT_LIBRARY(kAsin, asin(x))
    INGOT_LIBRARY(kAcos, acos(x))
    INGOT_LIBRARY(kSinh, sinh(x))
    INGOT_LIBRARY(kCosh, cosh(x))
    INGOT_LIBRARY(kAsinh, asinh(x))
    INGOT_LIBRARY(kAcosh, acosh(x))
    INGOT_LIBRARY(kAtanh, atanh(x))
    INGOT_LIBRARY(kElu, x < 0 ? alpha * expm1(x) : x)
    INGOT_LIBRARY(kSelu, beta * (x < 0 ? alpha * expm1(x) : x))
    INGOT_LIBRARY(kCelu, x < 0 ? alpha * expm1(x / alpha) : x)
    case ElementwiseOp::kNeg: return -x;
    case ElementwiseOp::kAbs: return fabs(x);
    case ElementwiseOp::kSqrt: return sqrt(x);
    case ElementwiseOp::kRsqrt: return 1 / sqrt(x);
    case ElementwiseOp::kReciprocal: return 1 / x;
    case ElementwiseOp::kFloor: return floor(x);
    case ElementwiseOp::kCeil: return ceil(x);
    case ElementwiseOp::kTrunc: return trunc(x);
    case ElementwiseOp::kRound: return rint(x);
    case ElementwiseOp::kSign: return x > 0 ? 1 : x < 0 ? -1 : x;
    case ElementwiseOp::kRelu: return below_zero(x) ? 0 : x;
    case ElementwiseOp::kHardSwish: return x * (x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5);
    case ElementwiseOp::kLogicalNot: return x == 0;
    case ElementwiseOp::kIsNan: return x != x;
    case ElementwiseOp::kIsInf: return fabs(x) == __builtin_inf();
    case ElementwiseOp::kSquare: return x * x;
    case ElementwiseOp::kSoftsign: return x / (1 + fabs(x));
    case ElementwiseOp::kHardSigmoid: {
      const double y = x * alpha + beta, low = below_zero(y) ? 0 : y;
      return 1 < low ? 1 : low;
    }
    case ElementwiseOp::kLeakyRelu: return x < 0 ? x * alpha : x;
    case ElementwiseOp::kClip: {
      const double low = alpha > x ? alpha : x;
      return beta < low ? beta : low;
    }
    case ElementwiseOp::kThresholdedRelu: return x > alpha ? x : 0;
    case ElementwiseOp::kShrink: return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
    case ElementwiseOp::kScaleShift: return x * alpha + beta;
    case ElementwiseOp::kIdentity: break;
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
      break;
  }
  return x;
}

template <bool library = true>
INGOT_FN double binary_f64(ElementwiseOp op, double a, double b) {
  switch (op) {
    INGOT_LIBRARY(kPow, pow(a, b))
    INGOT_LIBRARY(kAtan2, atan2(a, b))
    case ElementwiseOp::kAdd: return a + b;
    case ElementwiseOp::kSub: return a - b;
    case ElementwiseOp::kMul: return a * b;
    case ElementwiseOp::kDiv: return a / b;
    case ElementwiseOp::kMin: return a < b || a != a ? a : b;
    case ElementwiseOp::kMax: return a > b || a != a ? a : b;
    case ElementwiseOp::kFmod: return fmod(a, b);
    case ElementwiseOp::kMod: {
      const double r = fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case ElementwiseOp::kPrelu: return a < 0 ? a * b : a;
    case ElementwiseOp::kEqual: return a == b;
    case ElementwiseOp::kLess: return a < b;
    case ElementwiseOp::kLessEqual: return a <= b;
    case ElementwiseOp::kGreater: return a > b;
    case ElementwiseOp::kGreaterEqual: return a >= b;
    case ElementwiseOp::kNotEqual: return !(a == b);
    case ElementwiseOp::kLogicalAnd: return a != 0 && b != 0;
    case ElementwiseOp::kLogicalOr: return a != 0 || b != 0;
    case ElementwiseOp::kLogicalXor: return (a != 0) != (b != 0);
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
      break;
  }
  return 0;
}
#undef INGOT_LIBRARY

template <bool library = true>
INGOT_FN double step_f64(const ElementwiseStep& s, double a, double b, double c) {
  if (s.op == ElementwiseOp::kSelect) return a != 0 ? b : c;
  if (s.op == ElementwiseOp::kFma) return __builtin_fma(a, b, c);
  return elementwise_arity(s.op) == 2 ? binary_f64<library>(s.op, a, b) : unary_f64<library>(s, a);
}

template <class T>
INGOT_FN T power_whole(T base, T exponent) {
  constexpr bool kSigned = T(-1) < T(0);
  if (kSigned && exponent < T(0))
    return base == T(1) ? T(1) : base == T(-1) ? (exponent % 2 ? T(-1) : T(1)) : T(0);
  uint64_t result = 1, factor = uint64_t(base);
  for (uint64_t e = uint64_t(exponent); e != 0; e >>= 1, factor *= factor)
    if (e & 1) result *= factor;
  return T(result);
}

template <class T>
INGOT_FN T divide_whole(T a, T b) {
  constexpr bool kSigned = T(-1) < T(0);
  if (b == T(0)) return T(0);
  if (kSigned && b == T(-1)) return T(0 - uint64_t(a));
  return T(a / b);
}
template <class T>
INGOT_FN T remainder_whole(T a, T b, bool sign_of_divisor) {
  constexpr bool kSigned = T(-1) < T(0);
  if (b == T(0) || (kSigned && b == T(-1))) return T(0);
  const T r = T(a % b);
  return sign_of_divisor && r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}

/// a >> b; beyond 63 bits the sign is left.
template <class T>
INGOT_INLINE T shift_right_whole(T a, T b) {
  constexpr bool kSigned = T(-1) < T(0);
  if constexpr (kSigned) return a >> (uint64_t(b) > 63 ? 63 : b);
  return uint64_t(b) > 63 ? T(0) : T(a >> b);
}

template <class T>
INGOT_FN T unary_whole(const ElementwiseStep& s, T x) {
  switch (s.op) {
    case ElementwiseOp::kNeg: return T(0 - uint64_t(x));
    case ElementwiseOp::kAbs: return x < T(0) ? T(0 - uint64_t(x)) : x;
    case ElementwiseOp::kSign: return x < T(0) ? T(-1) : T(x != T(0));
    case ElementwiseOp::kRelu: return x < T(0) ? T(0) : x;
    case ElementwiseOp::kLogicalNot: return x == T(0);
    case ElementwiseOp::kSquare: return T(uint64_t(x) * uint64_t(x));
    case ElementwiseOp::kBitwiseNot: return T(~x);
    case ElementwiseOp::kClip:
      return double(x) < double(s.alpha)  ? T(to_whole(s.alpha))
             : double(x) > double(s.beta) ? T(to_whole(s.beta))
                                          : x;
    case ElementwiseOp::kIdentity: break;
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 1
#include "runtime/op/other_functions.def"
      break;
  }
  return x;
}

template <class T>
INGOT_FN T binary_whole(ElementwiseOp op, T a, T b) {
  switch (op) {
    case ElementwiseOp::kAdd: return T(uint64_t(a) + uint64_t(b));
    case ElementwiseOp::kSub: return T(uint64_t(a) - uint64_t(b));
    case ElementwiseOp::kMul: return T(uint64_t(a) * uint64_t(b));
    case ElementwiseOp::kDiv: return divide_whole(a, b);
    case ElementwiseOp::kPow: return power_whole(a, b);
    case ElementwiseOp::kMin: return a < b ? a : b;
    case ElementwiseOp::kMax: return a < b ? b : a;
    case ElementwiseOp::kMod: return remainder_whole(a, b, true);
    case ElementwiseOp::kFmod: return remainder_whole(a, b, false);
    case ElementwiseOp::kEqual: return a == b;
    case ElementwiseOp::kLess: return a < b;
    case ElementwiseOp::kLessEqual: return a <= b;
    case ElementwiseOp::kGreater: return a > b;
    case ElementwiseOp::kGreaterEqual: return a >= b;
    case ElementwiseOp::kNotEqual: return a != b;
    case ElementwiseOp::kLogicalAnd: return a != T(0) && b != T(0);
    case ElementwiseOp::kLogicalOr: return a != T(0) || b != T(0);
    case ElementwiseOp::kLogicalXor: return (a != T(0)) != (b != T(0));
    case ElementwiseOp::kBitwiseAnd: return T(a & b);
    case ElementwiseOp::kBitwiseOr: return T(a | b);
    case ElementwiseOp::kBitwiseXor: return T(a ^ b);
    case ElementwiseOp::kShiftLeft: return uint64_t(b) > 63 ? T(0) : T(uint64_t(a) << b);
    case ElementwiseOp::kShiftRight: return shift_right_whole(a, b);
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 1
#include "runtime/op/other_functions.def"
      break;
  }
  return T(0);
}

template <class V>
INGOT_FN void run_step(const ElementwiseStep& s, const double* a, const double* b, const double* c,
                       double* out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = step_f64(s, a[i], b[i], c[i]);
}
template <class V, class T>
INGOT_FN void run_step(const ElementwiseStep& s, const T* a, const T* b, const T* c, T* out,
                       int64_t n) {
#define INGOT_USUAL(op, expression) \
  case ElementwiseOp::op: return fill_each(n, out, [=](int64_t i) { return T(expression); });
  switch (s.op) {  // the usual ones without a switch an element; others below
    INGOT_USUAL(kAdd, uint64_t(a[i]) + uint64_t(b[i]))
    INGOT_USUAL(kSub, uint64_t(a[i]) - uint64_t(b[i]))
    INGOT_USUAL(kMul, uint64_t(a[i]) * uint64_t(b[i]))
    INGOT_USUAL(kMin, a[i] < b[i] ? a[i] : b[i])
    INGOT_USUAL(kMax, a[i] < b[i] ? b[i] : a[i])
    INGOT_USUAL(kShiftRight, shift_right_whole(a[i], b[i]))
    INGOT_USUAL(kBitwiseAnd, a[i] & b[i])
    INGOT_USUAL(kEqual, a[i] == b[i])
    INGOT_USUAL(kLess, a[i] < b[i])
    INGOT_USUAL(kSelect, a[i] != T(0) ? b[i] : c[i])
    INGOT_USUAL(kFma, uint64_t(a[i]) * uint64_t(b[i]) + uint64_t(c[i]))
    default: break;
  }
#undef INGOT_USUAL
  if (elementwise_arity(s.op) == 2) {
    for (int64_t i = 0; i < n; i++) out[i] = binary_whole(s.op, a[i], b[i]);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = unary_whole(s, a[i]);
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
