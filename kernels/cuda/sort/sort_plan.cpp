// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/sort/sort_plan.cpp - TopK and CumSum.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kPairBytes = 16, kSharedPairs = 2048;

int64_t padded_of(int64_t k) {
  int64_t padded = 1;
  while (padded < k) padded *= 2;
  return padded;
}
/// Lines at once, where each needs room in memory.
int64_t topk_blocks(int64_t lines, const GpuTraits& traits) {
  const int64_t most = int64_t(traits.multiprocessors) * 2;
  return lines < most ? lines : most;
}
struct Lines {
  int64_t n, k, lines;
};
Lines lines_of(const OpArguments& a) {
  const TensorType& x = a.inputs[0];
  const int axis = int(a.as<TopKAttributes>().axis);
  const int64_t n = x.dims[axis];
  return {n, a.outputs[0].dims[axis], n > 0 ? x.elements() / n : 0};
}
uint64_t topk_scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision) {
  const Lines l = lines_of(a);
  const int64_t padded = padded_of(l.k);
  return padded <= kSharedPairs ? 0 : uint64_t(padded * kPairBytes * topk_blocks(l.lines, traits));
}

Status plan_topk(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TopKAttributes& t = a.as<TopKAttributes>();
  if (a.outputs[0].elements() == 0) return {};
  const Lines l = lines_of(a);
  TopKParams p = {};
  p.x = a.inputs[0].as<const char>();
  p.values = a.outputs[0].as<char>();
  p.indices = a.outputs[1].as<int64_t>();
  p.lines = l.lines;
  p.n = l.n;
  p.k = l.k;
  p.inner = fast_divisor(stride_of(a.inputs[0], int(t.axis)));
  p.room = reinterpret_cast<uint64_t*>(work.scratch);
  p.padded = padded_of(l.k);
  p.dtype = a.inputs[0].dtype;
  p.largest = t.largest;
  p.in_shared = p.padded <= kSharedPairs;
  if (!p.in_shared)
    return launch(work, KernelId::topk_lines, uint32_t(topk_blocks(l.lines, work.traits)), p);
  return launch(work, KernelId::topk_lines, blocks_for(l.lines, 1, work.traits), p,
                uint32_t(p.padded * kPairBytes));
}

Status plan_cumsum(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const CumSumAttributes& t = work.arguments->as<CumSumAttributes>();
  if (x.elements() == 0) return {};
  CumSumParams p = {};
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.n = x.dims[t.axis];
  p.lines = x.elements() / p.n;
  p.inner = fast_divisor(stride_of(x, int(t.axis)));
  p.dtype = x.dtype;
  p.exclusive = t.exclusive;
  p.reverse = t.reverse;
  const bool is_float = x.dtype == DType::kF32 || x.dtype == DType::kF16 || x.dtype == DType::kBF16;
  return launch(work, is_float ? KernelId::cumsum_f32 : KernelId::cumsum_any,
                blocks_for(p.lines, 64, work.traits), p);
}

constexpr GpuKernelEntry kSortTable[] = {
    {OpCode::kTopK, "topk", nullptr, topk_scratch, plan_topk},
    {OpCode::kCumSum, "cumsum", nullptr, nullptr, plan_cumsum}};

}  // namespace

const Span<const GpuKernelEntry> kSortRows = Span<const GpuKernelEntry>(kSortTable);

}  // namespace ingot::cuda
