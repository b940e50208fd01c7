// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/transpose.cpp
#include "runtime/op/transpose.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status transpose(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TransposeAttributes& t = a.as<TransposeAttributes>();
  for_each_index(y, [&](const int64_t* index) {
    int64_t source[kMaxRank];
    for (int i = 0; i < x.rank; i++) source[t.perm[i]] = index[i];
    copy_element(y, offset_of(y, index), x, offset_of(x, source));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
