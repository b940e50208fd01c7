// SPDX-License-Identifier: Apache-2.0
// runtime/op/softmax.h - exp(x - max) / sum along one dimension (or its logarithm). The sum: 16
// virtual lanes and a fixed tree.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct SoftmaxAttributes {
  uint32_t axis = 0;
  bool log = false;
};
extern const OpContract kSoftmaxContract;

}  // namespace ingot
