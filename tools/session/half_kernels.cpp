// SPDX-License-Identifier: Apache-2.0
#include "tools/session/half_kernels.h"

#include <cstring>

#include "runtime/device/gpu/kernel_set.h"

namespace ingot::cli {
namespace {

/// Whether a kernel of the table, or of one that it goes on with, has such a name.
bool multiplies(const KernelTable* table, const char* suffix) {
  for (; table; table = table->fallback)
    for (uint32_t i = 0; i < table->entry_count; i++) {
      const char* const tail = std::strrchr(table->entries[i].name, '_');
      if (tail && std::strcmp(tail, suffix) == 0) return true;
    }
  return false;
}

}  // namespace

DType product_type(uint8_t precision, const KernelTable* table) {
  const bool in_f16 = GpuPrecision(precision) == GpuPrecision::kFp16,
             in_bf16 = GpuPrecision(precision) == GpuPrecision::kBf16;
  if (in_f16 && multiplies(table, "_f16")) return DType::kF16;
  if (in_bf16 && multiplies(table, "_bf16")) return DType::kBF16;
  return DType::kInvalid;
}

const ingot_kernel_table* without_halves(const ingot_kernel_table* table) {
  const auto* kernels = reinterpret_cast<const KernelTable*>(table);
  while (kernels && (multiplies(kernels, "_f16") || multiplies(kernels, "_bf16")))
    kernels = kernels->fallback;
  return reinterpret_cast<const ingot_kernel_table*>(kernels);
}

}  // namespace ingot::cli
