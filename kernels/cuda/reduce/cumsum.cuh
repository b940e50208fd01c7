// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/cumsum.cuh - CumSum: one chain a line, as on the CPU. Lines side by side are
// neighbouring threads; rows go through shared memory in squares, so that memory is read along rows
// while a thread walks its own.
#pragma once
#include "kernels/cuda/device/rows.cuh"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {

/// Adds x to *sum; what goes to the output.
template <class T>
GPU_FN T sum_next(T* sum, T x, bool exclusive) {
  const T before = *sum;
  if constexpr (T(0.5) == T(0))
    *sum = T(uint64_t(before) + uint64_t(x));
  else
    *sum = before + x;
  return exclusive ? before : *sum;
}

template <class T>
GPU_FN void cumsum_columns_of(const CumSumParams& p) {
  const int64_t inner = p.inner.divisor;
  GPU_ROLLED for (int64_t line = grid_thread(); line < p.lines; line += grid_threads()) {
    uint64_t outer = uint64_t(line);
    const int64_t column = int64_t(take_remainder(&outer, p.inner)),
                  base = int64_t(outer) * p.n * inner + column;
    T sum = T(0);
    GPU_ROLLED for (int64_t i = 0; i < p.n; i++) {
      const int64_t at = base + (p.reverse ? p.n - 1 - i : i) * inner;
      store_number(p.dtype, p.y, at, sum_next(&sum, load_number<T>(p.dtype, p.x, at), p.exclusive));
    }
  }
}

constexpr int kCumSumThreads = 64;

GPU_FN void cumsum_rows_of(const CumSumParams& p) {
  GPU_SHARED_ARRAY(float, squares, [kCumSumThreads / 32][32][33]);
  auto* square = squares[threadIdx.x / 32];
  const int lane = int(threadIdx.x % 32);
  GPU_ROLLED for (int64_t first = grid_thread() / 32 * 32; first < p.lines;
                  first += grid_threads()) {
    const int rows = p.lines - first < 32 ? int(p.lines - first) : 32;
    float sum = 0;
    GPU_ROLLED for (int64_t begin = 0; begin < p.n; begin += 32) {
      const int64_t i = begin + lane, column = p.reverse ? p.n - 1 - i : i;
      if (i < p.n)
        GPU_ROLLED for (int r = 0; r < rows; r++) square[r][lane] =
            load_real(p.dtype, p.x, (first + r) * p.n + column);
      __syncwarp();
      const int count = p.n - begin < 32 ? int(p.n - begin) : 32;
      if (lane < rows)
        GPU_ROLLED for (int k = 0; k < count; k++) square[lane][k] =
            sum_next(&sum, square[lane][k], p.exclusive);
      __syncwarp();
      if (i < p.n)
        GPU_ROLLED for (int r = 0; r < rows; r++)
            store_real(p.dtype, p.y, (first + r) * p.n + column, square[r][lane]);
      __syncwarp();
    }
  }
}

INGOT_GPU_KERNEL(cumsum_f32, CumSumParams, 64) {
  if (p.inner.divisor == 1)
    cumsum_rows_of(p);
  else
    cumsum_columns_of<float>(p);
}
/// Rows of other types are mostly few and short: positions, lengths.
INGOT_GPU_KERNEL(cumsum_any, CumSumParams, 64) {
  if (p.dtype == DType::kF64)
    cumsum_columns_of<double>(p);
  else
    cumsum_columns_of<int64_t>(p);
}

}  // namespace ingot::cuda
