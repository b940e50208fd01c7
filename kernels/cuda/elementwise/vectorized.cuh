// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/elementwise/vectorized.cuh - the chains that networks are full of: f32, f16 and
// bf16, usual steps, four neighbours a thread, every value in a register. A step is looked up once
// for four elements. Formulas are those of kernels/cpu/elementwise/steps_f32.inl; the plan sends
// here only what has a row in vectorized_functions.def.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/elementwise/elementwise_params.h"

namespace ingot::cuda {

struct alignas(16) Quad {
  float v[4];
};
struct alignas(8) HalfQuad {
  uint16_t v[4];
};

GPU_FN Quad load_quad(const VectorizedOperand& o, int64_t at) {
  Quad x;
  if (o.dtype == DType::kF32) {
    const float* from = reinterpret_cast<const float*>(o.data) + at;
    if (o.is_row) return *reinterpret_cast<const Quad*>(from);
    INGOT_UNROLL for (int i = 0; i < 4; i++) x.v[i] = *from;
    return x;
  }
  const uint16_t* from = reinterpret_cast<const uint16_t*>(o.data) + at;
  HalfQuad half;
  if (o.is_row)
    half = *reinterpret_cast<const HalfQuad*>(from);
  else
    half.v[0] = half.v[1] = half.v[2] = half.v[3] = *from;
  const bool is_f16 = o.dtype == DType::kF16;
  INGOT_UNROLL for (int i = 0; i < 4; i++) x.v[i] =
      is_f16 ? cpu::f16_to_f32(half.v[i]) : cpu::bf16_to_f32(half.v[i]);
  return x;
}
GPU_FN void store_quad(const VectorizedOperand& o, int64_t at, const Quad& y) {
  if (o.dtype == DType::kF32) {
    *reinterpret_cast<Quad*>(reinterpret_cast<float*>(o.data) + at) = y;
    return;
  }
  HalfQuad half;
  const bool is_f16 = o.dtype == DType::kF16;
  INGOT_UNROLL for (int i = 0; i < 4; i++) half.v[i] =
      is_f16 ? cpu::f32_to_f16(y.v[i]) : cpu::f32_to_bf16(y.v[i]);
  *reinterpret_cast<HalfQuad*>(reinterpret_cast<uint16_t*>(o.data) + at) = half;
}

template <class Step>
GPU_FN Quad each_of(Step step) {
  Quad y;
  INGOT_UNROLL for (int i = 0; i < 4; i++) y.v[i] = step(i);
  return y;
}

#define INGOT_VECTORIZED(op, expression) \
  case ElementwiseOp::op: return each_of([&](int i) { return expression; });

GPU_FN Quad vectorized_step(const ElementwiseStep& s, const Quad& a, const Quad& b, const Quad& c) {
  using Fn = cpu::Math<V>;
  switch (s.op) {
#include "kernels/cuda/elementwise/vectorized_functions.def"
    default: return a;
  }
}

INGOT_GPU_KERNEL(elementwise_vectorized, VectorizedParams, 256) {
  GPU_ROLLED for (int64_t g = grid_thread(); g < p.groups; g += grid_threads()) {
    uint32_t rest = uint32_t(g);
    const int64_t column = int64_t(take_remainder(&rest, p.last)) * 4,
                  row = int64_t(take_remainder(&rest, p.middle)), outer = int64_t(rest);
    const auto place = [&](const VectorizedOperand& o) {
      return outer * o.strides[0] + row * o.strides[1] + (o.is_row ? column : 0);
    };
    Quad last = {};
    const auto get = [&](const ElementwiseStep& s, uint8_t r) {
      if (r == kConstantRegister) return each_of([&](int) { return s.alpha; });
      if (int(r) >= p.inputs) return last;
      return load_quad(p.operands[r], place(p.operands[r]));
    };
    if (p.step_count == 0) last = load_quad(p.operands[0], place(p.operands[0]));
    GPU_ROLLED for (int k = 0; k < p.step_count; k++) {
      const ElementwiseStep& s = p.steps[k];
      const int arity = elementwise_arity(s.op);
      const Quad a = get(s, s.a), b = arity > 1 ? get(s, s.b) : a, c = arity > 2 ? get(s, s.c) : a;
      last = vectorized_step(s, a, b, c);
    }
    const VectorizedOperand& y = p.operands[p.inputs];
    store_quad(y, place(y), last);
  }
}

}  // namespace ingot::cuda
