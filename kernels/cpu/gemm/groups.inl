// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/groups.inl - groups of rows by their ends, which come from a run. Contract:
// runtime/op/grouped_linear.h.
#pragma once
#include <cstring>

#include "runtime/op/contract.h"

namespace ingot::cpu {
namespace {

/// Calls product(expert, first row, rows) of each group that has rows; rows of none become zeros.
template <class Product>
Status for_groups(const OpArguments& a, const Team& team, Product product) {
  const TensorView &ends = a.inputs[2], &y = a.outputs[0];
  const int64_t rows = y.dims[0], experts = ends.dims[0];
  int64_t begin = 0;
  bool good = true;
  for (int64_t e = 0; e < experts; e++) {
    const int64_t end = ends.dtype == DType::kI64 ? ends.as<const int64_t>()[e]
                                                  : int64_t(ends.as<const int32_t>()[e]);
    if (end < begin || end > rows) {
      good = false;
    } else if (end > begin) {
      product(e, begin, end - begin);
      begin = end;
    }
  }
  if (team.id == 0)
    for (int64_t row = begin; row < rows; row++)
      std::memset(y.as<float>() + row * y.row_stride, 0, size_t(y.row_length()) * sizeof(float));
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace
}  // namespace ingot::cpu
