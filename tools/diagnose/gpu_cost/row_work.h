// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/row_work.h - what norms, softmax, quantized rows and scatters read, and
// have under way.
// Owns     nothing.
// Threads  any.
#pragma once
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gather/scatter_params.h"
#include "kernels/cuda/quantized/dynamic_params.h"
#include "kernels/cuda/reduce/reduce_params.h"
#include "tools/diagnose/gpu_cost/tensor_tiles.h"

namespace ingot::gpu_cost {

constexpr double kLoads = 8;  // kernels/cuda/device/rows.cuh

/// Eight loads of a thread are under way; scale and bias stay in the first-level cache of a block.
inline void describe(const NormRowsParams& p, const char* kernel, const GpuLaunch& l,
                     LaunchWork* w) {
  const double numbers = double(p.rows) * double(p.n), x = dtype_bytes(p.x_dtype),
               parameters = ((p.scale ? 1 : 0) + (p.bias ? 1 : 0)) * double(dtype_bytes(p.dtype));
  w->known = true;
  w->bytes = numbers * (x * (contains(kernel, "long") ? 3 : 1) + dtype_bytes(p.y_dtype));
  w->weight_bytes = double(p.n) * parameters;
  w->fetched = w->bytes + double(l.grid_x) * w->weight_bytes;
  w->loads = kLoads;
  w->in_flight = ingot_cuda_kernel_set.kernels[l.kernel].threads * kLoads * x;
}
/// Of lines that a block or a thread has it makes exponentials twice, and reads three times.
inline void describe(const SoftmaxParams& p, const char* kernel, const GpuLaunch& l,
                     LaunchWork* w) {
  const double numbers = double(p.lines) * double(p.n), x = dtype_bytes(p.x_dtype);
  w->known = true;
  w->bytes = numbers * (x * (contains(kernel, "rows") ? 1 : 3) + dtype_bytes(p.y_dtype));
  w->loads = kLoads;
  w->in_flight = ingot_cuda_kernel_set.kernels[l.kernel].threads * kLoads * x;
}

/// Of several parts the numbers are read twice.
inline void describe(const DynamicQuantizeParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double numbers = double(p.groups) * double(p.elements);
  w->known = true;
  w->bytes = numbers * (p.phase == DynamicPhase::kRanges ? kWord : kWord + 1);
  w->fetched = numbers * (p.phase == DynamicPhase::kAll ? 2 * kWord + 1 : kWord + 1);
}

/// Of the tensor that is written only what changes.
inline void describe(const ScatterParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  constexpr double kIndex = 16;  // an index and an owner
  const double units = double(p.count) * double(p.row.divisor),
               bytes = p.unit ? p.unit : double(dtype_bytes(p.dtype));
  const bool is_of_indices = contains(kernel, "claim") || contains(kernel, "keys");
  w->known = true;
  w->bytes = double(p.count) * kIndex + (is_of_indices ? 0 : 2 * units * bytes);
}
inline void describe(const ClearParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->bytes = double(p.count) * 8;
}

}  // namespace ingot::gpu_cost
