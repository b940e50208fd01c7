// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/tables.h - one table a translation unit of isa/; which exist in a build is listed
// by INGOT_HAVE_*.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::cpu {

extern const KernelTable kPlainKernelTable;  // what every other falls back to
extern const KernelTable kScalarKernels;
extern const KernelTable kSse2Kernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvxVnniKernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512VnniKernels;
extern const KernelTable kAvx512Bf16Kernels;
extern const KernelTable kAmxBf16Kernels;
extern const KernelTable kAmxInt8Kernels;
extern const KernelTable kNeonKernels;
extern const KernelTable kNeonFp16Kernels;
extern const KernelTable kNeonDotKernels;
extern const KernelTable kNeonI8mmKernels;
extern const KernelTable kNeonBf16Kernels;
extern const KernelTable kNeon32Kernels;
extern const KernelTable kRvvKernels;
extern const KernelTable kOracleKernels;

}  // namespace ingot::cpu
