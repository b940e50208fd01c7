// SPDX-License-Identifier: Apache-2.0
// runtime/op/lookup.h - any function of one quantized number: x u8, table u8 [256] -> y u8 of x's
// dims, table[x]; or x i16, table i16 [65536] -> y i16, table[x + 32768]. Activations of quantized
// tensors, and rescaling to another scale and zero point.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct LookupAttributes {};
extern const OpContract kLookupContract;

}  // namespace ingot
