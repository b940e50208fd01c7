// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/reduce/wide_fold.inl - one accumulation of any type but f32, an element at a time.
// Device code as well.
#pragma once
#include <math.h>

#include "kernels/cpu/elementwise/convert.inl"
#include "runtime/op/reduce.h"

namespace ingot::cpu {
namespace {
namespace tensors {

INGOT_FN inline int64_t least_value(DType t) {
  switch (t) {
    case DType::kI8: return INT8_MIN;
    case DType::kI16: return INT16_MIN;
    case DType::kI32: return INT32_MIN;
    case DType::kI64: return INT64_MIN;
    default: return 0;
  }
}
INGOT_FN inline int64_t most_value(DType t) {
  switch (t) {
    case DType::kI8: return INT8_MAX;
    case DType::kU8: return UINT8_MAX;
    case DType::kI16: return INT16_MAX;
    case DType::kU16: return UINT16_MAX;
    case DType::kI32: return INT32_MAX;
    case DType::kU32: return UINT32_MAX;
    case DType::kU64: return -1;
    case DType::kBool: return 1;
    default: return INT64_MAX;
  }
}

/// library: with the functions of the C library (exponentials and logarithms of double), whose bits
/// device code does not promise.
template <class T, bool library = true>
struct WideFold {
  static constexpr bool kReal = T(0.5) != T(0);
  ReduceKind kind;
  T start, shift = 0;

  INGOT_INLINE WideFold(ReduceKind k, DType dtype) : kind(k), start(0) {
    if (k == ReduceKind::kProd) start = 1;
    if constexpr (kReal) {
      if (k == ReduceKind::kMax) start = -T(__builtin_inf());
      if (k == ReduceKind::kMin) start = T(__builtin_inf());
    } else {
      if (k == ReduceKind::kMax) start = T(least_value(dtype));
      if (k == ReduceKind::kMin) start = T(most_value(dtype));
    }
  }
  static INGOT_INLINE T add(T a, T b) {
    if constexpr (kReal)
      return a + b;
    else
      return T(uint64_t(a) + uint64_t(b));
  }
  static INGOT_INLINE T mul(T a, T b) {
    if constexpr (kReal)
      return a * b;
    else
      return T(uint64_t(a) * uint64_t(b));
  }
  INGOT_INLINE T step(T a, T x) const {
    switch (kind) {
      case ReduceKind::kMax: return a > x || a != a ? a : x;
      case ReduceKind::kMin: return a < x || a != a ? a : x;
      case ReduceKind::kProd: return mul(a, x);
      case ReduceKind::kL1: return add(a, x < T(0) ? mul(x, T(-1)) : x);
      case ReduceKind::kL2:
      case ReduceKind::kSumSquare: return add(a, mul(x, x));
      case ReduceKind::kLogSumExp:
        if constexpr (kReal && library)
          return a + T(exp(double(x - shift)));
        else
          return a;
      default: return add(a, x);
    }
  }
  INGOT_INLINE T join(T a, T b) const {
    if (kind == ReduceKind::kMax || kind == ReduceKind::kMin || kind == ReduceKind::kProd)
      return step(a, b);
    return add(a, b);
  }
  INGOT_INLINE T finish(T sum, int64_t count) const {
    if constexpr (kReal) {
      if (kind == ReduceKind::kMean) return sum / T(count);
      if (kind == ReduceKind::kL2) return T(sqrt(double(sum)));
      if constexpr (library)
        if (kind == ReduceKind::kLogSum || kind == ReduceKind::kLogSumExp)
          return T(log(double(sum))) + shift;
    } else {
      if (kind == ReduceKind::kMean) return count == 0 ? T(0) : T(sum / T(count));
      if (kind == ReduceKind::kL2) return T(to_whole(sqrt(double(uint64_t(sum)))));
    }
    return sum;
  }
};

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
