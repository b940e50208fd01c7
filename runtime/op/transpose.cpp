// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/transpose.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_transpose(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kTransposeContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const TransposeAttributes& t = a.as<TransposeAttributes>();
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (t.rank != x.rank)
    return rules::refuse(v, "transpose.perm has one entry per dimension", Violation::kAttribute,
                         x.rank, t.rank);
  if (x.rank != y.rank)
    return rules::refuse(v, "transpose keeps the rank", rules::output(0), x.rank, y.rank);
  uint32_t seen = 0;
  for (int i = 0; i < x.rank; i++) {
    if (t.perm[i] >= x.rank)
      return rules::refuse(v, "transpose.perm is below the rank", Violation::kAttribute, x.rank,
                           t.perm[i]);
    if (seen >> t.perm[i] & 1)
      return rules::refuse(v, "transpose.perm names each dimension once", Violation::kAttribute, i,
                           t.perm[i]);
    seen |= 1u << t.perm[i];
    if (y.dims[i] != x.dims[t.perm[i]])
      return rules::refuse(v, "transpose's output has the permuted dims", rules::output(0),
                           x.dims[t.perm[i]], y.dims[i]);
  }
  return true;
}

}  // namespace

const OpContract kTransposeContract = {OpCode::kTranspose, 1,       1,       1, 1, 1,
                                       check_transpose,    nullptr, nullptr, 1, 1};

}  // namespace ingot
