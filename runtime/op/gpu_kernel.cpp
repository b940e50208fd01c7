// runtime/op/gpu_kernel.cpp - looks rows up, when a session is made.
#include "runtime/op/gpu_kernel.h"

namespace ingot {

const GpuRow* find_gpu_row(const GpuKernelSet& set, OpCode op, const OpArguments& arguments, const GpuTraits& traits,
                           GpuPrecision precision) {
  for (const Span<const GpuRow>* family : set.families)
    for (const GpuRow& row : *family)
      if (row.op == op && (!row.supports || row.supports(arguments, traits, precision))) return &row;
  return nullptr;
}

}  // namespace ingot
