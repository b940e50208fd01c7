// kernels/cpu/quantized/requantize.inl - sums to steps of the output, sixteen channels at a time.
// The arithmetic is in runtime/op/requantize.h.
#pragma once
#include "kernels/cpu/quantized/dot.inl"
#include "runtime/op/contract.h"
#include "runtime/op/requantize.h"

namespace ingot::cpu {
namespace {

/// Numbers of all output channels; those of channel o are at o. Padded to 16 channels.
struct Requantization {
  RequantMode mode = RequantMode::kFloatEven;
  const int32_t* bias = nullptr;
  const void* multipliers = nullptr;  // f32, or i32 of fixed point
  const int32_t* shifts = nullptr;
  int32_t zero = 0, low = 0, high = 255;
  int32_t w_zero = 0;
};

inline Requantization requantization_of(const OpArguments& a, RequantMode mode, uint32_t zero,
                                        uint32_t low, uint32_t high, int32_t w_zero) {
  Requantization r;
  r.mode = mode, r.zero = int32_t(zero), r.low = int32_t(low), r.high = int32_t(high);
  const TensorView& channels = a.inputs[2];
  r.bias = channels.as<const int32_t>(), r.multipliers = r.bias + channels.dims[1];
  r.shifts = mode == RequantMode::kFloatEven ? nullptr : r.bias + 2 * channels.dims[1];
  r.w_zero = w_zero;
  return r;
}
/// The same from channel `o` on.
inline Requantization from_channel(Requantization r, int64_t o) {
  r.bias += o;
  r.multipliers = static_cast<const int32_t*>(r.multipliers) + o;  // 4 bytes each
  if (r.shifts) r.shifts += o;
  return r;
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
  const int32_t* multipliers = static_cast<const int32_t*>(r.multipliers) + o;
  for (int i = 0; i < n && i < kPanel; i++) {
    const int64_t step =
        int64_t(requantize_fixed(r.mode, sums[i], multipliers[i], r.shifts[o + i])) + r.zero;
    out[i] = uint8_t(step > r.high ? r.high : step < r.low ? r.low : step);
  }
}

/// Sixteen sums of channels o .. o + 15 -> `n` bytes, multipliers in floating point.
template <class V>
INGOT_INLINE void requantize_float(const Requantization& r, typename V::I (&sums)[Dot::kChunks],
                                   int64_t o, uint8_t* out, int64_t n) {
  using F = typename V::F;
  const float* multipliers = static_cast<const float*>(r.multipliers) + o;
  const F low = V::splat(float(r.low - r.zero)), high = V::splat(float(r.high - r.zero));
  const typename V::I zero = V::isplat(r.zero);
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) {
    const F step = V::mul(V::to_float(sums[i]), V::load(multipliers + i * V::kLanes));
    sums[i] = V::iadd(V::to_int_nearest(V::max(V::min(step, high), low)), zero);
  }
  Dot::store(out, sums, n);
}

/// The same in any mode.
template <class V>
INGOT_INLINE void requantize(const Requantization& r, typename V::I (&sums)[Dot::kChunks],
                             int64_t o, uint8_t* out, int64_t n) {
  if (__builtin_expect(r.mode == RequantMode::kFloatEven, 1))
    return requantize_float<V>(r, sums, o, out, n);
  alignas(64) int32_t all[kPanel];
  INGOT_UNROLL for (int i = 0; i < Dot::kChunks; i++) V::istore(all + i * V::kLanes, sums[i]);
  requantize_sixteen(r, all, o, out, n);
}

}  // namespace
}  // namespace ingot::cpu
