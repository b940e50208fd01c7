// SPDX-License-Identifier: Apache-2.0
// runtime/op/f16_weights.h - weights as a GPU holds them that multiplies in f16: of panels16
// [O/16][K][16] in f32 become [O/16][ceil(K/2)][16] words of two f16, the even k in the low half,
// zero behind an odd K. Half the bytes, and a fragment of a product is words as they lie. Rounding
// is that of the product (to nearest, ties to even), so it has the same bits as with f32 panels. A
// row that is given such weights sees dtype f16 and packing panels16 there, dims unchanged.
#pragma once
#include <cstddef>

#include "runtime/op/contract.h"

namespace ingot {

/// Whether this operand of such an instruction may be packed f16 weights: weights of direct
/// convolutions, of Linear, and of stages of a chain that are direct convolutions. `bias`: of the
/// operand behind it; kVector16 where there is none.
bool takes_f16_weights(OpCode op, const void* attributes, uint32_t operand, Packing weights,
                       Packing bias);

/// Of weights with these dims; 0 where that overflows. @pre panels16, dims are numbers
uint64_t f16_weight_bytes(const int64_t* dims, int rank);

/// `rows` of 16 f32 to ceil(rows / 2) rows of 16 words; `to` may be `from`.
void make_f16_weights(const uint8_t* from, size_t rows, uint8_t* to);

}  // namespace ingot
