// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/inline.h - the spellings that kernels need from a compiler. scalar.h and the
// functions over struct V are device code of kernels/cuda as well: one source, the same bits.
#pragma once

#if defined(__CUDACC__)
#define INGOT_INLINE __device__ __forceinline__
#define INGOT_FN __device__
#define INGOT_UNROLL _Pragma("unroll")
#else
#define INGOT_INLINE inline __attribute__((always_inline))
#define INGOT_FN
#define INGOT_UNROLL _Pragma("GCC unroll 64")
#endif

namespace ingot::cpu {
namespace {

/// a * b + c, rounded once; twice where struct V's fma() rounds twice (sse2.h), so that one element
/// alone has the bits of a vector's.
INGOT_INLINE float fused(float a, float b, float c) {
#if defined(INGOT_UNFUSED)
  return a * b + c;
#elif defined(INGOT_SIMD_NEON32)
  // by the vectors' unit, which takes subnormals for zero
  return vget_lane_f32(vfma_f32(vdup_n_f32(c), vdup_n_f32(a), vdup_n_f32(b)), 0);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

}  // namespace
}  // namespace ingot::cpu
