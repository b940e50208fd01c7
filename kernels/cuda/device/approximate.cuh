// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/approximate.cuh - functions in an instruction or two, for kernels that owe
// nobody the bits of the CPU.
#pragma once
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

#if defined(__CUDACC__)
/// 2^x, off by 2 in the last place at most; 0 for minus infinity, subnormal results flushed.
GPU_FN float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// 1/x, off by 1 in the last place at most.
GPU_FN float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// The larger one; of a NaN and a number the number.
GPU_FN float larger(float a, float b) {
  float y;
  asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
#else
GPU_FN float fast_exp2(float x) { return x < -126.0f ? 0.0f : __builtin_exp2f(x); }
GPU_FN float fast_reciprocal(float x) { return 1.0f / x; }
GPU_FN float larger(float a, float b) { return a > b || b != b ? a : b; }
#endif

constexpr float kLog2E = 1.44269504f;

/// To an absolute error of 2^-22.
GPU_FN float fast_tanh(float x) {
  return 1.0f - 2.0f * fast_reciprocal(fast_exp2(x * (2 * kLog2E)) + 1.0f);
}

}  // namespace ingot::cuda
