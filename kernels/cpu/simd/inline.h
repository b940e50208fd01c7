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
