// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/reduce.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_reduce(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kReduceContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const ReduceAttributes& t = a.as<ReduceAttributes>();
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (uint8_t(t.kind) > uint8_t(ReduceKind::kLogSumExp))
    return rules::refuse(v, "reduce.kind is known", Violation::kAttribute,
                         int64_t(ReduceKind::kLogSumExp), int64_t(t.kind));
  if (t.axes >> x.rank)
    return rules::refuse(v, "reduce.axes are below the rank", Violation::kAttribute, x.rank,
                         t.axes);
  if (!rules::is_reduced(x, t.axes, y))
    return rules::refuse(v, "reduce's output has the reduced dims", rules::output(0), x.rank,
                         y.rank);
  const bool real = rules::is_float(x.dtype) || x.dtype == DType::kF64;
  if (!real && (t.kind == ReduceKind::kLogSum || t.kind == ReduceKind::kLogSumExp))
    return rules::refuse(v, "a logarithm needs a floating-point type", 0, int64_t(DType::kF32),
                         int64_t(x.dtype));
  if (x.dtype == DType::kBool && t.kind != ReduceKind::kMax && t.kind != ReduceKind::kMin)
    return rules::refuse(v, "bool reduces by max or min only", 0, int64_t(ReduceKind::kMax),
                         int64_t(t.kind));
  return true;
}

bool check_arg_reduce(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kArgReduceContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const ArgReduceAttributes& t = a.as<ArgReduceAttributes>();
  if (t.axis >= x.rank)
    return rules::refuse(v, "arg_reduce.axis is below the rank", Violation::kAttribute, x.rank,
                         t.axis);
  if (!rules::is_index(y.dtype))
    return rules::refuse(v, "arg_reduce gives i64 or i32", rules::output(0), int64_t(DType::kI64),
                         int64_t(y.dtype));
  if (!rules::is_reduced(x, 1u << t.axis, y))
    return rules::refuse(v, "arg_reduce's output has the reduced dims", rules::output(0), x.rank,
                         y.rank);
  if (x.dims[t.axis] == 0 && y.elements() != 0)
    return rules::refuse(v, "arg_reduce's axis is not empty", 0, 1, 0);
  if (y.dtype == DType::kI32 && x.dims[t.axis] > INT32_MAX)
    return rules::refuse(v, "arg_reduce's index fits i32", 0, INT32_MAX, x.dims[t.axis]);
  return true;
}

}  // namespace

const OpContract kReduceContract = {OpCode::kReduce, 1,       1,       1, 1, 1,
                                    check_reduce,    nullptr, nullptr, 1, 0};
const OpContract kArgReduceContract = {OpCode::kArgReduce, 1,       1,       1, 1, 1,
                                       check_arg_reduce,   nullptr, nullptr, 1, 0};

}  // namespace ingot
