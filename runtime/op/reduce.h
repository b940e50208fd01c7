// SPDX-License-Identifier: Apache-2.0
// runtime/op/reduce.h - reductions over any set of dimensions, and arg-reductions over one.
// Order  over the last dimension: 16 virtual lanes (element i goes to lane i % 16) then the fixed
//        tree 8, 4, 2, 1; over outer dimensions: one chain per output in row-major order of the
//        reduced dimensions. Both: lanes inside, rows outside. mean divides once at the end. max
//        and min are NaN when any element is. f16 and bf16 sum in f32.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class ReduceKind : uint8_t {
  kSum = 0,
  kMean = 1,
  kMax = 2,
  kMin = 3,
  kProd = 4,
  kL1 = 5,
  kL2 = 6,
  kSumSquare = 7,
  kLogSum = 8,
  kLogSumExp = 9
};
struct ReduceAttributes {
  ReduceKind kind = ReduceKind::kSum;
  uint32_t axes = 0;  // bit i: dimension i
};
struct ArgReduceAttributes {
  bool largest = true;
  uint32_t axis = 0;
  bool select_last = false;
};
// output: 1 in the reduced dimensions, or those left out
extern const OpContract kReduceContract;
extern const OpContract kArgReduceContract;  // output i64 (or i32), likewise

}  // namespace ingot
