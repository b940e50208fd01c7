// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/concat.cpp
#include "runtime/op/concat.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status concat(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& y = a.outputs[0];
  const uint32_t axis = a.as<ConcatAttributes>().axis;
  int64_t start = 0;
  for (int i = 0; i < a.input_count; i++) {
    const TensorView& x = a.inputs[i];
    for_each_index(x, [&](const int64_t* index) {
      int64_t at[kMaxRank];
      for (int d = 0; d < x.rank; d++) at[d] = index[d] + (d == int(axis) ? start : 0);
      copy_element(y, offset_of(y, at), x, offset_of(x, index));
    });
    start += x.dims[axis];
  }
  return {};
}

}  // namespace ingot::cpu::oracle
