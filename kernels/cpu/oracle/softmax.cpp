// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/softmax.cpp - y = exp(x - max) / sum(exp(x - max)), or its logarithm.
#include "runtime/op/softmax.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status softmax(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const SoftmaxAttributes& t = a.as<SoftmaxAttributes>();
  int64_t outer[kMaxRank] = {};
  for (int i = 0; i < x.rank; i++) outer[i] = i == int(t.axis) ? 1 : int64_t{x.dims[i]};
  for_each_index(outer, x.rank, [&](const int64_t* index) {
    int64_t at[kMaxRank];
    for (int i = 0; i < x.rank; i++) at[i] = index[i];
    const int64_t n = x.dims[t.axis];
    double top = -INFINITY, sum = 0;
    for (at[t.axis] = 0; at[t.axis] < n; at[t.axis]++) {
      const double value = read(x, offset_of(x, at));
      if (value > top || std::isnan(value)) top = value;
    }
    for (at[t.axis] = 0; at[t.axis] < n; at[t.axis]++)
      sum += std::exp(read(x, offset_of(x, at)) - top);
    for (at[t.axis] = 0; at[t.axis] < n; at[t.axis]++) {
      const double d = read(x, offset_of(x, at)) - top;
      write(y, offset_of(y, at), t.log ? d - std::log(sum) : std::exp(d) / sum);
    }
  });
  return {};
}

}  // namespace ingot::cpu::oracle
