// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/avx512.cpp - every kernel for this instruction set: built with AVX-512 F, BW, DQ
// and VL.
#include "kernels/cpu/simd/avx512.h"

#define INGOT_ISA_NAME "avx512"
#define INGOT_ISA_PRODUCTS 128
#define INGOT_ISA_TABLE kAvx512Kernels
#include "kernels/cpu/kernel_table.inl"
