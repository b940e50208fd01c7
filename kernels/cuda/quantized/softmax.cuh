// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/softmax.cuh - softmax of rows of integers by a table of exponentials, a
// row a warp. Contract: runtime/op/quantized_softmax.h.
#pragma once
#include "kernels/cpu/quantized/softmax_one.inl"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/quantized/numbers.cuh"

namespace ingot::cuda {

/// fn(i) for this lane's elements of a row.
template <class Fn>
GPU_FN void each_of_row(const QuantizedSoftmaxParams& p, Fn fn) {
  GPU_ROLLED for (int64_t i = threadIdx.x % 32; i < p.n; i += 32) fn(i);
}
GPU_FN int64_t sum_of_warp(int64_t sum) {
  for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  return sum;
}
GPU_FN int32_t largest_of_row(const QuantizedSoftmaxParams& p, int64_t x) {
  int32_t top = 0;
  each_of_row(p, [&](int64_t i) {
    const int32_t number = load_quantized(p.x, x + i, p.words);
    top = number > top ? number : top;
  });
  for (int apart = 1; apart < 32; apart *= 2) {
    const int32_t other = __shfl_xor_sync(~0u, top, apart);
    top = other > top ? other : top;
  }
  return top;
}
/// The contract's one chain of f32: every lane adds the numbers of all lanes in their order.
GPU_FN float chain_of_row(const QuantizedSoftmaxParams& p, const float* e, int64_t x) {
  const uint8_t* row = static_cast<const uint8_t*>(p.x) + x;
  const int lane = int(threadIdx.x) % 32;
  float sum = 0;
  GPU_ROLLED for (int64_t first = 0; first < p.n; first += 32) {
    const float mine = first + lane < p.n ? e[row[first + lane]] : 0.0f;
    const int count = p.n - first < 32 ? int(p.n - first) : 32;
    GPU_UNROLL_BY(8)
    for (int i = 0; i < 32; i++) {
      const float next = __shfl_sync(~0u, mine, i);
      if (i < count) sum += next;
    }
  }
  return sum;
}
GPU_FN int32_t real_step(const QuantizedSoftmaxParams& p, float product) {
  const float limited = V::max(V::min(product, 65536.0f), -65536.0f);
  return V::to_int(p.add_half ? limited + 0.5f : round_away(limited));
}

INGOT_GPU_KERNEL(quantized_softmax, QuantizedSoftmaxParams, 128) {
  GPU_ROLLED for (int64_t row = grid_thread() / 32; row < p.rows; row += grid_threads() / 32) {
    const int64_t x = row * p.x_row, y = row * p.y_row;
    const int32_t first = p.most - largest_of_row(p, x);
    const auto store = [&](int64_t i, int64_t step) {
      const int64_t low = p.y_words ? -32768 : 0, high = p.y_words ? 32767 : 255,
                    q = step + p.y_zero;
      const int64_t number = q < low ? low : q > high ? high : q;
      if (p.y_words)
        static_cast<int16_t*>(p.y)[y + i] = int16_t(number);
      else
        static_cast<uint8_t*>(p.y)[y + i] = uint8_t(number);
    };
    const auto at = [&](int64_t i) { return first + load_quantized(p.x, x + i, p.words); };
    int64_t sum = 0;
    if (p.words) {
      const int16_t* e = static_cast<const int16_t*>(p.table);
      each_of_row(p, [&](int64_t i) { sum += e[at(i)] > 0 ? e[at(i)] : 0; });
      const cpu::Int16Reciprocal r =
          cpu::int16_reciprocal(e + kInt16Exponentials, sum_of_warp(sum));
      each_of_row(
          p, [&](int64_t i) { static_cast<int16_t*>(p.y)[y + i] = cpu::int16_step(r, e[at(i)]); });
    } else if (p.is_real) {
      const float* e = static_cast<const float*>(p.table) + first;
      const float r = 1.0f / (chain_of_row(p, e, x) * p.scale);
      each_of_row(
          p, [&](int64_t i) { store(i, real_step(p, e[load_quantized(p.x, x + i, false)] * r)); });
    } else {
      const int32_t* e = static_cast<const int32_t*>(p.table);
      each_of_row(p, [&](int64_t i) { sum += cpu::fixed_term(e[at(i)]); });
      const cpu::FixedReciprocal r = cpu::fixed_reciprocal(sum_of_warp(sum));
      each_of_row(p,
                  [&](int64_t i) { store(i, cpu::fixed_step(r, p.y_words ? 16 : 8, e[at(i)])); });
    }
  }
}

}  // namespace ingot::cuda
