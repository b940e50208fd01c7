// kernels/cpu/quantized/requantize.inl - sums to steps of the output, sixteen channels at a time.
// The arithmetic is in runtime/op/requantize.h.
#pragma once
#include "kernels/cpu/quantized/dot.inl"
#include "runtime/op/contract.h"
#include "runtime/op/quantized_blocks.h"
#include "runtime/op/requantize.h"

namespace ingot::cpu {
namespace {

using quantized::kMaxChannelRows;
using quantized::RowSteps;

constexpr int kWidestBytes = 8;  // panels
alignas(64) constexpr int32_t kNoBias[kWidestBytes * kPanel] = {};

/// Numbers of all output channels; those of channel o are at o. Padded to 16 channels.
struct Requantization {
  RequantMode mode = RequantMode::kFloatEven;
  // 4 bytes each; null where there is no such row
  const int32_t* rows[kMaxChannelRows] = {};
  int32_t zero = 0, low = 0, high = 255;
  int32_t w_zero = 0;
  bool whole = false;  // to_float: the sums are the output

  const int32_t* bias() const { return rows[0]; }
  const void* multipliers() const { return rows[1]; }  // f32, or i32 of fixed point
  const int32_t* shifts() const { return rows[2]; }
  bool to_float() const { return mode == RequantMode::kToFloat; }
  const int32_t* weight_sums() const { return rows[0]; }
  const float* floats(int row) const { return reinterpret_cast<const float*>(rows[row]); }
  const int32_t* weight_zeros() const { return to_float() ? rows[3] : nullptr; }
  bool wants_sums() const { return w_zero != 0 || weight_zeros(); }  // of the bytes of x
  int64_t element_bytes() const { return to_float() ? 4 : 1; }       // of the output
  /// What the sums of a panel begin with.
  const int32_t* starts(int64_t o) const { return to_float() ? kNoBias : rows[0] + o; }
};

inline Requantization requantization_of(const OpArguments& a, RequantMode mode, uint32_t zero,
                                        uint32_t low, uint32_t high, int32_t w_zero) {
  Requantization r;
  r.mode = mode, r.zero = int32_t(zero), r.low = int32_t(low), r.high = int32_t(high);
  const TensorView& channels = a.inputs[2];
  for (int64_t i = 0; i < channels.dims[0]; i++)
    r.rows[i] = channels.as<const int32_t>() + i * channels.dims[1];
  r.w_zero = w_zero;
  r.whole = a.outputs[0].dtype == DType::kI32;
  return r;
}
/// The same from channel `o` on.
inline Requantization from_channel(Requantization r, int64_t o) {
  for (const int32_t*& row : r.rows)
    if (row) row += o;
  return r;
}

/// Group g of the steps of x; whatever a file feeds is a scale and a byte.
inline RowSteps row_steps(const TensorView& steps, int64_t g) {
  const float scale = steps.as<const float>()[2 * g], zero = steps.as<const float>()[2 * g + 1];
  return {scale, zero >= 255.0f ? 255 : zero > 0.0f ? int32_t(zero) : 0};
}

inline int32_t limited_to_i32(int64_t x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : int32_t(x);
}

/// Fixed point. Shifts are any number of a file: those that mean nothing are limited.
inline int32_t requantize_fixed(RequantMode mode, int32_t sum, int32_t multiplier, int32_t shift) {
  const int32_t least = mode == RequantMode::kFixedOnce ? -30 : -31;
  const int s = shift < least ? least : shift > 31 ? 31 : shift;
  if (mode == RequantMode::kFixedOnce) {
    const int64_t product = int64_t(sum) * multiplier, half = int64_t{1} << (30 + s);
    return limited_to_i32((product + half) >> (31 + s));
  }
  const int32_t shifted = s < 0 ? limited_to_i32(int64_t(sum) * (int64_t{1} << -s)) : sum;
  const int32_t d = limited_to_i32((int64_t(shifted) * multiplier + (int64_t{1} << 30)) >> 31);
  if (s <= 0) return d;
  const int64_t half = (int64_t{1} << (s - 1)) - (mode == RequantMode::kFixedAway && d < 0);
  return int32_t((d + half) >> s);
}

/// Not a part of every tile: fixed point is for who wants another runtime's integers.
__attribute__((noinline)) void requantize_sixteen(const Requantization& r, const int32_t* sums,
                                                  int64_t o, uint8_t* out, int64_t n) {
  const int32_t* multipliers = static_cast<const int32_t*>(r.multipliers()) + o;
  for (int i = 0; i < n && i < kPanel; i++) {
    const int64_t step =
        int64_t(requantize_fixed(r.mode, sums[i], multipliers[i], r.shifts()[o + i])) + r.zero;
    out[i] = uint8_t(step > r.high ? r.high : step < r.low ? r.low : step);
  }
}

/// Sixteen sums of channels o .. o + 15 -> `n` bytes, multipliers in floating point.
template <class V>
INGOT_INLINE void requantize_float(const Requantization& r, typename V::I (&sums)[Dot::kChunks],
                                   int64_t o, uint8_t* out, int64_t n) {
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
INGOT_INLINE void store_to_float(const Requantization& r, const RowSteps& steps, int32_t row,
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
__attribute__((noinline)) void store_row_to_float(const Requantization& r, const RowSteps& steps,
                                                  const int32_t* sums, int64_t o, uint8_t* out,
                                                  int64_t count) {
  store_to_float<V>(r, steps, 0, sums, o, out, count < kPanel ? count : kPanel);
}

/// The same in any mode. `steps`: of to_float; weights' zero points were taken off.
template <class V>
INGOT_INLINE void requantize(const Requantization& r, const RowSteps& steps,
                             typename V::I (&sums)[Dot::kChunks], int64_t o, uint8_t* out,
                             int64_t n) {
  if (__builtin_expect(r.mode == RequantMode::kFloatEven, 1))
    return requantize_float<V>(r, sums, o, out, n);
  alignas(64) int32_t all[kPanel];
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) V::istore(all + i * V::kLanes, sums[i]);
  if (r.to_float()) return store_row_to_float<V>(r, steps, all, o, out, n);
  requantize_sixteen(r, all, o, out, n);
}

}  // namespace
}  // namespace ingot::cpu
