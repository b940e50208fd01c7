// runtime/op/lookup.h - any function of one byte: x u8, table u8 [256] -> y u8 of x's dims,
// table[x]. Activations of quantized tensors, and rescaling to another scale and zero point.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct LookupAttributes {};
extern const OpContract kLookupContract;

}  // namespace ingot
