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

}  // namespace ingot
