// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/normalize.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_parameter(const OpArguments& a, int i, int64_t elements, Violation* v) {
  const TensorView* p = a.optional(i);
  if (!p) return true;
  if (!rules::check_same_dtype(a.inputs[0], *p, i, v)) return false;
  return p->elements() == elements ||
         rules::refuse(v, "normalize's scale and bias fit what is normalized", i, elements,
                       p->elements());
}

bool check_normalize(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kNormalizeContract, {1u, 1u, 0u}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  if (!rules::is_float(x.dtype))
    return rules::refuse(v, "normalize takes f32, f16 or bf16", 0, int64_t(DType::kF32),
                         int64_t(x.dtype));
  if (!rules::check_same_dtype(x, y, rules::output(0), v) ||
      !rules::check_same_dims(x, y, rules::output(0), v))
    return false;
  if (!(t.epsilon >= 0) || t.epsilon > 1e30f)
    return rules::refuse(v, "normalize.epsilon is finite and not negative", Violation::kAttribute);
  int64_t elements = 1;
  switch (t.kind) {
    case NormKind::kLayer:
    case NormKind::kRms:
      if (t.axis >= x.rank)
        return rules::refuse(v, "normalize.axis is below the rank", Violation::kAttribute, x.rank,
                             t.axis);
      if (t.axis + 1u < x.rank && !(x.is_dense() && y.is_dense()))
        return rules::refuse(v, "normalize over several dimensions takes dense operands", 0,
                             x.row_length(), x.row_stride);
      for (int i = int(t.axis); i < x.rank; i++) elements *= x.dims[i];
      break;
    case NormKind::kInstance:
    case NormKind::kGroup:
      if (x.dtype != DType::kF32)
        return rules::refuse(v, "instance and group norm take f32", 0, int64_t(DType::kF32),
                             int64_t(x.dtype));
      if (x.rank < 2) return rules::refuse(v, "instance and group norm need N and C", 0, 2, x.rank);
      elements = x.row_length();
      if (t.kind == NormKind::kGroup && (t.groups == 0 || elements % t.groups != 0))
        return rules::refuse(v, "normalize.groups divides the channels", Violation::kAttribute,
                             elements, t.groups);
      break;
    default:
      return rules::refuse(v, "normalize.kind is known", Violation::kAttribute, 3, int64_t(t.kind));
  }
  return check_parameter(a, 1, elements, v) && check_parameter(a, 2, elements, v);
}

/// instance, group: mean and inverse deviation of each channel of an image. layer, rms of f16 and
/// bf16: a row, scale and bias as floats.
ScratchNeed normalize_scratch(const OpArguments& a, int) {
  const TensorType& x = a.inputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  if (t.kind == NormKind::kInstance || t.kind == NormKind::kGroup)
    return {uint64_t(x.row_length()) * 2 * sizeof(float), 0};
  if (x.dtype == DType::kF32) return {};
  uint64_t elements = 1;
  for (int i = int(t.axis); i < x.rank; i++) elements *= uint64_t(x.dims[i]);
  return {elements * 3 * sizeof(float), 0};
}

}  // namespace

const OpContract kNormalizeContract = {
    OpCode::kNormalize, 1, 1, 3, 1, 1, check_normalize, rules::in_place_first,
    normalize_scratch,  1, 1};

}  // namespace ingot
