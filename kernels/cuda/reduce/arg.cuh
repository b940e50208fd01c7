// kernels/cuda/reduce/arg.cuh - ArgReduce: position of the largest or smallest, the first or the last of equals. A NaN is never better
// than anything, and nothing is better than a NaN at the start.
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

/// A thread an output: neighbours read neighbouring elements.
template <class T>
GPU_FN void arg_columns(const ArgReduceParams& p) {
  GPU_ROLLED for (int64_t o = grid_thread(); o < p.outputs; o += grid_threads()) {
    const int64_t base = walk_offset(p.kept, o);
    Best<T> best = {load_number<T>(p.dtype, p.x, base), 0};
    GPU_ROLLED for (int64_t i = 1; i < p.n; i++) {
      const Best<T> other = {load_number<T>(p.dtype, p.x, base + i * p.stride), i};
      if (beats(p, other, best)) best = other;
    }
    store_index(p, o, best.index);
  }
}
/// A warp an output.
template <class T>
GPU_FN void arg_rows(const ArgReduceParams& p) {
  const int lane = int(threadIdx.x % 32);
  GPU_ROLLED for (int64_t o = grid_thread() / 32; o < p.outputs; o += grid_threads() / 32) {
    const int64_t base = walk_offset(p.kept, o);
    Best<T> best = {load_number<T>(p.dtype, p.x, base), 0};
    const bool is_nan = best.value != best.value;
    GPU_ROLLED for (int64_t i = lane; i < p.n; i += 32) {
      const Best<T> other = {load_number<T>(p.dtype, p.x, base + i * p.stride), i};
      if (beats(p, other, best)) best = other;
    }
    GPU_ROLLED for (int step = 16; step > 0; step /= 2) {
      const Best<T> other = {__shfl_xor_sync(~0u, best.value, step), __shfl_xor_sync(~0u, best.index, step)};
      if (beats(p, other, best)) best = other;
    }
    if (lane == 0) store_index(p, o, is_nan ? 0 : best.index);
  }
}

template <bool rows, class T>
GPU_FN void arg_reduce(const ArgReduceParams& p) {
  if constexpr (rows)
    arg_rows<T>(p);
  else
    arg_columns<T>(p);
}
template <bool rows>
GPU_FN void arg_reduce_any(const ArgReduceParams& p) {
  switch (p.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return arg_reduce<rows, float>(p);
    case DType::kF64: return arg_reduce<rows, double>(p);
    case DType::kU64: return arg_reduce<rows, uint64_t>(p);
    default: return arg_reduce<rows, int64_t>(p);
  }
}
INGOT_GPU_KERNEL(arg_reduce_columns, ArgReduceParams, 128) { arg_reduce_any<false>(p); }
INGOT_GPU_KERNEL(arg_reduce_rows, ArgReduceParams, 128) { arg_reduce_any<true>(p); }

}  // namespace ingot::cuda
