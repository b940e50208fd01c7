// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/linear/linear.inl - rows times constant panels. Contract: runtime/op/linear.h.
#pragma once
#include "kernels/cpu/gemm/gemm.inl"
#include "runtime/op/linear.h"

namespace ingot::cpu {
namespace {

inline bool linear_is_packed(const OpArguments& a) {
  const TensorView* bias = a.optional(2);
  return !linear_weights::has_quantized_weights(a) && a.inputs[1].packing == Packing::kPanels16 &&
         (!bias || bias->packing == Packing::kVector16);
}

inline bool linear_supports(const OpArguments& a) {
  return a.inputs[1].dtype == DType::kF32 && linear_is_packed(a);
}

/// All but the weights.
inline GemmJob linear_job(const OpArguments& a, Epilogue* epilogue) {
  const LinearAttributes& t = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  *epilogue = make_epilogue(t.activation, t.residual_first, residual);
  GemmJob g;
  g.a = x.as<float>(), g.a_stride = x.row_stride, g.k = x.row_length();
  g.bias = bias ? bias->as<float>() : nullptr, g.out = y.as<float>(), g.out_stride = y.row_stride,
  g.o = y.row_length();
  g.residual = residual ? residual->as<float>() : nullptr, g.epilogue = epilogue;
  return g;
}

template <class V>
Status linear_f32(const OpArguments& a, const Team& team) {
  if (a.outputs[0].elements() == 0) return {};
  Epilogue epilogue;
  GemmJob g = linear_job(a, &epilogue);
  g.weights = a.inputs[1].as<float>();
  gemm_team<V>(g, a.outputs[0].rows(), team, true);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
