// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/scalar.cpp - every kernel for this instruction set: one lane, no instruction set
// assumed: the twin that the others are compared with, and firmware's choice.
#include "kernels/cpu/simd/scalar.h"

#define INGOT_ISA_NAME "scalar"
#define INGOT_ISA_PRODUCTS 1
#define INGOT_ISA_TABLE kScalarKernels
#include "kernels/cpu/kernel_table.inl"
