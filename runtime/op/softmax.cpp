// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/softmax.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_softmax(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kSoftmaxContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const SoftmaxAttributes& t = a.as<SoftmaxAttributes>();
  if (!rules::is_float(x.dtype))
    return rules::refuse(v, "softmax takes f32, f16 or bf16", 0, int64_t(DType::kF32),
                         int64_t(x.dtype));
  if (!rules::check_same_dtype(x, y, rules::output(0), v) ||
      !rules::check_same_dims(x, y, rules::output(0), v))
    return false;
  if (t.axis >= x.rank)
    return rules::refuse(v, "softmax.axis is below the rank", Violation::kAttribute, x.rank,
                         t.axis);
  return true;
}

/// f16 and bf16: one row as floats.
ScratchNeed softmax_scratch(const OpArguments& a, int) {
  const TensorType& x = a.inputs[0];
  if (x.dtype == DType::kF32) return {};
  return {uint64_t(x.dims[a.as<SoftmaxAttributes>().axis]) * sizeof(float), 0};
}

}  // namespace

const OpContract kSoftmaxContract = {
    OpCode::kSoftmax, 1, 1, 1, 1, 1, check_softmax, rules::in_place_first, softmax_scratch, 1, 1};

}  // namespace ingot
