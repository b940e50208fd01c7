// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/quantize.inl - between floats and integers. Bytes go straight to and from
// vectors; 16 and 32 bits through a block of int32. Contract: runtime/op/quantize.h.
#pragma once
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/quantize.h"

namespace ingot::cpu {
namespace {
namespace tensors {

constexpr int64_t kQuantizeBlock = 64;  // a multiple of every kLanes

/// To the nearest, ties away from zero.
template <class V>
INGOT_INLINE typename V::F round_away(typename V::F x) {
  using F = typename V::F;
  const F whole = V::trunc(x), one = V::bit_or(V::splat(1.0f), V::bit_and(x, V::splat(-0.0f)));
  const F up = V::select(V::ge(V::abs(V::sub(x, whole)), V::splat(0.5f)), one, V::zero());
  return V::add(whole, up);
}

// Vectors that take subnormal numbers for zero take the reciprocal of a scale above 8.5e37 as 0.
#if defined(INGOT_SIMD_NEON32)
constexpr bool kSubnormalsAreZero = true;
#else
constexpr bool kSubnormalsAreZero = false;
#endif
constexpr float kSmallestNormal = 0x1p-126f;  // no <cfloat> in freestanding libraries

/// Numbers of an instruction.
struct OutputQuantParams {
  float scale, low, high;  // low and high are less the zero point
  int32_t zero;
  bool away, reciprocal;
  float back = 1;  // a reciprocal that is subnormal stands here 2^24 times as large, which is exact
};
inline OutputQuantParams output_quant_params(const QuantizeAttributes& t, DType to) {
  OutputQuantParams s{t.scale,     0, 0, t.zero_point, t.rounding == QuantizeRounding::kAway,
                      t.reciprocal};
  if (s.reciprocal) s.scale = 1.0f / t.scale;
  if (kSubnormalsAreZero && s.reciprocal && s.scale < kSmallestNormal)
    s.scale *= 16777216.0f, s.back = 1 / 16777216.0f;
  if (to == DType::kI32) {
    s.low = -2147483520.0f, s.high = 2147483520.0f;
    return s;
  }
  const bool wide = to == DType::kI16 || to == DType::kU16;
  const int32_t low = to == DType::kI8 ? -128 : to == DType::kI16 ? -32768 : 0;
  s.low = float(low - t.zero_point), s.high = float(low + (wide ? 65535 : 255) - t.zero_point);
  return s;
}

template <class V>
INGOT_INLINE typename V::I quantize_vector(const OutputQuantParams& s, typename V::F x) {
  using F = typename V::F;
  const F scale = V::splat(s.scale);
  F v = s.reciprocal ? V::mul(x, scale) : V::div(x, scale);
  if constexpr (kSubnormalsAreZero) v = V::mul(v, V::splat(s.back));
  const F number = V::select(V::unordered(v, v), V::zero(), v);
  const F step = V::max(V::min(number, V::splat(s.high)), V::splat(s.low));
  const typename V::I whole = s.away ? V::to_int(round_away<V>(step)) : V::to_int_nearest(step);
  return V::iadd(whole, V::isplat(s.zero));
}

/// n <= kQuantizeBlock numbers of 16 or 32 bits.
inline void narrow_block(DType to, const int32_t* from, int64_t n, void* y, int64_t at) {
  if (to == DType::kI32)
    std::memcpy(static_cast<int32_t*>(y) + at, from, size_t(n) * sizeof(int32_t));
  else
    for (int64_t i = 0; i < n; i++) static_cast<uint16_t*>(y)[at + i] = uint16_t(from[i]);
}
inline void widen_block(DType type, const void* x, int64_t at, int64_t n, int32_t* to) {
  if (type == DType::kI32)
    std::memcpy(to, static_cast<const int32_t*>(x) + at, size_t(n) * sizeof(int32_t));
  else if (type == DType::kI16)
    for (int64_t i = 0; i < n; i++) to[i] = static_cast<const int16_t*>(x)[at + i];
  else
    for (int64_t i = 0; i < n; i++) to[i] = static_cast<const uint16_t*>(x)[at + i];
}

/// Numbers of i8 are made 128 higher and turned back: `flip` is 128 then, else 0.
template <class V>
void quantize_bytes(const OutputQuantParams& steps, uint8_t flip, const float* x, uint8_t* y,
                    int64_t n) {
  OutputQuantParams s = steps;  // which no store of bytes can change
  s.zero += flip;
  int64_t i = 0;
  if constexpr (V::kPacks) {
    const typename V::B bits = V::bsplat(flip);
    for (; i + V::kBytes <= n; i += V::kBytes) {
      typename V::I whole[4];
      INGOT_UNROLL for (int k = 0; k < 4; k++) whole[k] =
          quantize_vector<V>(s, V::load(x + i + k * V::kLanes));
      V::bstore(y + i, V::bxor(V::bpack(whole), bits));
    }
  }
  const typename V::I bits = V::isplat(flip);
  for (; i < n; i += V::kLanes) {
    const int64_t count = least_of(V::kLanes, n - i);
    V::istore_u8_partial(y + i, V::ixor(quantize_vector<V>(s, V::load_partial(x + i, count)), bits),
                         count);
  }
}

template <class V>
Status quantize(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const OutputQuantParams s = output_quant_params(a.as<QuantizeAttributes>(), y.dtype);
  const bool bytes = y.dtype == DType::kU8 || y.dtype == DType::kI8;
  const uint8_t flip = y.dtype == DType::kI8 ? 128 : 0;
  for_runs(team, x, y, [&](int64_t from, int64_t to, int64_t n) {
    const float* p = x.as<const float>() + from;
    if (bytes) return quantize_bytes<V>(s, flip, p, y.as<uint8_t>() + to, n);
    alignas(64) int32_t block[kQuantizeBlock];
    for (int64_t i = 0; i < n; i += kQuantizeBlock) {
      const int64_t count = least_of(kQuantizeBlock, n - i);
      for (int64_t k = 0; k < count; k += V::kLanes)
        V::istore(block + k, quantize_vector<V>(
                                 s, V::load_partial(p + i + k, least_of(V::kLanes, count - k))));
      narrow_block(y.dtype, block, count, y.data, to + i);
    }
  });
  return {};
}

template <class V>
void dequantize_bytes(typename V::F scale, typename V::I zero, typename V::I flip, const uint8_t* x,
                      float* y, int64_t n) {
  const auto value = [&](typename V::I q) __attribute__((always_inline)) {
    return V::mul(V::to_float(V::isub(V::ixor(q, flip), zero)), scale);
  };
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(y + i, value(V::iload_u8(x + i)));
  if (i < n) V::store_partial(y + i, value(V::iload_u8_partial(x + i, n - i)), n - i);
}

template <class V>
Status dequantize(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const DequantizeAttributes& t = a.as<DequantizeAttributes>();
  const typename V::F scale = V::splat(t.scale);
  const bool is_signed = x.dtype == DType::kI8;  // read as bytes, 128 higher
  const typename V::I zero = V::isplat(t.zero_point + (is_signed ? 128 : 0)),
                      flip = V::isplat(is_signed ? 128 : 0);
  for_runs(team, x, y, [&](int64_t from, int64_t to, int64_t n) {
    float* p = y.as<float>() + to;
    if (is_signed || x.dtype == DType::kU8)
      return dequantize_bytes<V>(scale, zero, flip, x.as<const uint8_t>() + from, p, n);
    alignas(64) int32_t block[kQuantizeBlock] = {};
    for (int64_t i = 0; i < n; i += kQuantizeBlock) {
      const int64_t count = least_of(kQuantizeBlock, n - i);
      widen_block(x.dtype, x.data, from + i, count, block);
      for (int64_t k = 0; k < count; k += V::kLanes)
        V::store_partial(p + i + k, V::mul(V::to_float(V::isub(V::iload(block + k), zero)), scale),
                         least_of(V::kLanes, count - k));
    }
  });
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
