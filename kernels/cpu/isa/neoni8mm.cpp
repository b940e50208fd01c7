// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/neoni8mm.cpp - products of bytes by the mixed dot products of FEAT_I8MM, those
// with weights in blocks by its matrices and, of one row, by FEAT_DotProd; the rest is neon's.
#include "kernels/cpu/simd/neon.h"

#define INGOT_SIMD_I8MM 1
#define INGOT_ISA_NAME "neoni8mm"
#define INGOT_ISA_PRODUCTS 64
#define INGOT_ISA_TABLE kNeonI8mmKernels
#if INGOT_HAVE_NEONFP16
#define INGOT_ISA_BASE kNeonFp16Kernels
#else
#define INGOT_ISA_BASE kNeonKernels
#endif
#include "kernels/cpu/quantized/quantized_table.inl"
