// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/cuda_kernels.h - the kernels of this folder for whoever launches them; and what
// plans of all families use.
#pragma once
#include "kernels/cuda/kernel_list.h"
#include "runtime/device/gpu/kernel_set.h"

extern "C" const ingot::GpuKernelSet ingot_cuda_kernel_set;

namespace ingot::cuda {

// Rows of each family, in <family>/<family>_plan.cpp.
// these two before the exact rows of the same operators
extern const Span<const GpuKernelEntry> kTensorcoreRows;
extern const Span<const GpuKernelEntry> kTensorAttentionRows;
extern const Span<const GpuKernelEntry> kAttentionRows;
extern const Span<const GpuKernelEntry> kConv2dRows;
extern const Span<const GpuKernelEntry> kChainRows;
extern const Span<const GpuKernelEntry> kMatMulRows;
extern const Span<const GpuKernelEntry> kWeightsRows;
extern const Span<const GpuKernelEntry> kConvTransposeRows;
extern const Span<const GpuKernelEntry> kElementwiseRows;
extern const Span<const GpuKernelEntry> kImageRows;
extern const Span<const GpuKernelEntry> kMovementRows;
extern const Span<const GpuKernelEntry> kGatherRows;
extern const Span<const GpuKernelEntry> kScatterRows;
extern const Span<const GpuKernelEntry> kReduceRows;
extern const Span<const GpuKernelEntry> kNormalizeRows;
extern const Span<const GpuKernelEntry> kSortRows;
extern const Span<const GpuKernelEntry> kPool2dRows;
extern const Span<const GpuKernelEntry> kResizeRows;
extern const Span<const GpuKernelEntry> kRecurrentRows;
extern const Span<const GpuKernelEntry> kDataDependentRows;
extern const Span<const GpuKernelEntry> kQuantizedMapRows;
extern const Span<const GpuKernelEntry> kQuantizedProductRows;
extern const Span<const GpuKernelEntry> kDynamicQuantizeRows;
extern const Span<const GpuKernelEntry> kBlockLinearRows;

/// Parts of scratch begin at multiples of this.
constexpr uint64_t align256(uint64_t n) { return (n + 255) / 256 * 256; }

/// Blocks that give each of `items` a thread, at most `most` of them (kernels loop with
/// grid_threads()).
inline uint32_t blocks_for(int64_t items, int threads, const GpuTraits& traits) {
  const int64_t wanted = (items + threads - 1) / threads,
                most = int64_t(traits.multiprocessors) * 16;
  return uint32_t(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/// Whether products on tensor cores multiply in f16: where it was asked for, and for `fast` where
/// there is no tf32.
inline bool is_in_f16(GpuPrecision precision, const GpuTraits& traits) {
  return precision == GpuPrecision::kFp16 || (traits.sm != 0 && traits.sm < 80);
}

/// Whether activations may lie in memory as f16 (runtime/device/gpu/f16_activations.h).
inline bool has_f16_activations(GpuPrecision precision, const GpuTraits& traits) {
  return precision == GpuPrecision::kFp16 && traits.has_tensor_cores();
}

/// For GpuKernelEntry::f16_operands: kernels that look at each operand's type.
inline uint64_t each_may_be_f16(const OpArguments&, const GpuTraits&) { return ~uint64_t{0}; }
/// Kernels that move elements of one width.
inline uint64_t all_or_none_f16(const OpArguments& a, const GpuTraits&) {
  for (int i = 0; i < a.input_count; i++)
    if (a.inputs[i].present() && a.inputs[i].dtype != DType::kF16) return 0;
  return a.outputs[0].dtype == DType::kF16 ? ~uint64_t{0} : 0;
}

template <class Params>
Status launch(const GpuWork& work, KernelId kernel, uint32_t grid_x, const Params& params,
              uint32_t shared_bytes = 0, uint32_t grid_y = 1, uint32_t grid_z = 1) {
  return work.sink.launch(work.sink.user, {uint16_t(kernel), grid_x, grid_y, grid_z, shared_bytes,
                                           &params, uint32_t(sizeof params)});
}

}  // namespace ingot::cuda
