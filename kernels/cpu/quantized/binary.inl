// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/binary.inl - sums, differences and products of two tensors of bytes or of
// 16-bit numbers. Contract: runtime/op/quantized_elementwise.h.
#pragma once
#include "kernels/cpu/elementwise/grid.inl"
#include "kernels/cpu/quantized/quantize.inl"
#include "kernels/cpu/quantized/requantize.inl"
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/quantized_elementwise.h"

namespace ingot::cpu {
namespace {
namespace tensors {

using BinaryAttributes = QuantizedElementwiseAttributes;

/// Of a short row, again and again; on the stack, of which a microcontroller has little.
template <class V>
constexpr int64_t kRepeatedBytes = V::kLanes == 1 ? 256 : 2048;

inline int32_t limited_step(const BinaryAttributes& t, int64_t step) {
  const int64_t y = step + t.y_zero;
  return int32_t(y < t.low ? t.low : y > t.high ? t.high : y);
}

// Operations on vectors of int32, before the limits.

/// float_even
template <class V>
struct Int8Sums {
  typename V::I a_multiplier, b_multiplier, bias, zero;
  int shift;
  explicit Int8Sums(const BinaryAttributes& t) {
    const int32_t b = t.function == QuantizedFunction::kSub ? -t.b_multiplier : t.b_multiplier;
    const uint32_t less = t.a_zero * uint32_t(t.a_multiplier) + t.b_zero * uint32_t(b);
    a_multiplier = V::isplat(t.a_multiplier), b_multiplier = V::isplat(b);
    bias = V::isplat(int32_t((1u << (t.y_shift - 1)) - less));
    zero = V::isplat(int32_t(t.y_zero));
    shift = t.y_shift;
  }
  INGOT_INLINE typename V::I operator()(typename V::I a, typename V::I b) const {
    const typename V::I sum =
        V::iadd(V::iadd(V::imul(a, a_multiplier), bias), V::imul(b, b_multiplier));
    return V::iadd(V::isar(sum, shift), zero);
  }
};

template <class V>
struct Int8Products {
  typename V::I a_zero, b_zero, zero;
  typename V::F scale;
  explicit Int8Products(const BinaryAttributes& t) {
    a_zero = V::isplat(int32_t(t.a_zero)), b_zero = V::isplat(int32_t(t.b_zero));
    zero = V::isplat(int32_t(t.y_zero)), scale = V::splat(t.scale);
  }
  INGOT_INLINE typename V::I operator()(typename V::I a, typename V::I b) const {
    const typename V::I product = V::imul(V::isub(a, a_zero), V::isub(b, b_zero)),
                        step = V::to_int_nearest(V::mul(V::to_float(product), scale));
    return V::iadd(step, zero);
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

template <class V, DType type>
struct FixedSums {
  RightRescale<V> a, b, y;
  typename V::I a_zero, b_zero, sign, zero;
  explicit FixedSums(const BinaryAttributes& t) {
    const bool away = t.requant == RequantMode::kFixedAway;
    a = {V::isplat(t.a_multiplier), t.a_shift, away};
    b = {V::isplat(t.b_multiplier), t.b_shift, away};
    y = {V::isplat(t.y_multiplier), t.y_shift, away};
    a_zero = V::isplat(int32_t(t.a_zero)), b_zero = V::isplat(int32_t(t.b_zero));
    sign = V::isplat(t.function == QuantizedFunction::kSub ? -1 : 0);
    zero = V::isplat(int32_t(t.y_zero));
  }
  INGOT_INLINE typename V::I operator()(typename V::I p, typename V::I q) const {
    using I = typename V::I;
    constexpr int kShift = quantized_sum_shift(type);
    const I first = a(V::template ishl<kShift>(V::isub(p, a_zero))),
            second = b(V::template ishl<kShift>(V::isub(q, b_zero))),
            signed_second = V::isub(V::ixor(second, sign), sign);
    return V::iadd(y(V::iadd(first, signed_second)), zero);
  }
};

template <class V>
struct FixedProducts {
  RightRescale<V> y;
  typename V::I a_zero, b_zero, zero;
  explicit FixedProducts(const BinaryAttributes& t) {
    y = {V::isplat(t.y_multiplier), t.y_shift, t.requant == RequantMode::kFixedAway};
    a_zero = V::isplat(int32_t(t.a_zero)), b_zero = V::isplat(int32_t(t.b_zero));
    zero = V::isplat(int32_t(t.y_zero));
  }
  INGOT_INLINE typename V::I operator()(typename V::I p, typename V::I q) const {
    const typename V::I product = V::imul(V::isub(p, a_zero), V::isub(q, b_zero));
    return V::iadd(y(product), zero);
  }
};

/// Every way of fixed point, one number at a time.
struct FixedOperation {
  const BinaryAttributes& t;
  int sum_shift;
  int32_t term(int32_t q, uint32_t zero, int32_t multiplier, int32_t shift) const {
    return requantize_fixed(t.requant, (q - int32_t(zero)) * (1 << sum_shift), multiplier, shift);
  }
  int32_t operator()(int32_t a, int32_t b) const {
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

/// n bytes; an operand that stays the same has a step of 0. y may be a or b. The operation is a
/// copy that no store of bytes can change, so that its numbers stay in registers.
template <class V, class Operation>
INGOT_INLINE void binary_run(const BinaryAttributes& t, const Operation operation, const uint8_t* a,
                             int64_t a_step, const uint8_t* b, int64_t b_step, uint8_t* y,
                             int64_t n) {
  using I = typename V::I;
  constexpr int64_t kLanes = V::kLanes;
  const I a0 = V::isplat(*a), b0 = V::isplat(*b), low = V::isplat(int32_t(t.low)),
          high = V::isplat(int32_t(t.high));
  const typename V::B least = V::bsplat(uint8_t(t.low)), most = V::bsplat(uint8_t(t.high));
  int64_t i = 0;
  if constexpr (V::kPacks) {
    for (; i + V::kBytes <= n; i += V::kBytes) {
      I steps[4];
      INGOT_UNROLL for (int k = 0; k < 4; k++) steps[k] =
          operation(a_step ? V::iload_u8(a + i + k * kLanes) : a0,
                    b_step ? V::iload_u8(b + i + k * kLanes) : b0);
      V::bstore(y + i, V::bmax(V::bmin(V::bpack(steps), most), least));
    }
  }
  for (; i < n; i += kLanes) {
    const int64_t count = least_of(kLanes, n - i);
    const I step = operation(a_step ? V::iload_u8_partial(a + i, count) : a0,
                             b_step ? V::iload_u8_partial(b + i, count) : b0);
    V::istore_u8_partial(y + i, V::imax(V::imin(step, high), low), count);
  }
}
template <class V, class Operation>
void binary_vectors(const BinaryAttributes& t, const uint8_t* a, int64_t a_step, const uint8_t* b,
                    int64_t b_step, uint8_t* y, int64_t n) {
  const Operation operation(t);
  if (a_step && b_step)
    binary_run<V>(t, operation, a, 1, b, 1, y, n);
  else
    binary_run<V>(t, operation, a, a_step, b, b_step, y, n);
}
inline void binary_fixed(const BinaryAttributes& t, const uint8_t* a, int64_t a_step,
                         const uint8_t* b, int64_t b_step, uint8_t* y, int64_t n) {
  const FixedOperation operation{t, quantized_sum_shift(DType::kU8)};
  for (int64_t i = 0; i < n; i++) y[i] = uint8_t(operation(a[i * a_step], b[i * b_step]));
}

// 16-bit numbers, a block of 32 bits at a time. Steps of operands are of elements.
struct Int16Block {
  alignas(64) int32_t a[kQuantizeBlock], b[kQuantizeBlock];
  /// x + 32768 of n numbers, of which there may be but one.
  static void load(const uint8_t* x, int64_t step, int64_t at, int64_t n, int32_t* to) {
    const int16_t* const from = reinterpret_cast<const int16_t*>(x);
    for (int64_t i = 0; i < n; i++) to[i] = int32_t(from[step ? at + i : 0]) + 32768;
  }
  void load(const uint8_t* p, int64_t p_step, const uint8_t* q, int64_t q_step, int64_t at,
            int64_t n) {
    load(p, p_step, at, n, a), load(q, q_step, at, n, b);
  }
  void store(uint8_t* y, int64_t at, int64_t n) const {
    int16_t* const to = reinterpret_cast<int16_t*>(y) + at;
    for (int64_t i = 0; i < n; i++) to[i] = int16_t(a[i] - 32768);
  }
};

template <class V, class Operation>
void int16_vectors(const BinaryAttributes& t, const uint8_t* a, int64_t a_step, const uint8_t* b,
                   int64_t b_step, uint8_t* y, int64_t n) {
  const Operation operation(t);
  const typename V::I low = V::isplat(int32_t(t.low)), high = V::isplat(int32_t(t.high));
  Int16Block block = {};
  for (int64_t at = 0; at < n; at += kQuantizeBlock) {
    const int64_t count = least_of(kQuantizeBlock, n - at);
    block.load(a, a_step, b, b_step, at, count);
    for (int64_t i = 0; i < count; i += V::kLanes)
      V::istore(
          block.a + i,
          V::imax(V::imin(operation(V::iload(block.a + i), V::iload(block.b + i)), high), low));
    block.store(y, at, count);
  }
}
inline void int16_fixed(const BinaryAttributes& t, const uint8_t* a, int64_t a_step,
                        const uint8_t* b, int64_t b_step, uint8_t* y, int64_t n) {
  const FixedOperation operation{t, quantized_sum_shift(DType::kI16)};
  Int16Block block = {};
  for (int64_t at = 0; at < n; at += kQuantizeBlock) {
    const int64_t count = least_of(kQuantizeBlock, n - at);
    block.load(a, a_step, b, b_step, at, count);
    for (int64_t i = 0; i < count; i++) block.a[i] = operation(block.a[i], block.b[i]);
    block.store(y, at, count);
  }
}

/// Every row of the other operand and of y meets the same few numbers of `repeated`, as a
/// normalization with a number for each of three channels has them.
template <class V>
bool repeats_short_row(const Grid& g, int64_t element, int repeated) {
  return g.length * element <= kRepeatedBytes<V> / 16 &&
         g.operands[repeated].walk == Walk::kPeriodic &&
         g.operands[1 - repeated].walk == Walk::kLinear && g.operands[2].walk == Walk::kLinear;
}

/// The same as for_binary_runs(), with that row written many times, so that runs are long.
template <class V, class Run>
INGOT_INLINE void for_repeated_row(const Grid& g, int64_t element, const Team& team, int repeated,
                                   Run run) {
  alignas(64) uint8_t rows[kRepeatedBytes<V>];
  const Part mine = part_of(team, g.rows * g.length, 64, 2048);
  if (mine.begin >= mine.end) return;
  const int64_t count = kRepeatedBytes<V> / (g.length * element);
  for (int64_t i = 0; i < count; i++)
    std::memcpy(rows + i * g.length * element, g.operands[repeated].data,
                size_t(g.length * element));
  const uint8_t* const other = reinterpret_cast<const uint8_t*>(g.operands[1 - repeated].data);
  uint8_t* const y = reinterpret_cast<uint8_t*>(g.operands[2].data);
  for (int64_t at = mine.begin; at < mine.end;) {
    const int64_t phase = at % g.length, n = least_of(count * g.length - phase, mine.end - at);
    const uint8_t *const row = rows + phase * element, *const from = other + at * element;
    if (repeated)
      run(from, 1, row, 1, y + at * element, n);
    else
      run(row, 1, from, 1, y + at * element, n);
    at += n;
  }
}

/// run(a, its step, b, its step, y, elements) over this member's part; `element` bytes each.
template <class V, class Run>
INGOT_INLINE void for_binary_runs(const Grid& g, int64_t element, const Team& team, Run run) {
  for (int k = 0; k < 2; k++)
    if (repeats_short_row<V>(g, element, k)) return for_repeated_row<V>(g, element, team, k, run);
  const GridOperand &a = g.operands[0], &b = g.operands[1], &y = g.operands[2];
  const int last = g.rank - 1;
  const Part mine = part_of(team, g.rows * g.length, 64, 2048);
  if (mine.begin >= mine.end) return;
  int64_t row = mine.begin / g.length, column = mine.begin - row * g.length;
  int64_t index[3][kMaxRank], at[3];
  for (int k = 0; k < 3; k++) at[k] = row_offset(g, g.operands[k], row, index[k]);
  for (int64_t left = mine.end - mine.begin; left > 0;) {
    const int64_t n = least_of(g.length - column, left);
    const auto place = [&](const GridOperand& operand, int k) {
      return reinterpret_cast<const uint8_t*>(operand.data) +
             (at[k] + column * operand.strides[last]) * element;
    };
    run(place(a, 0), a.strides[last], place(b, 1), b.strides[last],
        reinterpret_cast<uint8_t*>(y.data) + (at[2] + column) * element, n);
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
  const bool product = t.function == QuantizedFunction::kMul,
             fixed = t.requant != RequantMode::kFloatEven,
             words = a.outputs[0].dtype == DType::kI16,
             singly = t.requant == RequantMode::kFixedOnce || (fixed && t.y_shift < 0);
  const auto run = singly    ? (words ? int16_fixed : binary_fixed)
                   : words   ? (product ? int16_vectors<V, FixedProducts<V>>
                                        : int16_vectors<V, FixedSums<V, DType::kI16>>)
                   : fixed   ? (product ? binary_vectors<V, FixedProducts<V>>
                                        : binary_vectors<V, FixedSums<V, DType::kU8>>)
                   : product ? binary_vectors<V, Int8Products<V>>
                             : binary_vectors<V, Int8Sums<V>>;
  for_binary_runs<V>(grid, words ? 2 : 1, team,
                     [&](const uint8_t* p, int64_t p_step, const uint8_t* q, int64_t q_step,
                         uint8_t* y, int64_t n) { run(t, p, p_step, q, q_step, y, n); });
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
