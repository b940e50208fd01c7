// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/linear/grouped_linear.inl - f32 rows times the panels of their experts. Contract:
// runtime/op/grouped_linear.h.
#pragma once
#include "kernels/cpu/gemm/gemm.inl"
#include "kernels/cpu/gemm/groups.inl"
#include "runtime/op/grouped_linear.h"

namespace ingot::cpu {
namespace {

inline bool grouped_linear_supports(const OpArguments& a) { return !grouped::has_blocks(a); }

template <class V>
Status grouped_linear_f32(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const Epilogue epilogue = make_epilogue({}, false, nullptr);
  const int64_t expert_weights = round_up(int64_t{y.dims[1]}, kPanel) * w.dims[1];
  GemmJob g;
  g.a_stride = x.row_stride, g.k = w.dims[1], g.out_stride = y.row_stride, g.o = y.dims[1],
  g.epilogue = &epilogue;
  return for_groups(a, team, [&](int64_t expert, int64_t first, int64_t rows) {
    g.a = x.as<const float>() + first * g.a_stride;
    g.weights = w.as<const float>() + expert * expert_weights;
    g.out = y.as<float>() + first * g.out_stride;
    gemm_team<V>(g, rows, team, true);
  });
}

}  // namespace
}  // namespace ingot::cpu
