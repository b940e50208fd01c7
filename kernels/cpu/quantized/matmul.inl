// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/matmul.inl - products of matrices of bytes: b goes into panels in the
// scratch, then rows of a as in a linear layer. Contract: runtime/op/quantized_matmul.h.
#pragma once
#include "kernels/cpu/quantized/linear.inl"
#include "runtime/op/quantized_matmul.h"

namespace ingot::cpu {
namespace {

/// One matrix [k][n], of trans [n][k], into panels16x4 less 128; the sum of each output's.
inline void pack_matrix(const uint8_t* b, bool trans, int64_t k, int64_t n, int8_t* panels,
                        int32_t* sums) {
  const int64_t depth = round_up(k, 4), outputs = round_up(n, kPanel);
  std::memset(panels, 0, size_t(depth * outputs));
  for (int64_t o = 0; o < outputs; o++) sums[o] = 0;
  const auto put = [&](int64_t o, int64_t c, uint8_t byte) {
    const int8_t less = int8_t(byte ^ 0x80);
    panels[o / kPanel * kPanel * depth + (c / 4 * kPanel + o % kPanel) * 4 + c % 4] = less;
    sums[o] += less;
  };
  if (trans) {
    for (int64_t o = 0; o < n; o++)
      for (int64_t c = 0; c < k; c++) put(o, c, b[o * k + c]);
  } else {
    for (int64_t c = 0; c < k; c++)
      for (int64_t o = 0; o < n; o++) put(o, c, b[c * n + o]);
  }
}

template <class V>
Status quantized_matmul(const OpArguments& a, const Team& team) {
  const QuantizedMatMulAttributes& t = a.as<QuantizedMatMulAttributes>();
  const TensorView &x = a.inputs[0], &b = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const int64_t m = x.dims[x.rank - 2], k = x.dims[x.rank - 1], n = y.dims[y.rank - 1],
                matrices = y.rows() / m, depth = round_up(k, 4), outputs = round_up(n, kPanel);
  quantized::MatMulScratch scratch;
  (void)quantized::matmul_scratch(k, n, &scratch);  // checked by the contract
  char* const memory = static_cast<char*>(team.scratch);
  int8_t* const panels = reinterpret_cast<int8_t*>(memory + scratch.panels);
  int32_t* const bias = reinterpret_cast<int32_t*>(memory + scratch.channels);
  int32_t *const multipliers = bias + outputs, *const shifts = multipliers + outputs;
  Requantization r;
  r.mode = t.requant;
  r.rows[0] = bias, r.rows[1] = multipliers, r.rows[2] = shifts;
  r.zero = int32_t(t.y_zero), r.low = int32_t(t.low), r.high = int32_t(t.high);
  r.w_zero = int32_t(t.b_zero) - 128;
  int32_t multiplier = t.multiplier;
  if (t.requant == RequantMode::kFloatEven) std::memcpy(&multiplier, &t.scale, sizeof multiplier);
  for (int64_t o = 0; o < outputs; o++) multipliers[o] = multiplier, shifts[o] = t.shift;
  r.in_vectors = fits_vectors(r, outputs);
  const Segment whole{0, 0};
  Int8TileShape shape;
  shape.segments = &whole, shape.segment_count = 1, shape.segment_length = depth;
  shape.panel_stride = depth * kPanel, shape.out_stride = n, shape.requantization = &r;
  // matrices where there are enough, else rows of each: then every member packs it
  const bool by_matrices = matrices >= team.size;
  const Range mine = by_matrices ? part(matrices, team.id, team.size) : Range{0, matrices},
              rows = by_matrices ? Range{0, m} : part(m, team.id, team.size);
  if (rows.count() <= 0) return {};
  TensorView matrix;
  matrix.dtype = DType::kU8, matrix.rank = 2, matrix.row_stride = k;
  matrix.dims[0] = m, matrix.dims[1] = k;
  for (int64_t i = mine.begin; i < mine.end; i++) {
    pack_matrix(b.as<const uint8_t>() + i * k * n, t.trans_b, k, n, panels, bias);
    for (int64_t o = 0; o < n; o++)
      bias[o] = int32_t(0u - t.a_zero * (uint32_t(bias[o]) - uint32_t(k) * uint32_t(r.w_zero)));
    matrix.data = x.as<uint8_t>() + i * m * k;
    multiply_int8_rows<V>(shape, matrix, nullptr, rows, {0, outputs / kPanel}, panels,
                          y.as<uint8_t>() + i * m * n, n, team.scratch);
  }
  return {};
}

}  // namespace
}  // namespace ingot::cpu
