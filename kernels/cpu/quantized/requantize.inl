// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/requantize.inl - sums to numbers of the output, sixteen channels at a time.
// The arithmetic is in runtime/op/requantize.h.
#pragma once
#include "kernels/cpu/quantized/dot.inl"
#include "kernels/cpu/quantized/requantize_one.inl"
#include "runtime/op/contract.h"
#include "runtime/op/quantized_blocks.h"
#include "runtime/op/requantize.h"

namespace ingot::cpu {
namespace {

using quantized::kMaxChannelRows;
using quantized::RowQuantParams;

constexpr int kWidestBytes = 8;  // panels
alignas(64) constexpr int32_t kNoBias[kWidestBytes * kPanel] = {};

/// Numbers of all output channels; those of channel o are at o. Padded to 16 channels.
struct Requantization {
  RequantMode mode = RequantMode::kFloatEven;
  // 4 bytes each; null where there is no such row
  const int32_t* rows[kMaxChannelRows] = {};
  int32_t zero = 0, low = 0, high = 255;
  int32_t w_zero = 0;
  bool whole = false;       // to_float: the sums are the output
  bool words = false;       // the output is i16
  bool in_vectors = false;  // fixed point whose numbers requantize_vector() takes

  const int32_t* bias() const { return rows[0]; }
  const void* multipliers() const { return rows[1]; }  // f32, or i32 of fixed point
  const int32_t* shifts() const { return rows[2]; }
  const int32_t* bias_high() const { return rows[3]; }  // of sums of 64 bits
  bool to_float() const { return mode == RequantMode::kToFloat; }
  const int32_t* weight_sums() const { return rows[0]; }
  const float* floats(int row) const { return reinterpret_cast<const float*>(rows[row]); }
  const int32_t* weight_zeros() const { return to_float() ? rows[3] : nullptr; }
  bool wants_sums() const { return w_zero != 0 || weight_zeros(); }         // of the bytes of x
  int64_t element_bytes() const { return to_float() ? 4 : words ? 2 : 1; }  // of the output
  /// What the sums of a panel begin with.
  const int32_t* starts(int64_t o) const { return to_float() ? kNoBias : rows[0] + o; }
};

/// Of fixed point: multipliers above -2^31, no shift that goes left or means nothing.
inline bool fits_vectors(const Requantization& r, int64_t n) {
  if (r.mode == RequantMode::kFloatEven || r.to_float() || is_wide(r.mode)) return false;
  const int32_t *multipliers = r.rows[1], *shifts = r.shifts();
  bool fits = true;
  for (int64_t i = 0; fits && i < n; i++)
    fits = multipliers[i] != INT32_MIN && shifts[i] >= 0 && shifts[i] <= 31;
  return fits;
}

inline Requantization requantization_of(const OpArguments& a, RequantMode mode, uint32_t zero,
                                        uint32_t low, uint32_t high, int32_t w_zero) {
  Requantization r;
  r.mode = mode, r.zero = int32_t(zero), r.low = int32_t(low), r.high = int32_t(high);
  const TensorView& channels = a.inputs[2];
  for (int64_t i = 0; i < channels.dims[0]; i++)
    r.rows[i] = channels.as<const int32_t>() + i * channels.dims[1];
  r.w_zero = w_zero;
  r.whole = a.outputs[0].dtype == DType::kI32, r.words = a.outputs[0].dtype == DType::kI16;
  r.in_vectors = fits_vectors(r, channels.dims[1]);
  return r;
}
/// The same from channel `o` on.
inline Requantization from_channel(Requantization r, int64_t o) {
  for (const int32_t*& row : r.rows)
    if (row) row += o;
  return r;
}

/// Group g of the steps of x; whatever a file feeds is a scale and a byte.
inline RowQuantParams row_quant_params(const TensorView& steps, int64_t g) {
  const float scale = steps.as<const float>()[2 * g], zero = steps.as<const float>()[2 * g + 1];
  return {scale, zero >= 255.0f ? 255 : zero > 0.0f ? int32_t(zero) : 0};
}

/// The same for vectors. @pre fits_vectors()
template <class V>
INGOT_INLINE typename V::I requantize_vector(RequantMode mode, typename V::I sum,
                                             typename V::I multiplier, typename V::I shift) {
  using I = typename V::I;
  const I one = V::isplat(1), high = V::ihigh(sum, multiplier);
  I d = high;
  if (mode == RequantMode::kFixedAway)
    d = V::iadd(high, V::template isar<31>(high));  // ties of negative numbers go down
  else if (mode == RequantMode::kFixedOnce)
    d = V::ihigh_down(sum, multiplier);  // what is behind the point decides no tie but of shift 0
  d = V::isar_lanes(d, V::imax(V::isub(shift, one), V::isplat(0)));
  d = V::iadd(V::template isar<1>(d), V::iand(d, one));
  return V::iselect(V::ieq(shift, V::isplat(0)), high, d);
}

/// Sixteen sums -> numbers of the output, in fixed point; those behind n mean nothing.
template <class V>
INGOT_INLINE void fixed_numbers(const Requantization& r, const int32_t* sums, int64_t o, int64_t n,
                                typename V::I (&numbers)[Dot::kChunks]) {
  using I = typename V::I;
  const int32_t* const multipliers = r.rows[1] + o;
  alignas(64) int32_t each[kPanel] = {};
  if (!r.in_vectors) {
    for (int i = 0; i < n && i < kPanel; i++) {
      const int64_t step =
          int64_t(requantize_fixed(r.mode, sums[i], multipliers[i], r.shifts()[o + i])) + r.zero;
      each[i] = int32_t(step > r.high ? r.high : step < r.low ? r.low : step);
    }
    INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) numbers[i] = V::iload(each + i * V::kLanes);
    return;
  }
  const I low = V::isplat(r.low - r.zero), high = V::isplat(r.high - r.zero),
          zero = V::isplat(r.zero);
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) {
    const int64_t at = i * V::kLanes;
    const I step = requantize_vector<V>(r.mode, V::iload(sums + at), V::iload(multipliers + at),
                                        V::iload(r.shifts() + o + at));
    numbers[i] = V::iadd(V::imax(V::imin(step, high), low), zero);
  }
}

/// Sixteen sums -> n bytes. Not a part of every tile: fixed point is for who wants another
/// runtime's integers.
template <class V>
__attribute__((noinline)) void requantize_sixteen(const Requantization& r, const int32_t* sums,
                                                  int64_t o, uint8_t* out, int64_t n) {
  typename V::I numbers[Dot::kChunks];
  fixed_numbers<V>(r, sums, o, n, numbers);
  Dot::store(out, numbers, n);
}

/// Of sums of upper and of lower bytes. Numbers that mean nothing are limited.
inline int32_t requantize_wide(const Requantization& r, int32_t upper, int32_t lower, int64_t o) {
  const uint64_t bias = uint64_t(uint32_t(r.bias_high()[o])) << 32 | uint32_t(r.bias()[o]);
  const uint64_t sum = uint64_t(int64_t(upper)) * 256 + uint64_t(int64_t(lower)) + bias;
  const int32_t multiplier = r.rows[1][o];
  const int64_t step = int64_t(r.mode == RequantMode::kFixedWide
                                   ? step_of_fixed_wide(sum, multiplier, r.shifts()[o])
                                   : step_of_double(int64_t(sum), multiplier, r.shifts()[o])) +
                       r.zero;
  return int32_t(step > r.high ? r.high : step < r.low ? r.low : step);
}

/// Sums of the upper and of the lower bytes, 16 of each, both begun with the first row of biases
/// -> n numbers of i16.
template <class V>
__attribute__((noinline)) void requantize_int16(const Requantization& r, const int32_t* upper,
                                                const int32_t* lower, int64_t o, int16_t* out,
                                                int64_t n) {
  alignas(64) int32_t numbers[kPanel];
  if (is_wide(r.mode)) {
    for (int i = 0; i < kPanel; i++) {
      const uint32_t bias = uint32_t(r.bias()[o + i]);
      numbers[i] = requantize_wide(r, int32_t(uint32_t(upper[i]) - bias),
                                   int32_t(uint32_t(lower[i]) - bias), o + i);
    }
  } else {
    alignas(64) int32_t sums[kPanel];
    for (int i = 0; i < kPanel; i++)
      sums[i] =
          int32_t((uint32_t(upper[i]) - uint32_t(r.bias()[o + i])) * 256 + uint32_t(lower[i]));
    typename V::I each[Dot::kChunks];
    fixed_numbers<V>(r, sums, o, n, each);
    INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) V::istore(numbers + i * V::kLanes, each[i]);
  }
  int16_t words[kPanel];
  for (int i = 0; i < kPanel; i++) words[i] = int16_t(numbers[i] - 32768);
  std::memcpy(out, words, size_t(n < kPanel ? n : kPanel) * sizeof(int16_t));
}

/// What Dot::finish_bytes() wants of sixteen channels from o on.
template <class D>
INGOT_INLINE typename D::Finish finish_of(const Requantization& r, int64_t o) {
  return D::finish_of(r.floats(1) + o, r.zero, r.low, r.high);
}

/// Sixteen sums of channels o .. o + 15 -> `n` bytes, multipliers in floating point.
template <class V, class D = Dot>
INGOT_INLINE void requantize_float(const Requantization& r, typename V::I (&sums)[Dot::kChunks],
                                   int64_t o, uint8_t* out, int64_t n) {
  if constexpr (D::kFinishesBytes)
    return D::store_bytes(out, D::finish_bytes(sums, finish_of<D>(r, o)), n);
  using F = typename V::F;
  const float* multipliers = r.floats(1) + o;
  const F low = V::splat(float(r.low - r.zero)), high = V::splat(float(r.high - r.zero));
  const typename V::I zero = V::isplat(r.zero);
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) {
    const F step = V::mul(V::to_float(sums[i]), V::load(multipliers + i * V::kLanes));
    sums[i] = V::iadd(V::to_int_nearest(V::max(V::min(step, high), low)), zero);
  }
  Dot::store(out, sums, n);
}

/// Sums of `count` <= 16 channels from o on of one row to f32 or i32. `row`: the sum of its bytes.
template <class V>
INGOT_INLINE void store_to_float(const Requantization& r, const RowQuantParams& steps, int32_t row,
                                 const int32_t* sums, int64_t o, uint8_t* out, int64_t count) {
  using I = typename V::I;
  const I zero = V::isplat(steps.zero), of_row = V::isplat(row);
  const typename V::F scale = V::splat(steps.scale);
  float* const y = reinterpret_cast<float*>(out);
  for (int64_t i = 0; i < count; i += V::kLanes) {
    I sum = V::isub(V::iload(sums + i), V::imul(zero, V::iload(r.weight_sums() + o + i)));
    if (r.rows[3]) {
      const I w_zero = V::iload(r.rows[3] + o + i);
      sum =
          V::isub(sum, V::imul(of_row, V::imax(V::imin(w_zero, V::isplat(255)), V::isplat(-255))));
    }
    const typename V::F number =
        r.whole ? V::as_float(sum)
                : V::add(V::mul(V::to_float(sum), V::mul(scale, V::load(r.floats(1) + o + i))),
                         V::load(r.floats(2) + o + i));
    if (count - i >= V::kLanes)
      V::store(y + i, number);
    else
      V::store_partial(y + i, number, count - i);
  }
}
/// Not a part of every kernel of one row.
template <class V>
__attribute__((noinline)) void store_row_to_float(const Requantization& r,
                                                  const RowQuantParams& steps, const int32_t* sums,
                                                  int64_t o, uint8_t* out, int64_t count) {
  store_to_float<V>(r, steps, 0, sums, o, out, count < kPanel ? count : kPanel);
}

/// The same in any mode. `steps`: of to_float; weights' zero points were taken off.
template <class V>
INGOT_INLINE void requantize(const Requantization& r, const RowQuantParams& steps,
                             typename V::I (&sums)[Dot::kChunks], int64_t o, uint8_t* out,
                             int64_t n) {
  if (__builtin_expect(r.mode == RequantMode::kFloatEven, 1))
    return requantize_float<V>(r, sums, o, out, n);
  alignas(64) int32_t all[kPanel];
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) V::istore(all + i * V::kLanes, sums[i]);
  if (r.to_float()) return store_row_to_float<V>(r, steps, all, o, out, n);
  requantize_sixteen<V>(r, all, o, out, n);
}

}  // namespace
}  // namespace ingot::cpu
