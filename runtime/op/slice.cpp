// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/slice.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_slice(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kSliceContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const SliceAttributes& t = a.as<SliceAttributes>();
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (t.rank != x.rank)
    return rules::refuse(v, "slice.starts has one entry per dimension", Violation::kAttribute,
                         x.rank, t.rank);
  if (x.rank != y.rank)
    return rules::refuse(v, "slice keeps the rank", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < x.rank; i++) {
    if (t.steps[i] == 0)
      return rules::refuse(v, "slice.steps is not zero", Violation::kAttribute, 1, 0);
    if (y.dims[i] == 0) continue;  // reads nothing
    if (t.starts[i] < 0 || t.starts[i] >= x.dims[i])
      return rules::refuse(v, "slice.starts lies inside the input", Violation::kAttribute,
                           x.dims[i], t.starts[i]);
    int64_t last;
    if (!checked_mul(y.dims[i] - 1, t.steps[i], &last) || !checked_add(last, t.starts[i], &last) ||
        last < 0 || last >= x.dims[i])
      return rules::refuse(v, "slice's last element lies inside the input", rules::output(0),
                           x.dims[i], y.dims[i]);
  }
  return true;
}

}  // namespace

const OpContract kSliceContract = {OpCode::kSlice, 1,       1,       1, 1, 1,
                                   check_slice,    nullptr, nullptr, 1, 1};

}  // namespace ingot
