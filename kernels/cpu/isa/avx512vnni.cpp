// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/avx512vnni.cpp - products of bytes by the dot products of AVX-512 VNNI; the rest
// is avx512's.
#include "kernels/cpu/simd/avx512.h"

#define INGOT_SIMD_VNNI 1
#define INGOT_ISA_NAME "avx512vnni"
#define INGOT_ISA_PRODUCTS 256
#define INGOT_ISA_TABLE kAvx512VnniKernels
#define INGOT_ISA_BASE kAvx512Kernels
#include "kernels/cpu/quantized/quantized_table.inl"
