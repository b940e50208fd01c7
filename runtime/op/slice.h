// SPDX-License-Identifier: Apache-2.0
// runtime/op/slice.h - y[i] = x[starts + i * steps], per dimension; y's dims say how many. Steps
// may be negative. Any element type.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct SliceAttributes {
  uint32_t rank = 0;
  int64_t starts[kMaxRank] = {};
  int64_t steps[kMaxRank] = {1, 1, 1, 1, 1, 1, 1, 1};
};
extern const OpContract kSliceContract;

}  // namespace ingot
