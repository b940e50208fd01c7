// SPDX-License-Identifier: Apache-2.0
// runtime/op/linear.cpp - the contract of a product with constant weights.
#include "runtime/op/linear.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/conv_rules.h"
#include "runtime/op/half_products.h"

namespace ingot {
namespace {

using rules::refuse;

/// x, bias, residual, scales and y; the weights have types of their own.
bool check_floats(const OpArguments& a, Violation* v) {
  const int floats[] = {0, 2, 3, linear_weights::kScales};
  for (const int i : floats)
    if (const TensorView* operand = a.optional(i); operand && operand->dtype != DType::kF32)
      return refuse(v, "operand is f32", i, int64_t(DType::kF32), int64_t(operand->dtype));
  if (a.outputs[0].dtype != DType::kF32)
    return refuse(v, "output is f32", rules::output(0), int64_t(DType::kF32),
                  int64_t(a.outputs[0].dtype));
  return true;
}

bool check_float_weights(const OpArguments& a, int64_t k, Violation* v) {
  const TensorType& w = a.inputs[1];
  if (w.dtype != DType::kF32)
    return refuse(v, "weights without scales are f32", 1, int64_t(DType::kF32), int64_t(w.dtype));
  if (a.optional(linear_weights::kZeros) || a.as<LinearAttributes>().block != 0)
    return refuse(v, "zeros and blocks are those of weights with scales", linear_weights::kScales);
  const int64_t dims[2] = {w.dims[0], k};
  return conv::check_weights(w, 1, Packing::kPanels16, dims, 2, v);
}

bool check_quantized_weights(const OpArguments& a, int64_t k, Violation* v) {
  const TensorType& w = a.inputs[1];
  const uint32_t block = a.as<LinearAttributes>().block;
  if (w.dtype != DType::kI8 && w.dtype != DType::kU8)
    return refuse(v, "weights with scales are i8, or u8 of 4 bits", 1, int64_t(DType::kI8),
                  int64_t(w.dtype));
  const bool halves = w.dtype == DType::kU8;
  if (block % 8 != 0 || block > linear_weights::kMaxBlock)
    return refuse(v, "a block is a multiple of 8, at most 2^30", Violation::kAttribute,
                  linear_weights::kMaxBlock, block);
  const int64_t dims[2] = {w.dims[0], halves ? ceil_div(k, 2) : k},
                scales[2] = {w.dims[0], linear_weights::block_count(block, k)};
  if (!conv::check_weights(w, 1, halves ? Packing::kPanels16x4 : Packing::kPanels16, dims, 2, v) ||
      !conv::check_weights(a.inputs[linear_weights::kScales], linear_weights::kScales,
                           Packing::kPanels16, scales, 2, v))
    return false;
  const TensorView* zeros = a.optional(linear_weights::kZeros);
  if (zeros && zeros->dtype != DType::kI8)
    return refuse(v, "zeros are i8", linear_weights::kZeros, int64_t(DType::kI8),
                  int64_t(zeros->dtype));
  return !zeros ||
         conv::check_weights(*zeros, linear_weights::kZeros, Packing::kPanels16, scales, 2, v);
}

bool check_linear(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kLinearContract, {0x3u, 1u, 0x36u}, v) || !check_floats(a, v))
    return false;
  const TensorType &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (x.rank < 1) return refuse(v, "linear's x has a last dimension", 0, 1, 0);
  if (w.rank != 2) return refuse(v, "linear's weights are [O, K]", 1, 2, w.rank);
  if (!conv::check_epilogue(a.as<LinearAttributes>().activation, v)) return false;
  const int64_t k = x.dims[x.rank - 1];
  if (!(linear_weights::has_quantized_weights(a) ? check_quantized_weights(a, k, v)
                                                 : check_float_weights(a, k, v)) ||
      !conv::check_bias(a.optional(2), 2, w.dims[0], v))
    return false;
  if (y.rank != x.rank)
    return refuse(v, "linear's y is [..., O]", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < y.rank; i++) {
    const int64_t want = i + 1 < x.rank ? x.dims[i] : w.dims[0];
    if (y.dims[i] != want)
      return refuse(v, "linear's y is [..., O]", rules::output(0), want, y.dims[i]);
  }
  if (const TensorView* residual = a.optional(3))
    if (!rules::check_same_dims(y, *residual, 3, v)) return false;
  return true;
}

uint32_t linear_in_place(const OpArguments& a) {
  const TensorView* residual = a.optional(3);
  return residual && rules::overlays(*residual, a.outputs[0]) ? 1u << 3 : 0u;
}

/// With more than one row panels of quantized weights are expanded to f32, and read by all of them.
ScratchNeed linear_scratch(const OpArguments& a, int) {
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  half_products::Blocks blocks;
  if (linear_in_halves(a))
    return half_products::blocks(1, x.row_length(), y.rows(), &blocks)
               ? ScratchNeed{blocks.bytes, 0}
               : ScratchNeed{UINT64_MAX, 0};
  if (!linear_weights::has_quantized_weights(a) || y.rows() <= 1 || y.row_length() == 0) return {};
  constexpr uint64_t kBytes = uint64_t(linear_weights::kExpandedPanels) * kPanel * sizeof(float);
  uint64_t bytes = 0;
  if (!checked_mul(uint64_t(x.row_length()), kBytes, &bytes)) bytes = UINT64_MAX;
  return {bytes, 0};
}

}  // namespace

bool linear_in_halves(const OpArguments& a) {
  return is_rounded(a.as<LinearAttributes>().reduced_precision) &&
         !linear_weights::has_quantized_weights(a) &&
         half_products::pays(
             a.inputs[0].row_length(), a.outputs[0].row_length(),
             a.inputs[1].dtype == DType::kBF16 ? half_products::kRows : a.outputs[0].rows());
}

int64_t linear_weights::block_count(uint32_t block, int64_t k) {
  return block ? ceil_div(k, block) : 1;
}

const OpContract kLinearContract = {
    OpCode::kLinear, 1, 2, 6, 1, 1, check_linear, linear_in_place, linear_scratch, 0x9u, 0x1u};

}  // namespace ingot
