// kernels/cuda/softmax/softmax.cuh - y = exp(x - max) * (1 / sum), or (x - max) - log(sum).
// Contract: runtime/op/softmax.h. Rows of up to 1024 elements are held by half a warp, longer ones
// take a block; along another dimension neighbouring columns are neighbouring threads with 16 sums
// each. Exponentials of long lines are made twice rather than stored.
#pragma once
#include "kernels/cuda/device/rows.cuh"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {

/// Both give the second where either is NaN, as the CPU's.
GPU_FN float larger(float a, float b) { return V::max(a, b); }

constexpr int kHeldRow = 1024;              // longest row that half a warp holds
constexpr int kHeldStride = kHeldRow + 16;  // the halves of a warp use different banks

/// Room for a row in shared memory. A lane reads there only what it wrote itself, so nothing waits.
template <int threads>
GPU_FN float* held_row() {
  GPU_SHARED_ARRAY(float, rows, [threads / kRowLanes][kHeldStride]);
  return rows[threadIdx.x / kRowLanes];
}
/// fn(i) for this lane's elements below n.
template <class Fn>
GPU_FN void each_held(int64_t n, Fn fn) {
  GPU_ROLLED for (int i = row_lane(); i < int(n); i += kRowLanes) fn(i);
}

template <class Load, class Store>
GPU_FN void softmax_held(float* row, int64_t n, bool log, Load load, Store store) {
  using Fn = cpu::Math<V>;
  float top = -__builtin_inff(), sum = 0;
  each_held(n, [&](int i) { top = larger(top, row[i] = load(i)); });
  top = join_lanes(top, larger);
  each_held(n, [&](int i) {
    const float e = Fn::exp_flush(row[i] - top);
    sum += e;
    row[i] = log ? row[i] - top : e;
  });
  sum = sum_lanes(sum);
  const float last = log ? Fn::log(sum) : 1.0f / sum;
  each_held(n, [&](int i) { store(i, log ? row[i] - last : row[i] * last); });
}

INGOT_GPU_KERNEL(softmax_rows, SoftmaxParams, 64) {
  float* held = held_row<64>();
  GPU_ROLLED for (int64_t row = grid_row(); row - row % 2 < p.lines; row += grid_rows()) {
    const int64_t x = row * p.x_line, y = row * p.y_line;
    softmax_held(
        held, row < p.lines ? p.n : 0, p.log,
        [&](int i) { return load_real(p.x_dtype, p.x, x + i); },
        [&](int i, float v) { store_real(p.y_dtype, p.y, y + i, v); });
  }
}

INGOT_GPU_KERNEL(softmax_long, SoftmaxParams, 256) {
  using Fn = cpu::Math<V>;
  GPU_SHARED(RowChunks, chunks);
  GPU_ROLLED for (int64_t row = blockIdx.x; row < p.lines; row += gridDim.x) {
    const int64_t x = row * p.x_line, y = row * p.y_line;
    const auto load = [&](int64_t i) { return load_real(p.x_dtype, p.x, x + i); };
    const float top = fold_block(&chunks, p.n, -__builtin_inff(), load, larger, larger);
    const float sum =
        sum_block(&chunks, p.n, [&](int64_t i) { return Fn::exp_flush(load(i) - top); });
    const float last = p.log ? Fn::log(sum) : 1.0f / sum;
    for (int64_t i = threadIdx.x; i < p.n; i += kLongThreads) {
      const float v = load(i) - top;
      store_real(p.y_dtype, p.y, y + i, p.log ? v - last : Fn::exp_flush(v) * last);
    }
  }
}

INGOT_GPU_KERNEL(softmax_columns, SoftmaxParams, 128) {
  using Fn = cpu::Math<V>;
  GPU_SHARED_ARRAY(float, lanes, [kRowLanes][128]);  // of each thread its own
  GPU_ROLLED for (int64_t line = grid_thread(); line < p.lines; line += grid_threads()) {
    uint64_t rest = uint64_t(line);
    const int64_t column = int64_t(take_remainder(&rest, p.columns)),
                  middle = int64_t(take_remainder(&rest, p.middle));
    const int64_t x = int64_t(rest) * p.x_outer + middle * p.x_middle + column;
    const int64_t y = int64_t(rest) * p.y_outer + middle * p.y_middle + column;
    const auto load = [&](int64_t i) { return load_real(p.x_dtype, p.x, x + i * p.x_axis); };
    float top = -__builtin_inff();
    GPU_ROLLED for (int64_t i = 0; i < p.n; i++) top = larger(top, load(i));
    for (int k = 0; k < kRowLanes; k++) lanes[k][threadIdx.x] = 0;
    GPU_ROLLED for (int64_t i = 0; i < p.n; i++) lanes[i % kRowLanes][threadIdx.x] +=
        Fn::exp_flush(load(i) - top);
    for (int half = kRowLanes / 2; half > 0; half /= 2)
      for (int k = 0; k < half; k++) lanes[k][threadIdx.x] += lanes[k + half][threadIdx.x];
    const float sum = lanes[0][threadIdx.x];
    const float last = p.log ? Fn::log(sum) : 1.0f / sum;
    GPU_ROLLED for (int64_t i = 0; i < p.n; i++) {
      const float v = load(i) - top;
      store_real(p.y_dtype, p.y, y + i * p.y_axis, p.log ? v - last : Fn::exp_flush(v) * last);
    }
  }
}

}  // namespace ingot::cuda
