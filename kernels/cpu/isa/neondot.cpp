// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/neondot.cpp - products of bytes by signed dot products (FEAT_DotProd); the rest
// is neon's.
#include "kernels/cpu/simd/neon.h"

#define INGOT_SIMD_DOTPROD 1
#define INGOT_ISA_NAME "neondot"
#define INGOT_ISA_PRODUCTS 64
#define INGOT_ISA_TABLE kNeonDotKernels
#if INGOT_HAVE_NEONFP16
#define INGOT_ISA_BASE kNeonFp16Kernels
#else
#define INGOT_ISA_BASE kNeonKernels
#endif
#include "kernels/cpu/quantized/quantized_table.inl"
