// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/rvv.cpp - every kernel for this instruction set: the vector extension 1.0 of
// 64-bit RISC-V.
#include "kernels/cpu/simd/rvv.h"

#define INGOT_ISA_NAME "rvv"
#define INGOT_ISA_PRODUCTS 8
#define INGOT_ISA_TABLE kRvvKernels
#include "kernels/cpu/kernel_table.inl"
