// SPDX-License-Identifier: Apache-2.0
// runtime/op/matmul.cpp - the contract of a product of two activations.
#include "runtime/op/matmul.h"

#include "runtime/op/conv_rules.h"
#include "runtime/op/matmul_blocks.h"

namespace ingot {
namespace {

using rules::refuse;

/// Extent of batch dimension i of y, counted from the last batch dimension, in a tensor of that
/// rank.
int64_t batch_dim(const TensorType& t, int i) {
  return i < t.rank - 2 ? int64_t{t.dims[t.rank - 3 - i]} : 1;
}

bool check_matmul(const OpArguments& g, Violation* v) {
  if (!rules::check_operands(g, kMatMulContract, {}, v) || !conv::check_f32(g, v)) return false;
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  const TensorType &a = g.inputs[0], &b = g.inputs[1], &y = g.outputs[0];
  if (a.rank < 2) return refuse(v, "matmul's operands are matrices", 0, 2, a.rank);
  if (b.rank < 2) return refuse(v, "matmul's operands are matrices", 1, 2, b.rank);
  const int rank = a.rank > b.rank ? a.rank : b.rank;
  if (y.rank != rank)
    return refuse(v, "matmul's y has the larger rank", rules::output(0), rank, y.rank);
  const matmul::Extents e = matmul::extents(t, a, b);
  const int64_t b_k = b.dims[b.rank - (t.trans_b ? 1 : 2)];
  if (b_k != e.k) return refuse(v, "matmul's inner dimensions agree", 1, e.k, b_k);
  if (y.dims[rank - 2] != e.m)
    return refuse(v, "matmul's y is [..., M, N]", rules::output(0), e.m, y.dims[rank - 2]);
  if (y.dims[rank - 1] != e.n)
    return refuse(v, "matmul's y is [..., M, N]", rules::output(0), e.n, y.dims[rank - 1]);
  for (int i = 0; i < rank - 2; i++) {
    const int64_t p = batch_dim(a, i), q = batch_dim(b, i), want = p == 1 ? q : p;
    if (q != 1 && q != want) return refuse(v, "matmul's batch dimensions broadcast", 1, want, q);
    if (batch_dim(y, i) != want)
      return refuse(v, "matmul's y has the broadcast batch", rules::output(0), want,
                    batch_dim(y, i));
  }
  int64_t panels = 0, rows = 0;
  if (!matmul::scratch_elements(t, e, &panels, &rows))
    return refuse(v, "matmul's scratch is below 2^46 bytes", Violation::kAttribute);
  return true;
}

ScratchNeed matmul_scratch(const OpArguments& g, int) {
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  int64_t panels = 0, rows = 0;
  if (g.outputs[0].elements() == 0 ||
      !matmul::scratch_elements(t, matmul::extents(t, g.inputs[0], g.inputs[1]), &panels, &rows))
    return {};
  return {uint64_t(round_up((panels + rows) * 4, 64)), 0};
}

ScratchNeed matmul_scratch_bound(const OpArguments& g, int) {
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  int64_t panels = 0, rows = 0;
  if (g.outputs[0].elements() == 0 ||
      !matmul::scratch_elements_bound(t, matmul::extents(t, g.inputs[0], g.inputs[1]), &panels,
                                      &rows))
    return {};
  return {uint64_t(round_up((panels + rows) * 4, 64)), 0};
}

}  // namespace

const OpContract kMatMulContract = {OpCode::kMatMul,
                                    1,
                                    2,
                                    2,
                                    1,
                                    1,
                                    check_matmul,
                                    nullptr,
                                    matmul_scratch,
                                    0x3u,
                                    0x1u,
                                    rules::for_rebinding(matmul_scratch_bound)};

}  // namespace ingot
