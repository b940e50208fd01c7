// SPDX-License-Identifier: Apache-2.0
// runtime/op/grouped_linear.cpp - the contract of the products of a mixture of experts.
#include "runtime/op/grouped_linear.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_dtype(const TensorType& t, int operand, DType dtype, Violation* v) {
  return t.dtype == dtype ||
         refuse(v, "operand has the type of its place", operand, int64_t(dtype), int64_t(t.dtype));
}

/// Elements of a row of x, and their type, for weights of `columns`.
bool row_of_x(const OpArguments& a, int64_t columns, int64_t* row, DType* dtype, Violation* v) {
  *row = columns, *dtype = DType::kF32;
  if (!grouped::has_blocks(a)) return true;
  const BlockType type = a.as<GroupedLinearAttributes>().type;
  if (int(type) >= kBlockTypes)
    return refuse(v, "the type of blocks is known", Violation::kAttribute, kBlockTypes - 1,
                  int64_t(type));
  const BlockFormat f = block_format(type);
  if (columns % f.bytes != 0)
    return refuse(v, "a row of weights has whole blocks", 1, f.bytes, columns);
  *row = block_weights::row_of_x(f, columns / f.bytes * f.unit);
  *dtype = block_weights::type_of_x(f);
  return true;
}

bool check_grouped_linear(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kGroupedLinearContract, {7, 1, 2}, v)) return false;
  const TensorType &x = a.inputs[0], &w = a.inputs[1], &ends = a.inputs[2], &y = a.outputs[0];
  const bool blocks = grouped::has_blocks(a);
  if (!check_dtype(w, 1, blocks ? DType::kU8 : DType::kF32, v) ||
      !check_dtype(y, rules::output(0), DType::kF32, v))
    return false;
  if (!rules::is_index(ends.dtype))
    return refuse(v, "ends are i32 or i64", 2, int64_t(DType::kI64), int64_t(ends.dtype));
  if (ends.rank != 1) return refuse(v, "ends are a row", 2, 1, ends.rank);
  if (x.rank != 2) return refuse(v, "grouped_linear takes rows", 0, 2, x.rank);
  uint64_t bytes = 0;
  if (w.rank != 2 || (!blocks && w.packing != Packing::kPanels16) || !storage_bytes(w, &bytes))
    return refuse(v, "weights are panels of all experts", 1, 2, w.rank);
  if (y.rank != 2 || y.dims[0] != x.dims[0])
    return refuse(v, "y has the rows of x", rules::output(0), x.dims[0], y.dims[0]);
  int64_t row = 0;
  DType dtype;
  if (!row_of_x(a, w.dims[1], &row, &dtype, v) || !check_dtype(x, 0, dtype, v)) return false;
  if (x.dims[1] != row) return refuse(v, "a row of x has what weights take", 0, row, x.dims[1]);
  const int64_t padded = round_up(int64_t{y.dims[1]}, blocks ? block_weights::kOutputs : kPanel);
  if (w.dims[0] != ends.dims[0] * padded)
    return refuse(v, "every expert has whole panels", 1, ends.dims[0] * padded, w.dims[0]);
  return true;
}

ScratchNeed grouped_linear_scratch(const OpArguments& a, int) {
  const bool expands = grouped::has_blocks(a) && a.outputs[0].rows() > 1;
  const BlockFormat f = block_format(a.as<GroupedLinearAttributes>().type);
  return {expands ? uint64_t(block_weights::expanded_bytes(f)) : 0, 0};
}

}  // namespace

bool grouped::has_blocks(const OpArguments& a) { return a.inputs[1].packing == Packing::kBlocks32; }

int64_t grouped::row_weights(const OpArguments& a) {
  if (!has_blocks(a)) return a.inputs[1].row_length();
  const BlockFormat f = block_format(a.as<GroupedLinearAttributes>().type);
  return a.inputs[1].row_length() / f.bytes * f.unit;
}

const OpContract kGroupedLinearContract = {
    OpCode::kGroupedLinear, 1,    3,   3, 1, 1, check_grouped_linear, nullptr,
    grouped_linear_scratch, 0x1u, 0x1u};

}  // namespace ingot
