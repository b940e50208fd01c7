// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/avxvnni.cpp - products of bytes by the dot products of AVX-VNNI; the rest is
// avx2's.
#include "kernels/cpu/simd/avx2.h"

#define INGOT_SIMD_VNNI 1
#define INGOT_ISA_NAME "avxvnni"
#define INGOT_ISA_PRODUCTS 128
#define INGOT_ISA_TABLE kAvxVnniKernels
#define INGOT_ISA_BASE kAvx2Kernels
#include "kernels/cpu/quantized/quantized_table.inl"
