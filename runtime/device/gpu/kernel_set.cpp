// SPDX-License-Identifier: Apache-2.0
// runtime/device/gpu/kernel_set.cpp - looks rows up, when a session is made.
#include "runtime/device/gpu/kernel_set.h"

namespace ingot {

const GpuKernelEntry* find_gpu_row(const GpuKernelSet& set, OpCode op, const OpArguments& arguments,
                                   const GpuTraits& traits, GpuPrecision precision) {
  for (const Span<const GpuKernelEntry>* family : set.families)
    for (const GpuKernelEntry& row : *family)
      if (row.op == op && (!row.supports || row.supports(arguments, traits, precision)))
        return &row;
  return nullptr;
}

uint32_t list_gpu_variants(const GpuKernelEntry& row, const OpArguments& arguments,
                           const GpuTraits& traits, GpuPrecision precision, GpuVariant* out) {
  const uint32_t count =
      row.variants.list ? row.variants.list(arguments, traits, precision, out) : 0;
  if (count) return count;
  *out = GpuVariant();
  return 1;
}

uint64_t gpu_scratch(const GpuKernelEntry& row, const OpArguments& arguments,
                     const GpuTraits& traits, GpuPrecision precision, const GpuVariant* variant) {
  if (variant && row.variants.scratch)
    return row.variants.scratch(arguments, traits, precision, *variant);
  return row.scratch ? row.scratch(arguments, traits, precision) : 0;
}

uint64_t least_gpu_scratch(const GpuKernelEntry& row, const OpArguments& arguments,
                           const GpuTraits& traits, GpuPrecision precision) {
  if (row.least_scratch) return row.least_scratch(arguments, traits, precision);
  uint64_t least = gpu_scratch(row, arguments, traits, precision, nullptr);
  if (!least || !row.variants.scratch) return least;
  GpuVariant variants[kMaxGpuVariants];
  const uint32_t count = list_gpu_variants(row, arguments, traits, precision, variants);
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t bytes = gpu_scratch(row, arguments, traits, precision, &variants[i]);
    least = bytes < least ? bytes : least;
  }
  return least;
}

}  // namespace ingot
