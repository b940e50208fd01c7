// SPDX-License-Identifier: Apache-2.0
// runtime/op/transpose.h - y[i0, .., ir-1] = x with dimension perm[k] of x as dimension k of y. Any
// element type.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct TransposeAttributes {
  uint32_t rank = 0;
  uint8_t perm[kMaxRank] = {};
};
extern const OpContract kTransposeContract;

}  // namespace ingot
