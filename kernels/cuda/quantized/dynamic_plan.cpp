// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/dynamic_plan.cpp - DynamicQuantize: how many warps or blocks have a group.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/quantized/dynamic_params.h"
#include "runtime/base/checked_math.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kPartElements = 8192, kMaxParts = 256;

struct DynamicExtents {
  int64_t groups, elements;  // elements of a group
};
DynamicExtents extents_of(const OpArguments& a) {
  const int64_t groups = a.outputs[1].dims[0];
  return {groups, groups ? a.inputs[0].elements() / groups : 0};
}

/// Of a group: more than one where groups alone leave multiprocessors idle.
int64_t parts_of(const DynamicExtents& e, const GpuTraits& traits) {
  const int64_t wanted = 2 * int64_t(traits.multiprocessors);
  if (e.groups == 0 || e.groups >= wanted) return 1;
  const int64_t most = ceil_div(wanted, e.groups), parts = ceil_div(e.elements, kPartElements);
  const int64_t least = most < kMaxParts ? most : kMaxParts;
  return parts < 1 ? 1 : parts < least ? parts : least;
}
uint64_t range_bytes(const DynamicExtents& e, int64_t parts) {
  return parts == 1 ? 0 : uint64_t(e.groups) * uint64_t(parts) * 2 * sizeof(float);
}
uint64_t scratch_dynamic(const OpArguments& a, const GpuTraits& traits, GpuPrecision) {
  const DynamicExtents e = extents_of(a);
  return range_bytes(e, parts_of(e, traits));
}
/// One block a group needs none.
uint64_t least_scratch_dynamic(const OpArguments&, const GpuTraits&, GpuPrecision) { return 0; }

Status plan_dynamic(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const DynamicExtents e = extents_of(*work.arguments);
  if (e.groups == 0) return {};
  DynamicQuantizeParams p = {};
  p.x = x.as<const float>(), p.y = y.as<uint8_t>();
  p.steps = work.arguments->outputs[1].as<float>();
  p.groups = e.groups, p.elements = e.elements;
  const bool is_flat = x.is_dense() && y.is_dense();
  const int64_t length = is_flat ? x.elements() : x.row_length();
  p.length = fast_divisor(length > 1 ? length : 1);
  p.x_row = is_flat ? 0 : int64_t{x.row_stride}, p.y_row = is_flat ? 0 : int64_t{y.row_stride};
  p.range = work.arguments->as<DynamicQuantizeAttributes>().range;
  p.by_warps = e.elements <= kWarpElements && e.groups > 1;
  if (p.by_warps)
    return launch(work, KernelId::dynamic_quantize,
                  blocks_for(e.groups * 32, kDynamicThreads, work.traits), p);
  p.parts = parts_of(e, work.traits);
  if (range_bytes(e, p.parts) > work.scratch_bytes) p.parts = 1;
  p.part = p.parts == 1 ? e.elements : ceil_div(e.elements, p.parts);
  const uint32_t groups = blocks_for(e.groups, 1, work.traits);
  if (p.parts > 1) {
    p.ranges = reinterpret_cast<float*>(work.scratch);
    p.phase = DynamicPhase::kRanges;
    INGOT_TRY(launch(work, KernelId::dynamic_quantize, groups, p, 0, uint32_t(p.parts)));
    p.phase = DynamicPhase::kBytes;
  }
  return launch(work, KernelId::dynamic_quantize, groups, p, 0, uint32_t(p.parts));
}

constexpr GpuKernelEntry kDynamicTable[] = {{OpCode::kDynamicQuantize,
                                             "dynamic_quantize",
                                             nullptr,
                                             scratch_dynamic,
                                             plan_dynamic,
                                             {},
                                             nullptr,
                                             least_scratch_dynamic}};

}  // namespace

const Span<const GpuKernelEntry> kDynamicQuantizeRows = Span<const GpuKernelEntry>(kDynamicTable);

}  // namespace ingot::cuda
