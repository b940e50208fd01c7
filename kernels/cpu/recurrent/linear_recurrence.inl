// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/linear_recurrence.inl - contract: runtime/op/linear_recurrence.h. A member
// takes columns of a head's matrix through all tokens, so that they stay in the nearest cache.
#pragma once
#include "kernels/cpu/recurrent/linear_recurrence_columns.inl"
#include "kernels/cpu/recurrent/linear_recurrence_heads.inl"
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
Status linear_recurrence(const OpArguments& a, const Team& team) {
  constexpr int kVectors = 4, kColumns = kVectors * V::kLanes;
  const ingot::linear_recurrence::Plan plan = ingot::linear_recurrence::plan_of(a);
  const ingot::linear_recurrence::Shape& shape = plan.shape;
  bool good = true;
  for (int64_t t = 0; t < shape.tokens; t++) good = good && has_rows(plan, t);
  if (has_columns_of_one<V>(plan)) {
    const int64_t groups = shape.heads / V::kLanes, rest = shape.heads % V::kLanes,
                  steps = shape.tokens * shape.keys * V::kLanes;
    const Part mine = part_of(team, groups + rest, 1, most_of(1, 16384 / (steps + 1)));
    for (int64_t at = mine.begin; at < mine.end; at++)
      if (at < groups)
        recur_heads<V>(plan, at * V::kLanes);
      else
        recur<V, 1>(plan, groups * V::kLanes + at - groups, 0, 1);
    return good ? Status() : Status(Code::kBadIndexValue);
  }
  const int64_t pieces = (shape.values + kColumns - 1) / kColumns;
  const int64_t products = shape.tokens * shape.keys * kColumns;
  const Part mine = part_of(team, shape.heads * pieces, 1, most_of(1, 16384 / (products + 1)));
  for (int64_t at = mine.begin; at < mine.end; at++) {
    const int64_t h = at / pieces, first = at % pieces * kColumns,
                  end = least_of(first + kColumns, shape.values);
    if (end - first == kColumns) {
      recur<V, kVectors>(plan, h, first, kColumns);
      continue;
    }
    for (int64_t c = first; c < end; c += V::kLanes)
      recur<V, 1>(plan, h, c, least_of(V::kLanes, end - c));
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
