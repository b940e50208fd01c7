// kernels/cpu/linear/linear.inl - rows times constant panels. Contract: runtime/op/linear.h.
#pragma once
#include "kernels/cpu/gemm/gemm.inl"
#include "runtime/op/linear.h"

namespace ingot::cpu {
namespace {

inline bool linear_supports(const OpArguments& a) {
  const TensorView* bias = a.optional(2);
  return a.inputs[1].packing == Packing::kPanels16 &&
         (!bias || bias->packing == Packing::kVector16);
}

template <class V>
Status linear_f32(const OpArguments& a, const Team& team) {
  const LinearAttributes& t = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  if (y.elements() == 0) return {};
  const Epilogue epilogue = make_epilogue(t.activation, t.residual_first, residual);
  GemmJob g;
  g.a = x.as<float>(), g.a_stride = x.row_stride, g.k = x.row_length(),
  g.weights = a.inputs[1].as<float>();
  g.bias = bias ? bias->as<float>() : nullptr, g.out = y.as<float>(), g.out_stride = y.row_stride,
  g.o = y.row_length();
  g.residual = residual ? residual->as<float>() : nullptr, g.epilogue = &epilogue;
  gemm_team<V>(g, y.rows(), team, true);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
