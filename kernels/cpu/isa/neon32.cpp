// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/neon32.cpp - every kernel for this instruction set: 32-bit Arm with NEON and
// fused multiply-add.
#include "kernels/cpu/simd/neon32.h"

#define INGOT_ISA_NAME "neon32"
#define INGOT_ISA_PRODUCTS 8
#define INGOT_ISA_TABLE kNeon32Kernels
#include "kernels/cpu/kernel_table.inl"
