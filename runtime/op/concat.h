// SPDX-License-Identifier: Apache-2.0
// runtime/op/concat.h - 1..n inputs joined along one dimension. Any element type.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct ConcatAttributes {
  uint32_t axis = 0;
};
extern const OpContract kConcatContract;

}  // namespace ingot
