// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/arg.cuh - ArgReduce: position of the largest or smallest, the first or the
// last of equals. A NaN is never better than anything, and nothing is better than a NaN at the
// start.
#pragma once
#include "kernels/cuda/reduce/fold.cuh"

namespace ingot::cuda {

template <class T>
struct Best {
  T value;
  int64_t index;
};
/// Whether b beats a. NaN beats nothing.
template <class T>
GPU_FN bool beats(const ArgReduceParams& p, const Best<T>& b, const Best<T>& a) {
  if (p.largest ? b.value > a.value : b.value < a.value) return true;
  return b.value == a.value && (p.select_last ? b.index > a.index : b.index < a.index);
}
GPU_FN void store_index(const ArgReduceParams& p, int64_t o, int64_t index) {
  if (p.is_wide)
    reinterpret_cast<int64_t*>(p.y)[o] = index;
  else
    reinterpret_cast<int32_t*>(p.y)[o] = int32_t(index);
}

/// A warp an output where elements are neighbours, else a thread, so that neighbours read
/// neighbouring elements.
template <class T>
GPU_FN void arg_reduce_of(const ArgReduceParams& p) {
  const int log = p.by_warp ? 5 : 0, lanes = 1 << log, lane = int(threadIdx.x) & (lanes - 1);
  const int64_t step = grid_threads() >> log;
  GPU_ROLLED for (int64_t o = grid_thread() >> log; o < p.outputs; o += step) {
    const int64_t base = walk_offset(p.kept, uint64_t(o));
    Best<T> best = {load_number<T>(p.dtype, p.x, base), 0};
    const bool is_nan = best.value != best.value;
    GPU_ROLLED for (int64_t i = lane; i < p.n; i += lanes) {
      const Best<T> other = {load_number<T>(p.dtype, p.x, base + i * p.stride), i};
      if (beats(p, other, best)) best = other;
    }
    if (p.by_warp) GPU_ROLLED for (int half = 16; half > 0; half /= 2) {
        const Best<T> other = {__shfl_xor_sync(~0u, best.value, half),
                               __shfl_xor_sync(~0u, best.index, half)};
        if (beats(p, other, best)) best = other;
      }
    if (lane == 0) store_index(p, o, is_nan ? 0 : best.index);
  }
}

INGOT_GPU_KERNEL(arg_reduce, ArgReduceParams, 128) {
  switch (p.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return arg_reduce_of<float>(p);
    case DType::kF64: return arg_reduce_of<double>(p);
    case DType::kU64: return arg_reduce_of<uint64_t>(p);
    default: return arg_reduce_of<int64_t>(p);
  }
}

}  // namespace ingot::cuda
