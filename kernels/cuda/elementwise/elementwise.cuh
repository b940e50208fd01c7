// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/elementwise/elementwise.cuh - a chain of steps on one element a thread, in
// registers.
// Contract  runtime/op/elementwise.h. Order and special values are those of
//           kernels/cpu/elementwise; whole numbers wrap.
#pragma once
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/elementwise/elementwise_kernels.h"
#include "kernels/cuda/elementwise/vectorized.cuh"
#include "kernels/cuda/elementwise/steps.cuh"

namespace ingot::cuda {

/// Where element `i` of the output lies in an operand, in elements.
GPU_FN int64_t operand_offset(const ElementwiseParams& p, const GridOperand& o, int64_t i) {
  if (o.is_linear) return i;
  uint64_t rest = uint64_t(i);
  int64_t at = 0;
  GPU_ROLLED for (int d = p.rank - 1; d > 0; d--) at +=
      int64_t(take_remainder(&rest, p.by_dims[d])) * o.strides[d];
  return at + int64_t(rest) * o.strides[0];
}

/// Registers are the operands, then the results of the steps.
template <class T>
GPU_FN void run_chain(const ElementwiseParams& p) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    T registers[kMaxElementwiseInputs + kMaxElementwiseSteps];
    GPU_ROLLED for (int k = 0; k < p.inputs; k++) {
      const GridOperand& o = p.operands[k];
      registers[k] = load_as<T>(o.dtype, o.data, operand_offset(p, o, i));
    }
    T result = registers[0];
    GPU_ROLLED for (int s = 0; s < p.step_count; s++) {
      const ElementwiseStep& step = p.steps[s];
      const auto get = [&](uint8_t r) {
        return r == kConstantRegister ? from_float<T>(step.alpha) : registers[r];
      };
      const int arity = elementwise_arity(step.op);
      const T a = get(step.a), b = arity > 1 ? get(step.b) : a, c = arity > 2 ? get(step.c) : a;
      registers[p.inputs + s] = result = run_step(step, a, b, c);
    }
    const GridOperand& y = p.operands[p.inputs];
    store_as(y.dtype, y.data, operand_offset(p, y, i), result);
  }
}

INGOT_GPU_KERNEL(elementwise_f32, ElementwiseParams, 256) { run_chain<float>(p); }
INGOT_GPU_KERNEL(elementwise_f64, ElementwiseParams, 256) { run_chain<double>(p); }
INGOT_GPU_KERNEL(elementwise_i64, ElementwiseParams, 256) { run_chain<int64_t>(p); }
INGOT_GPU_KERNEL(elementwise_u64, ElementwiseParams, 256) { run_chain<uint64_t>(p); }

}  // namespace ingot::cuda
