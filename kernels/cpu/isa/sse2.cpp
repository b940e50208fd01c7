// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/sse2.cpp - every kernel for this instruction set: 64-bit x86 without AVX2 or
// without fused multiply-add.
#define INGOT_UNFUSED 1
#include "kernels/cpu/simd/sse2.h"

#define INGOT_ISA_NAME "sse2"
#define INGOT_ISA_PRODUCTS 8
#define INGOT_ISA_TABLE kSse2Kernels
#include "kernels/cpu/kernel_table.inl"
