// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/concat.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_concat(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kConcatContract, {}, v)) return false;
  const TensorType& y = a.outputs[0];
  const uint32_t axis = a.as<ConcatAttributes>().axis;
  if (axis >= y.rank)
    return rules::refuse(v, "concat.axis is below the rank", Violation::kAttribute, y.rank, axis);
  int64_t sum = 0;
  for (int i = 0; i < a.input_count; i++) {
    const TensorType& x = a.inputs[i];
    if (!rules::check_same_dtype(y, x, i, v)) return false;
    if (x.rank != y.rank)
      return rules::refuse(v, "concat's inputs have the output's rank", i, y.rank, x.rank);
    for (int d = 0; d < y.rank; d++)
      if (d != int(axis) && x.dims[d] != y.dims[d])
        return rules::refuse(v, "concat's inputs agree outside the axis", i, y.dims[d], x.dims[d]);
    if (!checked_add(sum, int64_t{x.dims[axis]}, &sum))
      return rules::refuse(v, "concat's extent fits", i);
  }
  if (sum != y.dims[axis])
    return rules::refuse(v, "concat's extents add up", rules::output(0), sum, y.dims[axis]);
  return true;
}

}  // namespace

const OpContract kConcatContract = {OpCode::kConcat, 1,       1,       1024,        1, 1,
                                    check_concat,    nullptr, nullptr, 0xffffffffu, 1};

}  // namespace ingot
