// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/elementwise/steps_f32.inl - one step over a block of floats: one switch a block, one
// loop an operator.
#pragma once
#include "kernels/cpu/simd/math_pow.inl"
#include "kernels/cpu/simd/math_trig.inl"
#include "runtime/op/elementwise.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// out may be any of the operands.
template <class V, class Fn>
INGOT_INLINE void map1(const float* a, float* out, int64_t n, Fn fn) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(out + i, fn(V::load(a + i)));
  if (i < n) V::store_partial(out + i, fn(V::load_partial(a + i, n - i)), n - i);
}
template <class V, class Fn>
INGOT_INLINE void map2(const float* a, const float* b, float* out, int64_t n, Fn fn) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(out + i, fn(V::load(a + i), V::load(b + i)));
  if (i < n)
    V::store_partial(out + i, fn(V::load_partial(a + i, n - i), V::load_partial(b + i, n - i)),
                     n - i);
}
template <class V, class Fn>
INGOT_INLINE void map3(const float* a, const float* b, const float* c, float* out, int64_t n,
                       Fn fn) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes)
    V::store(out + i, fn(V::load(a + i), V::load(b + i), V::load(c + i)));
  if (i < n) {
    V::store_partial(out + i,
                     fn(V::load_partial(a + i, n - i), V::load_partial(b + i, n - i),
                        V::load_partial(c + i, n - i)),
                     n - i);
  }
}

#define INGOT_STEP1(op, expression) \
  case ElementwiseOp::op:           \
    return map1<V>(a, out, n, [&](F x) INGOT_LAMBDA { return expression; });
#define INGOT_STEP2(op, expression) \
  case ElementwiseOp::op:           \
    return map2<V>(a, b, out, n, [&](F x, F z) INGOT_LAMBDA { return expression; });
#if defined(__CUDACC__)
#define INGOT_LAMBDA
#else
#define INGOT_LAMBDA __attribute__((always_inline))
#endif

template <class V>
INGOT_FN void run_unary(const ElementwiseStep& s, const float* a, float* out, int64_t n) {
  using F = typename V::F;
  using Fn = Trig<V>;
  const F alpha = V::splat(s.alpha), beta = V::splat(s.beta), one = V::splat(1.0f);
  const auto truth = [&](typename V::M m) INGOT_LAMBDA { return V::select(m, one, V::zero()); };
  switch (s.op) {
    INGOT_STEP1(kIdentity, x)
    INGOT_STEP1(kNeg, V::neg(x))
    INGOT_STEP1(kAbs, V::abs(x))
    INGOT_STEP1(kSqrt, V::sqrt(x))
    INGOT_STEP1(kRsqrt, V::div(one, V::sqrt(x)))
    INGOT_STEP1(kReciprocal, V::div(one, x))
    INGOT_STEP1(kExp, Fn::exp(x))
    INGOT_STEP1(kLog, Fn::log(x))
    INGOT_STEP1(kSin, Fn::sin(x))
    INGOT_STEP1(kCos, Fn::cos(x))
    INGOT_STEP1(kTanh, Fn::tanh(x))
    INGOT_STEP1(kSigmoid, Fn::sigmoid(x))
    INGOT_STEP1(kErf, Fn::erf(x))
    INGOT_STEP1(kFloor, V::floor(x))
    INGOT_STEP1(kCeil, V::ceil(x))
    INGOT_STEP1(kRound, V::round(x))
    INGOT_STEP1(kTrunc, V::trunc(x))
    INGOT_STEP1(kSign,
                V::select(V::gt(x, V::zero()), one, V::select(V::lt(x, V::zero()), V::neg(one), x)))
    INGOT_STEP1(kRelu, Fn::relu(x))
    INGOT_STEP1(kSilu, Fn::silu(x))
    INGOT_STEP1(kGelu, Fn::gelu(x))
    INGOT_STEP1(kGeluTanh, Fn::gelu_tanh(x))
    INGOT_STEP1(kHardSwish, Fn::hard_swish(x))
    INGOT_STEP1(kSoftplus, Fn::softplus(x))
    INGOT_STEP1(kMish, Fn::mish(x))
    INGOT_STEP1(kLogicalNot, truth(V::eq(x, V::zero())))
    INGOT_STEP1(kIsNan, truth(V::unordered(x, x)))
    INGOT_STEP1(kIsInf, truth(V::eq(V::abs(x), V::splat(__builtin_inff()))))
    INGOT_STEP1(kSquare, V::mul(x, x))
    INGOT_STEP1(kAtan, Fn::atan(x))
    INGOT_STEP1(kTan, Fn::tan(x))
    INGOT_STEP1(kAsin, Fn::asin(x))
    INGOT_STEP1(kAcos, Fn::acos(x))
    INGOT_STEP1(kSinh, Fn::sinh(x))
    INGOT_STEP1(kCosh, Fn::cosh(x))
    INGOT_STEP1(kAsinh, Fn::asinh(x))
    INGOT_STEP1(kAcosh, Fn::acosh(x))
    INGOT_STEP1(kAtanh, Fn::atanh(x))
    INGOT_STEP1(kSoftsign, V::div(x, V::add(one, V::abs(x))))
    INGOT_STEP1(kHardSigmoid, Fn::hard_sigmoid(x, alpha, beta))
    INGOT_STEP1(kElu, Fn::elu(x, alpha))
    INGOT_STEP1(kLeakyRelu, Fn::leaky_relu(x, alpha))
    INGOT_STEP1(kClip, Fn::clip(x, alpha, beta))
    INGOT_STEP1(kSelu, V::mul(beta, Fn::elu(x, alpha)))
    INGOT_STEP1(kCelu,
                V::select(V::lt(x, V::zero()), V::mul(alpha, Fn::expm1(V::div(x, alpha))), x))
    INGOT_STEP1(kThresholdedRelu, V::select(V::gt(x, alpha), x, V::zero()))
    INGOT_STEP1(kShrink, V::select(V::lt(x, V::neg(alpha)), V::add(x, beta),
                                   V::select(V::gt(x, alpha), V::sub(x, beta), V::zero())))
    INGOT_STEP1(kScaleShift, V::fma(x, alpha, beta))
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
    break;
  }
}

template <class V>
INGOT_FN void run_binary(const ElementwiseStep& s, const float* a, const float* b, float* out,
                         int64_t n) {
  using F = typename V::F;
  using Fn = Trig<V>;
  const F one = V::splat(1.0f);
  const auto truth = [&](typename V::M m) INGOT_LAMBDA { return V::select(m, one, V::zero()); };
  const auto holds = [&](F x) INGOT_LAMBDA { return V::mask_not(V::eq(x, V::zero())); };
  switch (s.op) {
    INGOT_STEP2(kAdd, V::add(x, z))
    INGOT_STEP2(kSub, V::sub(x, z))
    INGOT_STEP2(kMul, V::mul(x, z))
    INGOT_STEP2(kDiv, V::div(x, z))
    INGOT_STEP2(kPow, Power<V>::pow(x, z))
    INGOT_STEP2(kMin, V::select(V::unordered(x, x), x, V::min(x, z)))  // NaN on either side stays
    INGOT_STEP2(kMax, V::select(V::unordered(x, x), x, V::max(x, z)))
    INGOT_STEP2(kMod, Power<V>::mod(x, z))
    INGOT_STEP2(kFmod, Power<V>::fmod(x, z))
    INGOT_STEP2(kPrelu, Fn::leaky_relu(x, z))
    INGOT_STEP2(kEqual, truth(V::eq(x, z)))
    INGOT_STEP2(kLess, truth(V::lt(x, z)))
    INGOT_STEP2(kLessEqual, truth(V::le(x, z)))
    INGOT_STEP2(kGreater, truth(V::gt(x, z)))
    INGOT_STEP2(kGreaterEqual, truth(V::ge(x, z)))
    INGOT_STEP2(kNotEqual, truth(V::mask_not(V::eq(x, z))))
    INGOT_STEP2(kLogicalAnd, truth(V::mask_and(holds(x), holds(z))))
    INGOT_STEP2(kLogicalOr, truth(V::mask_or(holds(x), holds(z))))
    INGOT_STEP2(kLogicalXor, truth(V::mask_xor(holds(x), holds(z))))
    INGOT_STEP2(kAtan2, Fn::atan2(x, z))
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
    break;
  }
}

/// Runs one step on n elements of its registers.
template <class V>
INGOT_FN void run_step(const ElementwiseStep& s, const float* a, const float* b, const float* c,
                       float* out, int64_t n) {
  using F = typename V::F;
  switch (elementwise_arity(s.op)) {
    case 1: return run_unary<V>(s, a, out, n);
    case 2: return run_binary<V>(s, a, b, out, n);
    default:
      if (s.op == ElementwiseOp::kFma)
        return map3<V>(a, b, c, out, n,
                       [&](F x, F y, F z) INGOT_LAMBDA { return V::fma(x, y, z); });
      return map3<V>(a, b, c, out, n, [&](F x, F y, F z) INGOT_LAMBDA {
        return V::select(V::eq(x, V::zero()), z, y);
      });
  }
}

#undef INGOT_STEP1
#undef INGOT_STEP2
#undef INGOT_LAMBDA

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
