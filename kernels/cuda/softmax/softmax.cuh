// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/softmax/softmax.cuh - y = exp(x - max) * (1 / sum), or (x - max) - log(sum).
// Contract: runtime/op/softmax.h. Rows of up to 1024 elements are held by half a warp, longer ones
// take a block; along another dimension neighbouring columns are neighbouring threads with 16 sums
// each. Exponentials of long lines are made twice rather than stored. A thread has eight loads
// under way, which changes no order.
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
/// fn(i, load(i)) for this lane's elements below n.
template <int kAhead = kLoadsUnderWay, class Load, class Fn>
GPU_FN void each_of_row(int n, Load load, Fn fn) {
  each_loaded<kAhead>(row_lane(), n, kRowLanes, load, fn);
}
/// Of shared memory: as many as hide its latency, where fn is long.
constexpr int kHeldAhead = 4;

INGOT_GPU_KERNEL(softmax_rows, SoftmaxParams, 64) {
  using Fn = cpu::Math<V>;
  float* const held = held_row<64>();
  const auto of_held = [&](int i) { return held[i]; };
  GPU_ROLLED for (int64_t row = grid_row(); row - row % 2 < p.lines; row += grid_rows()) {
    const int64_t x = row * p.x_line, y = row * p.y_line;
    const int n = row < p.lines ? int(p.n) : 0;
    float top = -__builtin_inff(), sum = 0;
    each_of_row(
        n, [&](int i) { return load_bits(p.x_dtype, p.x, x + i); },
        [&](int i, uint32_t bits) { top = larger(top, held[i] = real_of(p.x_dtype, bits)); });
    top = join_lanes(top, larger);
    each_of_row<kHeldAhead>(n, of_held, [&](int i, float v) {
      const float e = Fn::exp_flush(v - top);
      sum += e;
      held[i] = p.log ? v - top : e;
    });
    sum = sum_lanes(sum);
    const float last = p.log ? Fn::log(sum) : 1.0f / sum;
    each_of_row<kHeldAhead>(n, of_held, [&](int i, float v) {
      store_real(p.y_dtype, p.y, y + i, p.log ? v - last : v * last);
    });
  }
}

INGOT_GPU_KERNEL(softmax_long, SoftmaxParams, 256) {
  using Fn = cpu::Math<V>;
  GPU_SHARED(RowChunks, chunks);
  GPU_ROLLED for (int64_t row = blockIdx.x; row < p.lines; row += gridDim.x) {
    const int64_t x = row * p.x_line, y = row * p.y_line;
    const auto load = [&](int64_t i) { return load_bits(p.x_dtype, p.x, x + i); };
    const auto real = [&](uint32_t bits) { return real_of(p.x_dtype, bits); };
    const float top = fold_block(&chunks, p.n, -__builtin_inff(), load, real, larger, larger);
    const float sum = sum_block(&chunks, p.n, load,
                                [&](uint32_t bits) { return Fn::exp_flush(real(bits) - top); });
    const float last = p.log ? Fn::log(sum) : 1.0f / sum;
    each_loaded<kHeldAhead>(int64_t{threadIdx.x}, p.n, kLongThreads, load, [&](int64_t i, uint32_t bits) {
      const float v = real(bits) - top;
      store_real(p.y_dtype, p.y, y + i, p.log ? v - last : Fn::exp_flush(v) * last);
    });
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
    // fn(i, x) for the column
    const auto each = [&](auto fn) {
      each_loaded<kHeldAhead>(
          int64_t{0}, p.n, 1,
          [&](int64_t i) { return load_bits(p.x_dtype, p.x, x + i * p.x_axis); },
          [&](int64_t i, uint32_t bits) { fn(i, real_of(p.x_dtype, bits)); });
    };
    float top = -__builtin_inff();
    each([&](int64_t, float v) { top = larger(top, v); });
    for (int k = 0; k < kRowLanes; k++) lanes[k][threadIdx.x] = 0;
    each([&](int64_t i, float v) { lanes[i % kRowLanes][threadIdx.x] += Fn::exp_flush(v - top); });
    for (int half = kRowLanes / 2; half > 0; half /= 2)
      for (int k = 0; k < half; k++) lanes[k][threadIdx.x] += lanes[k + half][threadIdx.x];
    const float sum = lanes[0][threadIdx.x];
    const float last = p.log ? Fn::log(sum) : 1.0f / sum;
    each([&](int64_t i, float x_i) {
      const float v = x_i - top;
      store_real(p.y_dtype, p.y, y + i * p.y_axis, p.log ? v - last : Fn::exp_flush(v) * last);
    });
  }
}

}  // namespace ingot::cuda
