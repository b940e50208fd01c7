// SPDX-License-Identifier: Apache-2.0
#include "tests/support/unfused_kernels.h"

#include "kernels/cpu/cpu_kernels.h"

#if defined(__SSE2__) && !defined(INGOT_WITHOUT_SSE2)
#define INGOT_UNFUSED 1
#include "kernels/cpu/simd/scalar.h"

#define INGOT_ISA_NAME "unfused"
#define INGOT_ISA_PRODUCTS 1
#define INGOT_ISA_TABLE kUnfusedKernels
namespace ingot::cpu {
extern const KernelTable kUnfusedKernels;
}  // namespace ingot::cpu
#include "kernels/cpu/kernel_table.inl"

const ingot::KernelTable* ingot::testing::unfused_kernels() {
  return cpu_kernels("sse2") ? &cpu::kUnfusedKernels : nullptr;
}
#else
const ingot::KernelTable* ingot::testing::unfused_kernels() { return nullptr; }
#endif
