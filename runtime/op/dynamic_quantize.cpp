// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/dynamic_quantize.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_dynamic_quantize(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kDynamicQuantizeContract, {}, v)) return false;
  const DynamicQuantizeAttributes& t = a.as<DynamicQuantizeAttributes>();
  const TensorType &x = a.inputs[0], &y = a.outputs[0], &steps = a.outputs[1];
  if (uint8_t(t.range) > uint8_t(DynamicRange::kAsymmetric))
    return refuse(v, "dynamic_quantize.range is known", Violation::kAttribute, 2, int64_t(t.range));
  if (t.axis > x.rank)
    return refuse(v, "dynamic_quantize.axis is at most the rank", Violation::kAttribute, x.rank,
                  t.axis);
  if (x.dtype != DType::kF32)
    return refuse(v, "dynamic_quantize takes f32", 0, int64_t(DType::kF32), int64_t(x.dtype));
  if (y.dtype != DType::kU8)
    return refuse(v, "dynamic_quantize gives u8", rules::output(0), int64_t(DType::kU8),
                  int64_t(y.dtype));
  if (steps.dtype != DType::kF32)
    return refuse(v, "steps are f32", rules::output(1), int64_t(DType::kF32), int64_t(steps.dtype));
  int64_t groups = 1;  // at most the elements, which were checked
  for (uint32_t i = 0; i < t.axis; i++) groups *= x.dims[i];
  if (steps.rank != 2 || steps.dims[0] != groups || steps.dims[1] != 2)
    return refuse(v, "steps are scale and zero point of each group", rules::output(1), groups,
                  steps.rank ? int64_t{steps.dims[0]} : 0);
  return rules::check_same_dims(x, y, rules::output(0), v);
}

/// Ranges of a group that several members found, for two groups in turn.
ScratchNeed dynamic_quantize_scratch(const OpArguments&, int) {
  return {0, 2 * kMaxThreads * 2 * sizeof(float)};
}

}  // namespace

const OpContract kDynamicQuantizeContract = {
    OpCode::kDynamicQuantize, 1,    1,   1, 2, 2, check_dynamic_quantize, nullptr,
    dynamic_quantize_scratch, 0x1u, 0x1u};

}  // namespace ingot
