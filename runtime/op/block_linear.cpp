// SPDX-License-Identifier: Apache-2.0
// runtime/op/block_linear.cpp - the contracts of products with weights in blocks.
#include "runtime/op/block_linear.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_type(BlockType type, Violation* v) {
  return int(type) < kBlockTypes || refuse(v, "the type of blocks is known", Violation::kAttribute,
                                           kBlockTypes - 1, int64_t(type));
}
bool check_dtype(const TensorType& t, int operand, DType dtype, Violation* v) {
  return t.dtype == dtype ||
         refuse(v, "operand has the type of its place", operand, int64_t(dtype), int64_t(t.dtype));
}

/// Weights of rows of whole blocks; how many weights a row has.
bool check_weights(const TensorType& w, int operand, const BlockFormat& f, int64_t* k,
                   Violation* v) {
  if (w.dtype != DType::kU8 || w.packing != Packing::kBlocks32)
    return refuse(v, "weights are u8 in blocks32", operand, int64_t(Packing::kBlocks32),
                  int64_t(w.packing));
  uint64_t bytes;
  if (w.rank != 2 || !storage_bytes(w, &bytes))
    return refuse(v, "weights are [O, bytes of a row]", operand, 2, w.rank);
  if (w.dims[1] % f.bytes != 0)
    return refuse(v, "a row of weights has whole blocks", operand, f.bytes, w.dims[1]);
  *k = w.dims[1] / f.bytes * f.unit;
  return true;
}
/// y has the dims of x but the last, which is `last`.
bool check_rows(const TensorType& x, const TensorType& y, int64_t last, Violation* v) {
  if (y.rank != x.rank) return refuse(v, "y has the rows of x", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < y.rank; i++) {
    const int64_t want = i + 1 < x.rank ? int64_t{x.dims[i]} : last;
    if (y.dims[i] != want)
      return refuse(v, "y has the rows of x", rules::output(0), want, y.dims[i]);
  }
  return true;
}

bool check_block_quantize(const OpArguments& a, Violation* v) {
  const BlockType type = a.as<BlockQuantizeAttributes>().type;
  if (!rules::check_operands(a, kBlockQuantizeContract, {}, v) || !check_type(type, v))
    return false;
  const BlockFormat f = block_format(type);
  if (f.is_float())
    return refuse(v, "f16 and bf16 take what is not quantized", Violation::kAttribute, 0,
                  int64_t(type));
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  if (!check_dtype(x, 0, DType::kF32, v) || !check_dtype(y, rules::output(0), DType::kU8, v))
    return false;
  if (x.rank < 1 || x.row_length() % f.unit != 0)
    return refuse(v, "a row of x has whole blocks", 0, f.unit, x.row_length());
  return check_rows(x, y, block_weights::quantized_row_bytes(f, x.row_length()), v);
}

bool check_block_linear(const OpArguments& a, Violation* v) {
  const BlockType type = a.as<BlockLinearAttributes>().type;
  if (!rules::check_operands(a, kBlockLinearContract, {3, 1, 2}, v) || !check_type(type, v))
    return false;
  const BlockFormat f = block_format(type);
  const TensorType &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  int64_t k = 0;
  if (!check_weights(w, 1, f, &k, v) || !check_dtype(x, 0, block_weights::type_of_x(f), v) ||
      !check_dtype(y, rules::output(0), DType::kF32, v))
    return false;
  const int64_t row = block_weights::row_of_x(f, k);
  if (x.rank < 1 || x.row_length() != row)
    return refuse(v, "a row of x is what the weights take", 0, row, x.row_length());
  if (!check_rows(x, y, w.dims[0], v)) return false;
  if (const TensorView* const bias = a.optional(2)) {
    if (!check_dtype(*bias, 2, DType::kF32, v)) return false;
    if (bias->rank != 1 || bias->dims[0] != w.dims[0])
      return refuse(v, "a bias is [O]", 2, w.dims[0], bias->elements());
  }
  const TensorView* const residual = a.optional(3);
  return !residual ||
         (check_dtype(*residual, 3, DType::kF32, v) && rules::check_same_dims(y, *residual, 3, v));
}
uint32_t block_linear_in_place(const OpArguments& a) {
  const TensorView* const residual = a.optional(3);
  return residual && rules::overlays(*residual, a.outputs[0]) ? 1u << 3 : 0u;
}
ScratchNeed block_linear_scratch(const OpArguments& a, int) {
  const BlockFormat f = block_format(a.as<BlockLinearAttributes>().type);
  return {a.outputs[0].rows() > 1 ? uint64_t(block_weights::expanded_bytes(f)) : 0, 0};
}

bool check_block_gather(const OpArguments& a, Violation* v) {
  const BlockType type = a.as<BlockGatherAttributes>().type;
  if (!rules::check_operands(a, kBlockGatherContract, {3, 1, 1}, v) || !check_type(type, v))
    return false;
  const TensorType &w = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  int64_t k = 0;
  if (!check_weights(w, 0, block_format(type), &k, v) ||
      !check_dtype(y, rules::output(0), DType::kF32, v))
    return false;
  if (!rules::is_index(indices.dtype))
    return refuse(v, "indices are i32 or i64", 1, int64_t(DType::kI64), int64_t(indices.dtype));
  if (y.rank != indices.rank + 1)
    return refuse(v, "y is [indices.., K]", rules::output(0), indices.rank + 1, y.rank);
  for (int i = 0; i < y.rank; i++) {
    const int64_t want = i < indices.rank ? int64_t{indices.dims[i]} : k;
    if (y.dims[i] != want)
      return refuse(v, "y is [indices.., K]", rules::output(0), want, y.dims[i]);
  }
  return true;
}

}  // namespace

const char* block_type_name(BlockType type) {
  static constexpr const char* kNames[kBlockTypes] = {"q4_0",   "q4_1",   "q5_0",  "q5_1", "q8_0",
                                                      "q4_k",   "q5_k",   "q6_k",  "q2_k", "q3_k",
                                                      "iq4_nl", "iq4_xs", "mxfp4", "f16",  "bf16"};
  return int(type) < kBlockTypes ? kNames[int(type)] : nullptr;
}

const OpContract kBlockQuantizeContract = {OpCode::kBlockQuantize, 1,       1,       1,    1,   1,
                                           check_block_quantize,   nullptr, nullptr, 0x1u, 0x0u};
const OpContract kBlockLinearContract = {
    OpCode::kBlockLinear, 1,    2,   4, 1, 1, check_block_linear, block_linear_in_place,
    block_linear_scratch, 0x8u, 0x1u};
const OpContract kBlockGatherContract = {OpCode::kBlockGather, 1,       2,       2,    1,   1,
                                         check_block_gather,   nullptr, nullptr, 0x0u, 0x1u};

}  // namespace ingot
