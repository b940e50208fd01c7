// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/dynamic.cuh - floats to bytes by what they hold: a group a warp, a block,
// or the blocks of two launches. Extremes are the same in any order, so bits are the CPU's.
// Contract: runtime/op/dynamic_quantize.h.
#pragma once
#include "kernels/cpu/quantized/dynamic_quant_params.inl"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/quantized/dynamic_params.h"
#include "kernels/cuda/quantized/numbers.cuh"

namespace ingot::cuda {

using cpu::GroupQuantParams;
using cpu::ValueRange;

GPU_FN void widen(ValueRange* range, float low, float high) {  // NaN is left out
  range->low = low < range->low ? low : range->low;
  range->high = high > range->high ? high : range->high;
}
/// Of all lanes of a warp; each gets it.
GPU_FN ValueRange range_of_warp(ValueRange range) {
  for (int apart = 1; apart < 32; apart *= 2) {
    const float low = __shfl_xor_sync(~0u, range.low, apart),
                high = __shfl_xor_sync(~0u, range.high, apart);
    widen(&range, low, high);
  }
  return range;
}
/// Of all threads of a block; each gets it.
GPU_FN ValueRange range_of_block(ValueRange range) {
  constexpr int kWarps = kDynamicThreads / 32;
  GPU_SHARED_ARRAY(float, ranges, [2][kWarps]);
  const int warp = int(threadIdx.x) / 32;
  if (threadIdx.x % 32 == 0) ranges[0][warp] = range.low, ranges[1][warp] = range.high;
  __syncthreads();
  GPU_ROLLED for (int i = 0; i < kWarps; i++) widen(&range, ranges[0][i], ranges[1][i]);
  __syncthreads();  // before the next group's
  return range;
}

/// Elements [begin, end) of all groups' elements: a part of `group`. A thread has every
/// `threads`th.
struct DynamicPart {
  int64_t group, begin, end;
  int threads;
};
GPU_FN int64_t place_in_rows(const DynamicQuantizeParams& p, int64_t at, int64_t row_stride) {
  uint64_t row = uint64_t(at);
  const int64_t column = int64_t(take_remainder(&row, p.length));
  return int64_t(row) * row_stride + column;
}
/// f(place in all elements, x) for this thread's numbers, some at a time, so that their loads are
/// under way together; those past the end are 0.
constexpr int kDynamicAhead = 4;
template <class F>
GPU_FN void each_of_part(const DynamicQuantizeParams& p, const DynamicPart& part, F f) {
  const int64_t step = part.threads * kDynamicAhead;
  GPU_ROLLED
  for (int64_t at = part.begin + int(threadIdx.x) % part.threads; at < part.end; at += step) {
    float x[kDynamicAhead];
    INGOT_UNROLL for (int i = 0; i < kDynamicAhead; i++) {
      const int64_t own = at + i * part.threads;
      x[i] = own < part.end ? p.x[place_in_rows(p, own, p.x_row)] : 0.0f;
    }
    f(at, x);
  }
}

GPU_CALLED uint32_t dynamic_byte(GroupQuantParams s, float x) {
  const float v = s.away ? x * s.factor : x / s.factor, number = v != v ? 0.0f : v,
              placed = s.away ? s.offset + number : number,
              step = V::max(V::min(placed, s.high), s.low);
  return uint32_t((s.away ? V::to_int(round_away(step)) : V::to_int_nearest(step)) + s.zero);
}

/// By its warp or block; of a phase that has the ranges of all parts from those.
GPU_FN ValueRange range_of_group(const DynamicQuantizeParams& p, const DynamicPart& part) {
  ValueRange range;
  if (p.phase == DynamicPhase::kBytes) {
    const float* const ranges = p.ranges + part.group * p.parts * 2;
    GPU_ROLLED for (int64_t i = threadIdx.x; i < p.parts; i += kDynamicThreads)
        widen(&range, ranges[2 * i], ranges[2 * i + 1]);
  } else {
    each_of_part(p, part, [&](int64_t, const float(&x)[kDynamicAhead]) {
      INGOT_UNROLL for (int i = 0; i < kDynamicAhead; i++) widen(&range, x[i], x[i]);
    });
  }
  range = range_of_warp(range);
  return p.by_warps ? range : range_of_block(range);
}

INGOT_GPU_KERNEL(dynamic_quantize, DynamicQuantizeParams, kDynamicThreads) {
  const int64_t apart = p.by_warps ? grid_threads() / 32 : int64_t(gridDim.x);
  GPU_ROLLED
  for (int64_t g = p.by_warps ? grid_thread() / 32 : blockIdx.x; g < p.groups; g += apart) {
    const int64_t begin = p.by_warps ? 0 : int64_t(blockIdx.y) * p.part,
                  end = p.by_warps || begin + p.part > p.elements ? p.elements : begin + p.part;
    const DynamicPart part = {g, g * p.elements + begin, g * p.elements + end,
                              p.by_warps ? 32 : kDynamicThreads};
    const ValueRange range = range_of_group(p, part);
    const bool is_first = int(threadIdx.x) % part.threads == 0;
    if (p.phase == DynamicPhase::kRanges) {
      float* const to = p.ranges + (g * p.parts + blockIdx.y) * 2;
      if (is_first) to[0] = range.low, to[1] = range.high;
      continue;
    }
    const GroupQuantParams s = cpu::group_quant_params(p.range, range);
    if (begin == 0 && is_first) p.steps[2 * g] = s.scale, p.steps[2 * g + 1] = s.zero_point;
    each_of_part(p, part, [&](int64_t at, const float(&x)[kDynamicAhead]) {
      INGOT_UNROLL for (int i = 0; i < kDynamicAhead; i++) {
        const int64_t own = at + i * part.threads;
        if (own < part.end) p.y[place_in_rows(p, own, p.y_row)] = uint8_t(dynamic_byte(s, x[i]));
      }
    });
  }
}

}  // namespace ingot::cuda
