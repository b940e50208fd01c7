// kernels/cpu/quantized/binary.inl - sums, differences and products of two tensors of bytes.
// Contract: runtime/op/quantized_elementwise.h.
#pragma once
#include "kernels/cpu/elementwise/grid.inl"
#include "kernels/cpu/quantized/requantize.inl"
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/quantized_elementwise.h"

namespace ingot::cpu {
namespace {
namespace tensors {

using BinaryAttributes = QuantizedElementwiseAttributes;

inline uint8_t limited_step(const BinaryAttributes& t, int64_t step) {
  const int64_t y = step + t.y_zero;
  return uint8_t(y < t.low ? t.low : y > t.high ? t.high : y);
}

/// float_even; vectors of int32.
template <class V>
struct ByteSums {
  typename V::I a_multiplier, b_multiplier, bias, zero, low, high;
  int shift;
  explicit ByteSums(const BinaryAttributes& t) {
    const int32_t b = t.function == QuantizedFunction::kSub ? -t.b_multiplier : t.b_multiplier;
    const uint32_t less = t.a_zero * uint32_t(t.a_multiplier) + t.b_zero * uint32_t(b);
    a_multiplier = V::isplat(t.a_multiplier), b_multiplier = V::isplat(b);
    bias = V::isplat(int32_t((1u << (t.y_shift - 1)) - less));
    zero = V::isplat(int32_t(t.y_zero));
    low = V::isplat(int32_t(t.low)), high = V::isplat(int32_t(t.high));
    shift = t.y_shift;
  }
  INGOT_INLINE typename V::I operator()(typename V::I a, typename V::I b) const {
    const typename V::I sum = V::iadd(V::iadd(V::imul(a, a_multiplier), bias),
                                      V::imul(b, b_multiplier)),
                        y = V::iadd(V::isar(sum, shift), zero);
    return V::imax(V::imin(y, high), low);
  }
};

template <class V>
struct ByteProducts {
  typename V::I a_zero, b_zero, zero, low, high;
  typename V::F scale;
  explicit ByteProducts(const BinaryAttributes& t) {
    a_zero = V::isplat(int32_t(t.a_zero)), b_zero = V::isplat(int32_t(t.b_zero));
    zero = V::isplat(int32_t(t.y_zero)), scale = V::splat(t.scale);
    low = V::isplat(int32_t(t.low)), high = V::isplat(int32_t(t.high));
  }
  INGOT_INLINE typename V::I operator()(typename V::I a, typename V::I b) const {
    const typename V::I product = V::imul(V::isub(a, a_zero), V::isub(b, b_zero)),
                        step = V::to_int_nearest(V::mul(V::to_float(product), scale));
    return V::imax(V::imin(V::iadd(step, zero), high), low);
  }
};

/// fixed_up and fixed_away with shifts to the right.
template <class V>
struct RightRescale {
  typename V::I multiplier;
  int shift;
  bool away;
  INGOT_INLINE typename V::I operator()(typename V::I x) const {
    typename V::I d = V::ihigh(x, multiplier);
    if (shift == 0) return d;
    if (away) d = V::iadd(d, V::template isar<31>(d));  // ties of negative numbers go down
    d = V::isar(d, shift - 1);
    return V::iadd(V::template isar<1>(d), V::iand(d, V::isplat(1)));
  }
};

template <class V>
struct FixedByteSums {
  RightRescale<V> a, b, y;
  typename V::I a_zero, b_zero, sign, zero, low, high;
  explicit FixedByteSums(const BinaryAttributes& t) {
    const bool away = t.requant == RequantMode::kFixedAway;
    a = {V::isplat(t.a_multiplier), t.a_shift, away};
    b = {V::isplat(t.b_multiplier), t.b_shift, away};
    y = {V::isplat(t.y_multiplier), t.y_shift, away};
    a_zero = V::isplat(int32_t(t.a_zero)), b_zero = V::isplat(int32_t(t.b_zero));
    sign = V::isplat(t.function == QuantizedFunction::kSub ? -1 : 0);
    zero = V::isplat(int32_t(t.y_zero));
    low = V::isplat(int32_t(t.low)), high = V::isplat(int32_t(t.high));
  }
  INGOT_INLINE typename V::I operator()(typename V::I p, typename V::I q) const {
    using I = typename V::I;
    const I first = a(V::template ishl<kQuantizedSumShift>(V::isub(p, a_zero))),
            second = b(V::template ishl<kQuantizedSumShift>(V::isub(q, b_zero))),
            signed_second = V::isub(V::ixor(second, sign), sign);
    const I step = V::iadd(y(V::iadd(first, signed_second)), zero);
    return V::imax(V::imin(step, high), low);
  }
};

template <class V>
struct FixedByteProducts {
  RightRescale<V> y;
  typename V::I a_zero, b_zero, zero, low, high;
  explicit FixedByteProducts(const BinaryAttributes& t) {
    y = {V::isplat(t.y_multiplier), t.y_shift, t.requant == RequantMode::kFixedAway};
    a_zero = V::isplat(int32_t(t.a_zero)), b_zero = V::isplat(int32_t(t.b_zero));
    zero = V::isplat(int32_t(t.y_zero));
    low = V::isplat(int32_t(t.low)), high = V::isplat(int32_t(t.high));
  }
  INGOT_INLINE typename V::I operator()(typename V::I p, typename V::I q) const {
    const typename V::I product = V::imul(V::isub(p, a_zero), V::isub(q, b_zero));
    return V::imax(V::imin(V::iadd(y(product), zero), high), low);
  }
};

/// Every way of fixed point, one number at a time.
struct FixedByteOperation {
  const BinaryAttributes& t;
  int32_t term(int32_t q, uint32_t zero, int32_t multiplier, int32_t shift) const {
    return requantize_fixed(t.requant, (q - int32_t(zero)) * (1 << kQuantizedSumShift), multiplier,
                            shift);
  }
  uint8_t operator()(uint8_t a, uint8_t b) const {
    int32_t raw;
    if (t.function == QuantizedFunction::kMul) {
      raw = (int32_t(a) - int32_t(t.a_zero)) * (int32_t(b) - int32_t(t.b_zero));
    } else {
      const int32_t first = term(a, t.a_zero, t.a_multiplier, t.a_shift),
                    second = term(b, t.b_zero, t.b_multiplier, t.b_shift);
      raw = t.function == QuantizedFunction::kAdd ? first + second : first - second;
    }
    return limited_step(t, requantize_fixed(t.requant, raw, t.y_multiplier, t.y_shift));
  }
};

/// n bytes; an operand that stays the same has a step of 0. y may be a or b.
template <class V, class Operation>
INGOT_INLINE void binary_run(const Operation& operation, const uint8_t* a, int64_t a_step,
                             const uint8_t* b, int64_t b_step, uint8_t* y, int64_t n) {
  using I = typename V::I;
  const I a0 = V::isplat(n > 0 ? *a : 0), b0 = V::isplat(n > 0 ? *b : 0);
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes)
    V::istore_u8(y + i,
                 operation(a_step ? V::iload_u8(a + i) : a0, b_step ? V::iload_u8(b + i) : b0));
  if (i < n)
    V::istore_u8_partial(y + i,
                         operation(a_step ? V::iload_u8_partial(a + i, n - i) : a0,
                                   b_step ? V::iload_u8_partial(b + i, n - i) : b0),
                         n - i);
}
template <class V, class Operation>
void binary_vectors(const Operation& operation, const uint8_t* a, int64_t a_step, const uint8_t* b,
                    int64_t b_step, uint8_t* y, int64_t n) {
  if (a_step && b_step)
    binary_run<V>(operation, a, 1, b, 1, y, n);
  else
    binary_run<V>(operation, a, a_step, b, b_step, y, n);
}
inline void binary_fixed(const FixedByteOperation& operation, const uint8_t* a, int64_t a_step,
                         const uint8_t* b, int64_t b_step, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = operation(a[i * a_step], b[i * b_step]);
}

/// run(a, its step, b, its step, y, elements) over this member's part.
template <class Run>
INGOT_INLINE void for_binary_runs(const Grid& g, const Team& team, Run run) {
  const GridOperand &a = g.operands[0], &b = g.operands[1], &y = g.operands[2];
  const int last = g.rank - 1;
  const Part mine = part_of(team, g.rows * g.length, 64, 2048);
  if (mine.begin >= mine.end) return;
  int64_t row = mine.begin / g.length, column = mine.begin - row * g.length;
  int64_t index[3][kMaxRank], at[3];
  for (int k = 0; k < 3; k++) at[k] = row_offset(g, g.operands[k], row, index[k]);
  for (int64_t left = mine.end - mine.begin; left > 0;) {
    const int64_t n = least_of(g.length - column, left);
    run(reinterpret_cast<const uint8_t*>(a.data) + at[0] + column * a.strides[last],
        a.strides[last],
        reinterpret_cast<const uint8_t*>(b.data) + at[1] + column * b.strides[last],
        b.strides[last], reinterpret_cast<uint8_t*>(y.data) + at[2] + column, n);
    left -= n, column = 0;
    for (int k = 0; k < 3; k++) next_row(g, g.operands[k], index[k], &at[k]);
  }
}

template <class V>
Status quantized_elementwise(const OpArguments& a, const Team& team) {
  const BinaryAttributes& t = a.as<BinaryAttributes>();
  if (a.outputs[0].elements() == 0) return {};
  Grid grid;
  make_grid(a, &grid);
  const auto all = [&](auto operation, auto run) {
    for_binary_runs(grid, team,
                    [&](const uint8_t* p, int64_t p_step, const uint8_t* q, int64_t q_step,
                        uint8_t* y, int64_t n) { run(operation, p, p_step, q, q_step, y, n); });
  };
  const bool product = t.function == QuantizedFunction::kMul,
             fixed = t.requant != RequantMode::kFloatEven;
  if (t.requant == RequantMode::kFixedOnce || (fixed && t.y_shift < 0))
    all(FixedByteOperation{t}, binary_fixed);
  else if (fixed && product)
    all(FixedByteProducts<V>(t), binary_vectors<V, FixedByteProducts<V>>);
  else if (fixed)
    all(FixedByteSums<V>(t), binary_vectors<V, FixedByteSums<V>>);
  else if (product)
    all(ByteProducts<V>(t), binary_vectors<V, ByteProducts<V>>);
  else
    all(ByteSums<V>(t), binary_vectors<V, ByteSums<V>>);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
