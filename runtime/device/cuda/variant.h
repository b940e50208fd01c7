// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/variant.h - which of several kernel variants computes an instruction on a
// GPU: what was measured on this GPU and recorded in the file, where the row offers it for these
// extents, else what the model has.
#pragma once
#include "runtime/device/cuda/gpu.h"

namespace ingot::cuda {

struct Chosen {
  GpuVariant variants[kMaxGpuVariants];
  uint32_t count = 0;
  const GpuVariant* variant = nullptr;  // among them; null: the model's, which is the first
  VariantSource source = VariantSource::kOnly;
  const char* why = "";
};

/// One instruction on the GPU of that ordinal.
struct VariantQuery {
  int ordinal = 0;
  const GpuKernelEntry* row = nullptr;
  const OpArguments* arguments = nullptr;
  GpuPrecision precision = GpuPrecision::kExact;
  const TuningView* tunings = nullptr;
  uint32_t instruction = 0;
  uint64_t scratch_bytes = ~uint64_t{0};  // that there are
};
void choose(const VariantQuery& query, Chosen* out);

}  // namespace ingot::cuda
