// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/products.cpp - linear and matmul by their definition.
#include "kernels/cpu/oracle/activation.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/weights.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul_blocks.h"

namespace ingot::cpu::oracle {
namespace {

/// A number of quantized weights, as it lies: [O, k], two of 4 bits in a byte.
double quantized_weight(const TensorView& w, int64_t o, int64_t k) {
  const bool halves = w.dtype == DType::kU8;
  const int64_t column = halves ? k / 2 : k, columns = w.dims[1];
  int64_t at = o * columns + column;
  if (w.packing == Packing::kPanels16) at = (o / kPanel * columns + column) * kPanel + o % kPanel;
  if (w.packing == Packing::kPanels16x4)
    at = ((o / kPanel * ((columns + 3) / 4) + column / 4) * kPanel + o % kPanel) * 4 + column % 4;
  if (!halves) return w.as<int8_t>()[at];
  const int nibble = w.as<uint8_t>()[at] >> (k % 2 * 4) & 15;
  return nibble < 8 ? nibble : nibble - 16;
}

double weight_of(const OpArguments& a, int64_t o, int64_t k) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1];
  const TensorView *scales = a.optional(linear_weights::kScales),
                   *zeros = a.optional(linear_weights::kZeros);
  if (!scales) return weight(w, o, 0, k, 1, x.row_length());
  const uint32_t block = a.as<LinearAttributes>().block;
  const int64_t at = block ? k / block : 0, blocks = scales->dims[1];
  const double zero = zeros ? quantized_weight(*zeros, o, at) : 0;
  return (quantized_weight(w, o, k) - zero) * weight(*scales, o, 0, at, 1, blocks);
}

}  // namespace

Status linear(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const LinearAttributes& t = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  for (int64_t m = 0; m < y.rows(); m++)
    for (int64_t o = 0; o < y.row_length(); o++) {
      double sum = bias_of(bias, o);
      for (int64_t k = 0; k < x.row_length(); k++)
        sum += double(x.as<float>()[m * x.row_stride + k]) * weight_of(a, o, k);
      const double r = residual ? double(residual->as<float>()[m * residual->row_stride + o]) : 0.0;
      y.as<float>()[m * y.row_stride + o] = float(epilogue(t.activation, t.residual_first, sum, r));
    }
  return {};
}

Status mat_mul(const OpArguments& g, const Team& team) {
  if (team.id != 0) return {};
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  const TensorView &a = g.inputs[0], &b = g.inputs[1], &y = g.outputs[0];
  const matmul::Extents e = matmul::extents(t, a, b);
  if (y.elements() == 0) return {};
  const int64_t batches = y.elements() / (e.m * e.n);
  for (int64_t batch = 0; batch < batches; batch++) {
    // matrices of a and b for this one of y
    int64_t rest = batch, a_at = 0, b_at = 0, a_step = 1, b_step = 1;
    for (int i = 3; i <= y.rank; i++) {
      const int64_t extent = y.dims[y.rank - i], at = rest % extent;
      rest /= extent;
      if (i <= a.rank)
        a_at += (a.dims[a.rank - i] == 1 ? 0 : at) * a_step, a_step *= a.dims[a.rank - i];
      if (i <= b.rank)
        b_at += (b.dims[b.rank - i] == 1 ? 0 : at) * b_step, b_step *= b.dims[b.rank - i];
    }
    const float* pa = a.as<float>() + a_at * a.dims[a.rank - 2] * a.row_stride;
    const float* pb = b.as<float>() + b_at * b.dims[b.rank - 2] * b.row_stride;
    for (int64_t m = 0; m < e.m; m++)
      for (int64_t n = 0; n < e.n; n++) {
        double sum = 0;
        for (int64_t k = 0; k < e.k; k++)
          sum += double(t.trans_a ? pa[k * a.row_stride + m] : pa[m * a.row_stride + k]) *
                 double(t.trans_b ? pb[n * b.row_stride + k] : pb[k * b.row_stride + n]);
        y.as<float>()[(batch * e.m + m) * y.row_stride + n] = float(sum * double(t.alpha));
      }
  }
  return {};
}

}  // namespace ingot::cpu::oracle
