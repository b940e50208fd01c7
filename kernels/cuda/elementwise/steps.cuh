// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/elementwise/steps.cuh - one step on one element, by the CPU's own functions.
#pragma once
#include "kernels/cuda/device/lane.h"
// Below lane.h.
#include "kernels/cpu/elementwise/steps_f32.inl"
#include "kernels/cpu/elementwise/steps_wide.inl"

namespace ingot::cuda {

GPU_FN float run_step(const ElementwiseStep& s, float a, float b, float c) {
  float out = a;
  cpu::tensors::run_step<V>(s, &a, &b, &c, &out, 1);
  return out;
}
GPU_FN double run_step(const ElementwiseStep& s, double a, double b, double c) {
  return cpu::tensors::step_f64<false>(s, a, b, c);
}
template <class T>
GPU_FN T run_step(const ElementwiseStep& s, T a, T b, T c) {
  if (s.op == ElementwiseOp::kSelect) return a != T(0) ? b : c;
  if (s.op == ElementwiseOp::kFma) return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
  return elementwise_arity(s.op) == 2 ? cpu::tensors::binary_whole(s.op, a, b)
                                      : cpu::tensors::unary_whole(s, a);
}

}  // namespace ingot::cuda
