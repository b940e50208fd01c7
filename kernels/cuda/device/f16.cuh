// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/f16.cuh - f16 in memory, f32 in registers: to nearest, ties to even, on every
// chip one instruction each way. Operands of kernels say by a flag which of the two they are.
#pragma once
#include "kernels/cuda/device/lane.h"

namespace ingot::cuda {

#if defined(__CUDACC__)
GPU_FN uint16_t round_f16(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
GPU_FN float widen_f16(uint16_t h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
/// Of both halves of a word, each rounded once.
GPU_FN uint32_t subtract_halves(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
GPU_FN uint32_t multiply_halves(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
#else
GPU_FN uint16_t round_f16(float x) { return cpu::f32_to_f16(x); }
GPU_FN float widen_f16(uint16_t h) { return cpu::f16_to_f32(h); }
// In f32 the difference and the product of two f16 are exact, or rounding them again is rounding
// once.
template <class Operation>
GPU_FN uint32_t of_halves(uint32_t a, uint32_t b, Operation operation) {
  const auto half = [&](int i) {
    return uint32_t(
        round_f16(operation(widen_f16(uint16_t(a >> 16 * i)), widen_f16(uint16_t(b >> 16 * i)))));
  };
  return half(0) | half(1) << 16;
}
GPU_FN uint32_t subtract_halves(uint32_t a, uint32_t b) {
  return of_halves(a, b, [](float x, float y) { return x - y; });
}
GPU_FN uint32_t multiply_halves(uint32_t a, uint32_t b) {
  return of_halves(a, b, [](float x, float y) { return x * y; });
}
#endif

/// Four neighbours in one access of 8 bytes.
struct alignas(8) FourHalves {
  uint16_t x[4];
};

/// Element `at` of f32s, or of f16s at the same address.
GPU_FN float load_float(const float* from, int64_t at, bool is_f16) {
  return is_f16 ? widen_f16(reinterpret_cast<const uint16_t*>(from)[at]) : from[at];
}
GPU_FN void store_float(float* to, int64_t at, bool is_f16, float x) {
  if (is_f16)
    reinterpret_cast<uint16_t*>(to)[at] = round_f16(x);
  else
    to[at] = x;
}

/// Four neighbours from `at` on, of which the first `count` exist; others are 0 and not touched.
/// `vector`: they are aligned to their size.
struct alignas(16) FourFloats {
  float x[4];
};
GPU_FN FourFloats load_f16s(const float* from, int64_t at, int64_t count, bool vector) {
  const uint16_t* const halves = reinterpret_cast<const uint16_t*>(from) + at;
  FourFloats v = {};
  if (vector && count >= 4) {
    const FourHalves four = *reinterpret_cast<const FourHalves*>(halves);
    INGOT_UNROLL for (int i = 0; i < 4; i++) v.x[i] = widen_f16(four.x[i]);
  } else {
    INGOT_UNROLL for (int i = 0; i < 4; i++) if (i < count) v.x[i] = widen_f16(halves[i]);
  }
  return v;
}
GPU_FN void store_f16s(float* to, int64_t at, int64_t count, bool vector, const FourFloats& v) {
  uint16_t* const halves = reinterpret_cast<uint16_t*>(to) + at;
  if (vector && count >= 4) {
    FourHalves four;
    INGOT_UNROLL for (int i = 0; i < 4; i++) four.x[i] = round_f16(v.x[i]);
    *reinterpret_cast<FourHalves*>(halves) = four;
  } else {
    INGOT_UNROLL for (int i = 0; i < 4; i++) if (i < count) halves[i] = round_f16(v.x[i]);
  }
}
// Called where a flag decides: kernels of f32 then need no register more, and all share one copy.
GPU_CALLED FourFloats load_f16s_called(const float* from, int64_t at, int64_t count, bool vector) {
  return load_f16s(from, at, count, vector);
}
GPU_CALLED void store_f16s_called(float* to, int64_t at, int64_t count, bool vector, FourFloats v) {
  store_f16s(to, at, count, vector, v);
}

/// The same of f32s, or of f16s. T: any struct of four floats, 16-byte aligned.
template <class T>
GPU_FN T load_four(const float* from, int64_t at, bool is_f16, int64_t count, bool vector) {
  if (is_f16) {
    const FourFloats v = load_f16s_called(from, at, count, vector);
    return {{v.x[0], v.x[1], v.x[2], v.x[3]}};
  }
  if (vector && count >= 4) return *reinterpret_cast<const T*>(from + at);
  const auto one = [&](int i) { return i < count ? from[at + i] : 0.0f; };
  return {{one(0), one(1), one(2), one(3)}};
}
template <class T>
GPU_FN void store_four(float* to, int64_t at, bool is_f16, int64_t count, bool vector, const T& v) {
  const float* const x = reinterpret_cast<const float*>(&v);
  if (is_f16) return store_f16s_called(to, at, count, vector, {{x[0], x[1], x[2], x[3]}});
  if (vector && count >= 4) {
    *reinterpret_cast<T*>(to + at) = v;
    return;
  }
  INGOT_UNROLL for (int i = 0; i < 4; i++) if (i < count) to[at + i] = x[i];
}

}  // namespace ingot::cuda
