// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/linear/half_linear.inl - rows times constant panels of halves. Contract:
// runtime/op/linear.h.
#pragma once
#include "kernels/cpu/gemm/half_job.inl"
#include "kernels/cpu/linear/linear.inl"

namespace ingot::cpu {
namespace {

template <class Format>
bool half_linear_supports(const OpArguments& a) {
  return a.as<LinearAttributes>().reduced_precision == Format::kPrecision && linear_in_halves(a) &&
         linear_is_packed(a) &&
         (a.inputs[1].dtype == DType::kBF16
              ? Format::kTakesBf16Weights
              : Format::pays(1, a.inputs[0].row_length(), a.outputs[0].row_length(),
                             a.outputs[0].rows())) &&
         Format::may_run();
}

template <class Format>
Status half_linear(const OpArguments& a, const Team& team) {
  Epilogue epilogue;
  const GemmJob g = linear_job(a, &epilogue);
  HalfJob j;
  j.a = g.a, j.a_stride = g.a_stride, j.c = g.k, j.weights = a.inputs[1].data;
  j.has_bf16_weights = a.inputs[1].dtype == DType::kBF16;
  j.bias = g.bias, j.out = g.out, j.out_stride = g.out_stride, j.o = g.o, j.residual = g.residual;
  j.epilogue = &epilogue, j.scratch = static_cast<char*>(team.scratch);
  const int64_t rows = a.outputs[0].rows();
  (void)half_products::blocks(1, j.c, rows, &j.blocks);  // checked by the contract
  half_gemm_team<Format>(j, rows, team);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
