// SPDX-License-Identifier: Apache-2.0
#include "tools/session/half_kernels.h"

#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/device/gpu/kernel_set.h"

namespace ingot::cli {
namespace {

bool goes_on_with(const KernelTable* table, const char* isa) {
  for (; table; table = table->fallback)
    if (table->isa && std::strcmp(table->isa, isa) == 0) return true;
  return false;
}

}  // namespace

DType product_type(uint8_t precision, const KernelTable* table) {
  const bool in_f16 = GpuPrecision(precision) == GpuPrecision::kFp16,
             in_bf16 = GpuPrecision(precision) == GpuPrecision::kBf16;
  if (in_f16 && goes_on_with(table, "neonfp16")) return DType::kF16;
  if (in_bf16 && goes_on_with(table, "neonbf16")) return DType::kBF16;
  return DType::kInvalid;
}

const ingot_kernel_table* without_halves(const ingot_kernel_table* table) {
  const auto* const kernels = reinterpret_cast<const KernelTable*>(table);
  if (!goes_on_with(kernels, "neonfp16") && !goes_on_with(kernels, "neonbf16")) return table;
  return reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("neon"));
}

}  // namespace ingot::cli
