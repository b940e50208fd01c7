// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_matmul.h"

#include "runtime/op/quantized_blocks.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

/// [..., rows, columns]; of b as its attribute says.
struct MatMulExtents {
  int64_t m = 0, k = 0, n = 0, inner_of_b = 0;
};
MatMulExtents extents_of(const OpArguments& a) {
  const TensorType &x = a.inputs[0], &w = a.inputs[1];
  const bool trans = a.as<QuantizedMatMulAttributes>().trans_b;
  const int64_t rows = w.dims[w.rank - 2], columns = w.dims[w.rank - 1];
  return {x.dims[x.rank - 2], x.dims[x.rank - 1], trans ? rows : columns, trans ? columns : rows};
}

bool check_numbers(const QuantizedMatMulAttributes& t, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  if (t.a_zero > 255) return refuse(v, "a_zero is a byte", kAttribute, 255, t.a_zero);
  if (t.b_zero > 255) return refuse(v, "b_zero is a byte", kAttribute, 255, t.b_zero);
  if (!quantized::check_requant(t.requant, DType::kU8, v)) return false;
  if (t.requant == RequantMode::kToFloat)
    return refuse(v, "quantized_mat_mul gives bytes", kAttribute, 3, int64_t(t.requant));
  if (t.requant == RequantMode::kFloatEven) {
    if (!(t.scale >= 1.17549435e-38f) || !(t.scale - t.scale == 0))
      return refuse(v, "a scale is a positive normal number", kAttribute);
  } else {
    if (t.scale != 0) return refuse(v, "the scale of fixed point is 0", kAttribute);
    if (t.multiplier < 0)
      return refuse(v, "a multiplier of fixed point is not negative", kAttribute, 0, t.multiplier);
    const int least = t.requant == RequantMode::kFixedOnce ? -30 : -31;
    if (t.shift < least || t.shift > 31)
      return refuse(v, "a shift of fixed point is in its range", kAttribute, 31, t.shift);
  }
  return quantized::check_output_steps(DType::kU8, t.y_zero, t.low, t.high, v);
}

bool check_quantized_matmul(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kQuantizedMatMulContract, {}, v)) return false;
  const TensorType* const all[3] = {&a.inputs[0], &a.inputs[1], &a.outputs[0]};
  for (int i = 0; i < 3; i++) {
    const int operand = i < 2 ? i : rules::output(0);
    if (all[i]->dtype != DType::kU8)
      return refuse(v, "quantized_mat_mul works on u8", operand, int64_t(DType::kU8),
                    int64_t(all[i]->dtype));
    if (all[i]->rank < 2) return refuse(v, "operands are matrices", operand, 2, all[i]->rank);
    if (all[i]->rank != all[0]->rank)
      return refuse(v, "same rank", operand, all[0]->rank, all[i]->rank);
    for (int d = 0; d + 2 < all[i]->rank; d++)
      if (all[i]->dims[d] != all[0]->dims[d])
        return refuse(v, "dimensions before the matrices are the same", operand, all[0]->dims[d],
                      all[i]->dims[d]);
  }
  const MatMulExtents e = extents_of(a);
  const TensorType& y = a.outputs[0];
  if (e.inner_of_b != e.k)
    return refuse(v, "b has a row for each column of a", 1, e.k, e.inner_of_b);
  if (y.dims[y.rank - 2] != e.m || y.dims[y.rank - 1] != e.n)
    return refuse(v, "y is [..., M, N]", rules::output(0), e.n, y.dims[y.rank - 1]);
  quantized::MatMulScratch scratch;
  if (!quantized::check_sum(e.k, 1, v)) return false;
  if (!quantized::matmul_scratch(e.k, e.n, &scratch))
    return refuse(v, "quantized_mat_mul's scratch is below 2^46 bytes", 1);
  return check_numbers(a.as<QuantizedMatMulAttributes>(), v);
}

ScratchNeed quantized_matmul_scratch(const OpArguments& a, int) {
  const MatMulExtents e = extents_of(a);
  quantized::MatMulScratch scratch;
  return {quantized::matmul_scratch(e.k, e.n, &scratch) ? scratch.bytes : 0, 0};
}

}  // namespace

namespace quantized {

bool matmul_scratch(int64_t k, int64_t n, MatMulScratch* out) {
  const uint64_t depth = uint64_t(round_up(k, 4)), outputs = uint64_t(round_up(n, kPanel));
  // rows are copied where K is no multiple of 4, which a smaller K may be
  out->panels = (uint64_t(kLinearRows) * (depth + kSlack + kLinearRowBytes) + 63) / 64 * 64;
  uint64_t panels = 0, channels = 0;
  if (!checked_mul(outputs, depth, &panels) || !checked_align(panels, 64, &panels) ||
      !checked_add(out->panels, panels, &out->channels) ||
      !checked_mul<uint64_t>(outputs, 3 * 4, &channels) ||
      !checked_add(out->channels, channels, &out->bytes))
    return false;
  return out->bytes < conv::kMaxScratchBytes;
}

}  // namespace quantized

const OpContract kQuantizedMatMulContract = {
    OpCode::kQuantizedMatMul, 1,  2, 2, 1, 1, check_quantized_matmul, nullptr,
    quantized_matmul_scratch, 0u, 0u};

}  // namespace ingot
