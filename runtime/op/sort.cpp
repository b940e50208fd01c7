// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/sort.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_topk(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kTopKContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &values = a.outputs[0], &indices = a.outputs[1];
  const uint32_t axis = a.as<TopKAttributes>().axis;
  if (!rules::is_numeric(x.dtype))
    return rules::refuse(v, "topk takes numbers", 0, int64_t(DType::kF32), int64_t(x.dtype));
  if (!rules::check_same_dtype(x, values, rules::output(0), v)) return false;
  if (indices.dtype != DType::kI64)
    return rules::refuse(v, "topk's indices are i64", rules::output(1), int64_t(DType::kI64),
                         int64_t(indices.dtype));
  if (axis >= x.rank)
    return rules::refuse(v, "topk.axis is below the rank", Violation::kAttribute, x.rank, axis);
  if (!rules::check_same_dims(values, indices, rules::output(1), v)) return false;
  if (values.rank != x.rank)
    return rules::refuse(v, "topk keeps the rank", rules::output(0), x.rank, values.rank);
  for (int i = 0; i < x.rank; i++) {
    if (i == int(axis) ? values.dims[i] > x.dims[i] : values.dims[i] != x.dims[i])
      return rules::refuse(v,
                           "topk's output is at most the input along the axis and equal elsewhere",
                           rules::output(0), x.dims[i], values.dims[i]);
  }
  return true;
}

/// The indices of the best k so far.
ScratchNeed topk_scratch(const OpArguments& a, int) {
  return {uint64_t(a.outputs[0].dims[a.as<TopKAttributes>().axis]) * sizeof(int64_t), 0};
}

bool check_cumsum(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kCumSumContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const uint32_t axis = a.as<CumSumAttributes>().axis;
  if (!rules::is_numeric(x.dtype))
    return rules::refuse(v, "cumsum takes numbers", 0, int64_t(DType::kF32), int64_t(x.dtype));
  if (axis >= x.rank)
    return rules::refuse(v, "cumsum.axis is below the rank", Violation::kAttribute, x.rank, axis);
  return rules::check_same_dtype(x, y, rules::output(0), v) &&
         rules::check_same_dims(x, y, rules::output(0), v);
}

}  // namespace

const OpContract kTopKContract = {OpCode::kTopK, 1, 1, 1, 2, 2, check_topk, nullptr,
                                  topk_scratch,  0, 0};
const OpContract kCumSumContract = {OpCode::kCumSum,       1,       1, 1, 1, 1, check_cumsum,
                                    rules::in_place_first, nullptr, 0, 0};

}  // namespace ingot
