// SPDX-License-Identifier: Apache-2.0
// runtime/op/sort.h - TopK along one dimension (x -> values, indices i64; ties: lower index first)
// and CumSum.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct TopKAttributes {
  uint32_t axis = 0;
  bool largest = true, sorted = true;
};
struct CumSumAttributes {
  uint32_t axis = 0;
  bool exclusive = false, reverse = false;
};
extern const OpContract kTopKContract;
extern const OpContract kCumSumContract;

}  // namespace ingot
