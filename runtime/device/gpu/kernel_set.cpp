// runtime/device/gpu/kernel_set.cpp - looks rows up, when a session is made.
#include "runtime/device/gpu/kernel_set.h"

namespace ingot {

const GpuRow* find_gpu_row(const GpuKernelSet& set, OpCode op, const OpArguments& arguments,
                           const GpuTraits& traits, GpuPrecision precision) {
  for (const Span<const GpuRow>* family : set.families)
    for (const GpuRow& row : *family)
      if (row.op == op && (!row.supports || row.supports(arguments, traits, precision)))
        return &row;
  return nullptr;
}

uint32_t list_gpu_choices(const GpuRow& row, const OpArguments& arguments, const GpuTraits& traits,
                          GpuPrecision precision, GpuChoice* out) {
  const uint32_t count = row.choices.list ? row.choices.list(arguments, traits, precision, out) : 0;
  if (count) return count;
  *out = GpuChoice();
  return 1;
}

uint64_t gpu_scratch(const GpuRow& row, const OpArguments& arguments, const GpuTraits& traits,
                     GpuPrecision precision, const GpuChoice* choice) {
  if (choice && row.choices.scratch)
    return row.choices.scratch(arguments, traits, precision, *choice);
  return row.scratch ? row.scratch(arguments, traits, precision) : 0;
}

}  // namespace ingot
