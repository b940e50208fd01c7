// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/elementwise/convert.inl - blocks of elements of any type to and from the type that is
// computed with. To a whole number: truncation toward zero, what lies outside int64 becomes its
// smallest value, then the low bits.
#pragma once
#include "kernels/cpu/simd/half.inl"
#include "runtime/op/tensor.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class T>
INGOT_FN constexpr DType dtype_of();
template <>
INGOT_FN constexpr DType dtype_of<float>() {
  return DType::kF32;
}
template <>
INGOT_FN constexpr DType dtype_of<double>() {
  return DType::kF64;
}
template <>
INGOT_FN constexpr DType dtype_of<int64_t>() {
  return DType::kI64;
}
template <>
INGOT_FN constexpr DType dtype_of<uint64_t>() {
  return DType::kU64;
}

template <class T>
INGOT_FN inline int64_t to_whole(T x) {
  return int64_t(x);
}
template <>
INGOT_FN inline int64_t to_whole(float x) {
  return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? int64_t(x) : INT64_MIN;
}
template <>
INGOT_FN inline int64_t to_whole(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? int64_t(x) : INT64_MIN;
}

template <class T>
INGOT_FN inline uint64_t to_unsigned(T x) {
  return uint64_t(to_whole(x));
}
template <>
INGOT_FN inline uint64_t to_unsigned(float x) {
  return x >= 9223372036854775808.0f && x < 18446744073709551616.0f ? uint64_t(x)
                                                                    : uint64_t(to_whole(x));
}
template <>
INGOT_FN inline uint64_t to_unsigned(double x) {
  return x >= 9223372036854775808.0 && x < 18446744073709551616.0 ? uint64_t(x)
                                                                  : uint64_t(to_whole(x));
}

/// out[i] = f(i). f reads nothing of `out` but its element i, which compilers do not know: GCC is
/// told, and makes vectors of a loop whose length it knows.
template <class T, class F>
INGOT_FN void fill_each(int64_t n, T* out, F f) {
  int64_t i = 0;
#if defined(INGOT_SIMD_AVX2) || defined(INGOT_SIMD_AVX512) || defined(INGOT_SIMD_NEON)
  if constexpr (dtype_of<T>() == DType::kI64) {
    constexpr int kBlock = 8;
    for (; i + kBlock <= n; i += kBlock) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
      for (int k = 0; k < kBlock; k++) out[i + k] = f(i + k);
    }
  }
#endif
  for (; i < n; i++) out[i] = f(i);
}

template <class T, class From>
INGOT_INLINE void widen(const void* from, int64_t n, T* to) {
  const From* p = static_cast<const From*>(from);
  const auto widened = [=](int64_t i) {
    if constexpr (sizeof(T) == 8 && T(0.5) == T(0) && From(0.5f) != From(0))
      return T(to_whole(p[i]));
    else
      return T(p[i]);
  };
  if constexpr (From(0.5f) == From(0) && From(-1) < From(0) && sizeof(From) > 1)
    return fill_each(n, to, widened);
  for (int64_t i = 0; i < n; i++) to[i] = widened(i);
}

/// n elements of type `dtype`, consecutive from `from`.
template <class T>
INGOT_FN void load_block(DType dtype, const void* from, int64_t n, T* to) {
  if (dtype == dtype_of<T>()) {
    std::memcpy(to, from, size_t(n) * sizeof(T));
    return;
  }
  switch (dtype) {
    case DType::kF32: return widen<T, float>(from, n, to);
    case DType::kF64: return widen<T, double>(from, n, to);
    case DType::kI8: return widen<T, int8_t>(from, n, to);
    case DType::kU8:
    case DType::kBool: return widen<T, uint8_t>(from, n, to);
    case DType::kI16: return widen<T, int16_t>(from, n, to);
    case DType::kU16: return widen<T, uint16_t>(from, n, to);
    case DType::kI32: return widen<T, int32_t>(from, n, to);
    case DType::kU32: return widen<T, uint32_t>(from, n, to);
    case DType::kI64: return widen<T, int64_t>(from, n, to);
    case DType::kU64: return widen<T, uint64_t>(from, n, to);
    case DType::kF16:
    case DType::kBF16: {
      const uint16_t* p = static_cast<const uint16_t*>(from);
      const bool half = dtype == DType::kF16;
      for (int64_t i = 0; i < n; i++) {
        const float x = half ? f16_to_f32(p[i]) : bf16_to_f32(p[i]);
        if constexpr (T(0.5) == T(0))
          to[i] = T(to_whole(x));
        else
          to[i] = T(x);
      }
      return;
    }
    case DType::kInvalid: return;
  }
}

/// The same to floats from bytes and whole numbers, in vectors; false for other types.
template <class V>
INGOT_INLINE bool load_vectors(DType dtype, const void* from, int64_t n, float* to) {
  const bool bytes = dtype == DType::kU8 || dtype == DType::kBool;
  if (V::kLanes == 1 || (!bytes && dtype != DType::kI32)) return false;
  const uint8_t* const p = static_cast<const uint8_t*>(from);
  const float* const words = static_cast<const float*>(from);  // of 32 bits, moved as they are
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes)
    V::store(to + i, V::to_float(bytes ? V::iload_u8(p + i) : V::as_int(V::load(words + i))));
  if (i < n)
    V::store_partial(to + i,
                     V::to_float(bytes ? V::iload_u8_partial(p + i, n - i)
                                       : V::as_int(V::load_partial(words + i, n - i))),
                     n - i);
  return true;
}

template <class To, class T>
INGOT_INLINE void narrow(const T* from, int64_t n, void* to) {
  To* p = static_cast<To*>(to);
  for (int64_t i = 0; i < n; i++) p[i] = To(uint64_t(to_whole(from[i])));
}
template <class To, class T>
INGOT_INLINE void narrow_real(const T* from, int64_t n, void* to) {
  To* p = static_cast<To*>(to);
  for (int64_t i = 0; i < n; i++) p[i] = To(from[i]);
}

/// Floats to f16 in vectors: those of a cache of keys and values are in f16.
template <class V>
INGOT_INLINE void store_halves(const float* from, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; i += V::kLanes) {
    const int64_t count = n - i < V::kLanes ? n - i : V::kLanes;
    const typename V::F x = V::load_partial(from + i, count);
    if (count == V::kLanes && !V::any(V::unordered(x, x)))
      V::store_f16(to + i, x);
    else
      for (int64_t k = i; k < i + count; k++) to[k] = f32_to_f16(from[k]);
  }
}

/// Floats to f16 or bytes in vectors; false for other types. What 32 bits do not hold is rare.
template <class V>
INGOT_INLINE bool store_vectors(DType dtype, const float* from, int64_t n, void* to) {
  if (V::kLanes > 1 && dtype == DType::kF16) {
    store_halves<V>(from, n, static_cast<uint16_t*>(to));
    return true;
  }
  if (V::kLanes == 1 || (dtype != DType::kU8 && dtype != DType::kI8)) return false;
  uint8_t* const p = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < n; i += V::kLanes) {
    const int64_t count = n - i < V::kLanes ? n - i : V::kLanes;
    const typename V::F x = V::load_partial(from + i, count);
    if (V::any(V::ge(V::abs(x), V::splat(2147483648.0f))) || V::any(V::unordered(x, x)))
      narrow<uint8_t>(from + i, count, p + i);
    else
      V::istore_u8_partial(p + i, V::to_int(x), count);
  }
  return true;
}

template <class T>
INGOT_FN void store_block(DType dtype, const T* from, int64_t n, void* to) {
  if (dtype == dtype_of<T>()) {
    std::memcpy(to, from, size_t(n) * sizeof(T));
    return;
  }
  switch (dtype) {
    case DType::kF32: return narrow_real<float>(from, n, to);
    case DType::kF64: return narrow_real<double>(from, n, to);
    case DType::kI8:
    case DType::kU8: return narrow<uint8_t>(from, n, to);
    case DType::kI16:
    case DType::kU16: return narrow<uint16_t>(from, n, to);
    case DType::kI32:
    case DType::kU32: return narrow<uint32_t>(from, n, to);
    case DType::kI64: return narrow<uint64_t>(from, n, to);
    case DType::kU64:
      for (int64_t i = 0; i < n; i++) static_cast<uint64_t*>(to)[i] = to_unsigned(from[i]);
      return;
    case DType::kBool:
      for (int64_t i = 0; i < n; i++) static_cast<uint8_t*>(to)[i] = from[i] != T(0);
      return;
    case DType::kF16:
      for (int64_t i = 0; i < n; i++) static_cast<uint16_t*>(to)[i] = f32_to_f16(float(from[i]));
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < n; i++) static_cast<uint16_t*>(to)[i] = f32_to_bf16(float(from[i]));
      return;
    case DType::kInvalid: return;
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
