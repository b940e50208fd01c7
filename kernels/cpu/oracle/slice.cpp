// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/slice.cpp
#include "runtime/op/slice.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status slice(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const SliceAttributes& t = a.as<SliceAttributes>();
  for_each_index(y, [&](const int64_t* index) {
    int64_t source[kMaxRank];
    for (int i = 0; i < x.rank; i++) source[i] = t.starts[i] + index[i] * t.steps[i];
    copy_element(y, offset_of(y, index), x, offset_of(x, source));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
