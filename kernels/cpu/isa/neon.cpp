// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/neon.cpp - every kernel for this instruction set: aarch64.
#include "kernels/cpu/simd/neon.h"

#define INGOT_ISA_NAME "neon"
#define INGOT_ISA_PRODUCTS 16
#define INGOT_ISA_TABLE kNeonKernels
#include "kernels/cpu/kernel_table.inl"
