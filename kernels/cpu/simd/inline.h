// kernels/cpu/simd/inline.h - the two spellings that kernels need from a compiler.
#pragma once

#define INGOT_INLINE inline __attribute__((always_inline))
#define INGOT_UNROLL _Pragma("GCC unroll 64")
