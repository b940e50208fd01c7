// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/copy.cpp - Copy and Tile, element by element.
#include "runtime/op/copy.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status copy(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  int64_t n = 0;  // the n-th element of y is the n-th of x
  for_each_index(y, [&](const int64_t* index) {
    const int64_t row = x.row_length() ? n / x.row_length() : 0,
                  column = x.row_length() ? n % x.row_length() : 0;
    copy_element(y, offset_of(y, index), x, row * x.row_stride + column);
    n++;
  });
  return {};
}

Status tile(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  for_each_index(y, [&](const int64_t* index) {
    int64_t source[kMaxRank];
    for (int i = 0; i < x.rank; i++) source[i] = index[i] % x.dims[i];
    copy_element(y, offset_of(y, index), x, offset_of(x, source));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
