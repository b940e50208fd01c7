// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/matmul/matmul.inl - product of two activations: b is packed into panels in the
// scratch, a few at a time, then rows of a stream over them; for one or two rows b is read where it
// lies. Contract: runtime/op/matmul.h.
#pragma once
#include "kernels/cpu/gemm/gemm.inl"
#include "kernels/cpu/gemm/pack.inl"
#include "runtime/op/matmul_blocks.h"

namespace ingot::cpu {
namespace {

struct MatMulJob {
  const MatMulAttributes* t = nullptr;
  matmul::Extents e;
  const float *a = nullptr, *b = nullptr;
  float* y = nullptr;
  int64_t a_stride = 0, b_stride = 0, y_stride = 0;
  float *panels = nullptr, *packed_rows = nullptr;  // scratch
};

/// y = alpha * y over rows x columns.
template <class V>
void scale_block(float* y, int64_t stride, Range rows, Range cols, float alpha) {
  if (alpha == 1.0f) return;
  const typename V::F factor = V::splat(alpha);
  for (int64_t r = rows.begin; r < rows.end; r++)
    for (int64_t c = cols.begin; c < cols.end; c += V::kLanes) {
      float* p = y + r * stride + c;
      const int64_t n = min_of(cols.end - c, V::kLanes);
      V::store_partial(p, V::mul(V::load_partial(p, n), factor), n);
    }
}

/// One row of y from rows of b as they lie: eight vectors of columns hide the latency of their
/// chains.
template <class V>
void matmul_row(const MatMulJob& j, int64_t row, Range cols) {
  using F = typename V::F;
  constexpr int kVecs = 8;
  const float* a = j.a + (j.t->trans_a ? row : row * j.a_stride);
  const int64_t a_step = j.t->trans_a ? j.a_stride : 1;
  int64_t c = cols.begin;
  for (; c + kVecs * V::kLanes <= cols.end; c += kVecs * V::kLanes) {
    F acc[kVecs];
    INGOT_UNROLL for (int v = 0; v < kVecs; v++) acc[v] = V::zero();
    const float* b = j.b + c;
    for (int64_t k = 0; k < j.e.k; k++, b += j.b_stride) {
      const F x = V::splat(a[k * a_step]);
      INGOT_UNROLL for (int v = 0; v < kVecs; v++) acc[v] =
          V::fma(x, V::load(b + v * V::kLanes), acc[v]);
    }
    INGOT_UNROLL for (int v = 0; v < kVecs; v++)
        V::store(j.y + row * j.y_stride + c + v * V::kLanes, acc[v]);
  }
  for (; c < cols.end; c += V::kLanes) {
    const int64_t n = min_of(cols.end - c, V::kLanes);
    F acc = V::zero();
    for (int64_t k = 0; k < j.e.k; k++)
      acc = V::fma(V::splat(a[k * a_step]), V::load_partial(j.b + k * j.b_stride + c, n), acc);
    V::store_partial(j.y + row * j.y_stride + c, acc, n);
  }
}

/// Rows x panels of one matrix.
template <class V>
void matmul_part(const MatMulJob& j, Range rows, Range panels) {
  if (rows.count() <= 0 || panels.count() <= 0) return;
  const Range cols{panels.begin * kPanel, min_of(panels.end * kPanel, j.e.n)};
  if (j.e.m <= 2 && !j.t->trans_b) {
    for (int64_t r = rows.begin; r < rows.end; r++) matmul_row<V>(j, r, cols);
    return scale_block<V>(j.y, j.y_stride, rows, cols, j.t->alpha);
  }
  const Epilogue plain;
  GemmJob g;
  g.k = j.e.k, g.weights = j.panels, g.out_stride = j.y_stride, g.epilogue = &plain;
  const int64_t block = matmul::panel_block(j.e);
  for (int64_t p = panels.begin; p < panels.end; p += block) {
    const Range some{p, min_of(p + block, panels.end)};
    const Range c{some.begin * kPanel, min_of(some.end * kPanel, j.e.n)};
    if (j.t->trans_b)
      pack_rows(j.b + c.begin * j.b_stride, c.count(), j.e.k, j.b_stride, j.panels);
    else
      pack_columns(j.b + c.begin, c.count(), j.e.k, j.b_stride, j.panels);
    g.o = c.count();
    if (!j.t->trans_a) {
      g.a = j.a, g.a_stride = j.a_stride, g.out = j.y + c.begin;
      gemm<V>(g, rows, {0, some.count()});
    } else {
      for (int64_t r = rows.begin; r < rows.end; r += matmul::kRowBlock) {
        const int64_t n = min_of(matmul::kRowBlock, rows.end - r);
        for (int64_t i = 0; i < n; i++)
          for (int64_t k = 0; k < j.e.k; k++)
            j.packed_rows[i * j.e.k + k] = j.a[k * j.a_stride + r + i];
        g.a = j.packed_rows, g.a_stride = j.e.k, g.out = j.y + r * j.y_stride + c.begin;
        gemm<V>(g, {0, n}, {0, some.count()});
      }
    }
    scale_block<V>(j.y, j.y_stride, rows, c, j.t->alpha);
  }
}

/// Which matrix of an operand belongs to matrix `batch` of y.
inline int64_t batch_matrix(const TensorView& t, const TensorView& y, int64_t batch) {
  int64_t at = 0, step = 1;
  for (int i = 3; i <= t.rank; i++) {
    const int64_t extent = y.dims[y.rank - i], own = t.dims[t.rank - i];
    at += (own == 1 ? 0 : batch % extent) * step;
    step *= own;
    batch /= extent;
  }
  return at;
}

template <class V>
Status matmul_f32(const OpArguments& g, const Team& team) {
  const TensorView &a = g.inputs[0], &b = g.inputs[1], &y = g.outputs[0];
  if (y.elements() == 0) return {};
  MatMulJob j;
  j.t = &g.as<MatMulAttributes>(), j.e = matmul::extents(*j.t, a, b);
  j.a_stride = a.row_stride, j.b_stride = b.row_stride, j.y_stride = y.row_stride;
  j.panels = static_cast<float*>(team.scratch),
  j.packed_rows = j.panels + matmul::panel_block(j.e) * kPanel * j.e.k;
  const int64_t batches = y.elements() / (j.e.m * j.e.n), panels = ceil_div(j.e.n, kPanel);
  Range mine{0, batches}, rows{0, j.e.m}, cut{0, panels};
  if (batches >= 2 * team.size || batches % team.size == 0)
    mine = part(batches, team.id, team.size);
  else if (panels >= team.size)
    cut = part(panels, team.id, team.size);
  else
    rows = part(j.e.m, team.id, team.size);
  for (int64_t i = mine.begin; i < mine.end; i++) {
    j.a = a.as<float>() + batch_matrix(a, y, i) * a.dims[a.rank - 2] * a.row_stride;
    j.b = b.as<float>() + batch_matrix(b, y, i) * b.dims[b.rank - 2] * b.row_stride;
    j.y = y.as<float>() + i * j.e.m * y.row_stride;
    matmul_part<V>(j, rows, cut);
  }
  return {};
}

}  // namespace
}  // namespace ingot::cpu
