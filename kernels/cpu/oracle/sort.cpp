// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/sort.cpp - TopK and CumSum.
#include "runtime/op/sort.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

/// Total order: numbers as they are, NaN above all.
bool greater(const TensorView& x, int64_t i, int64_t j) {
  if (x.dtype == DType::kU64) return x.as<const uint64_t>()[i] > x.as<const uint64_t>()[j];
  if (is_integer(x.dtype)) return read_integer(x, i) > read_integer(x, j);
  const double a = read(x, i), b = read(x, j);
  return a > b || (a != a && b == b);
}

}  // namespace

Status top_k(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &values = a.outputs[0], &indices = a.outputs[1];
  const TopKAttributes& t = a.as<TopKAttributes>();
  // an element with fewer than k better ones comes behind those
  for_each_index(values, [&](const int64_t* index) {
    if (index[t.axis] != 0) return;
    int64_t at[kMaxRank], to[kMaxRank];
    for (int i = 0; i < x.rank; i++) at[i] = to[i] = index[i];
    for (int64_t j = 0; j < x.dims[t.axis]; j++) {
      at[t.axis] = j;
      const int64_t here = offset_of(x, at);
      int64_t better = 0;
      for (int64_t k = 0; k < x.dims[t.axis]; k++) {
        at[t.axis] = k;
        const int64_t there = offset_of(x, at);
        const bool wins = t.largest ? greater(x, there, here) : greater(x, here, there);
        const bool loses = t.largest ? greater(x, here, there) : greater(x, there, here);
        better += wins || (!loses && k < j);
      }
      if (better >= values.dims[t.axis]) continue;
      to[t.axis] = better;
      copy_element(values, offset_of(values, to), x, here);
      indices.as<int64_t>()[offset_of(indices, to)] = j;
    }
  });
  return {};
}

Status cum_sum(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const CumSumAttributes& t = a.as<CumSumAttributes>();
  int64_t outer[kMaxRank] = {};
  for (int i = 0; i < x.rank; i++) outer[i] = i == int(t.axis) ? 1 : int64_t{x.dims[i]};
  for_each_index(outer, x.rank, [&](const int64_t* index) {
    int64_t at[kMaxRank];
    for (int i = 0; i < x.rank; i++) at[i] = index[i];
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t j = 0; j < x.dims[t.axis]; j++) {
      at[t.axis] = t.reverse ? x.dims[t.axis] - 1 - j : j;
      const int64_t here = offset_of(x, at), there = offset_of(y, at);
      const double element = read(x, here);
      const uint64_t whole_element = uint64_t(is_integer(x.dtype) ? read_integer(x, here) : 0);
      if (!t.exclusive) sum += element, whole += whole_element;
      if (is_integer(y.dtype))
        write_integer(y, there, int64_t(whole));
      else
        write(y, there, sum);
      if (t.exclusive) sum += element, whole += whole_element;
    }
  });
  return {};
}

}  // namespace ingot::cpu::oracle
