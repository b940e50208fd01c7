// SPDX-License-Identifier: Apache-2.0
// runtime/op/matmul.h - product of two activations: a [..., M, K], b [..., K, N] (each transposed
// in its last two when told) -> y [..., M, N]. Batch dimensions broadcast. y = alpha * sum. Order:
// one chain of fma per output from zero over k ascending, then * alpha.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct MatMulAttributes {
  bool trans_a = false, trans_b = false;
  float alpha = 1;
};
extern const OpContract kMatMulContract;

}  // namespace ingot
