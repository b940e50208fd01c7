// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/gguf_encode.h - weights as blocks of GGUF. Scales and minima are those of
// the least squared error among candidates: each is judged with its 16 bits in the file and the
// nearest codes, and the usual choice, the largest number over the largest code, is one of them.
// The bytes depend on the weights alone.
#pragma once
#include <cstdint>

namespace ingot::checkpoint {

/// One block each. @pre numbers are finite; a scale beyond f16 gives codes that decode as infinite.
void encode_q4_0(const float* x, uint8_t* block);
void encode_q4_1(const float* x, uint8_t* block);
void encode_q5_0(const float* x, uint8_t* block);
void encode_q5_1(const float* x, uint8_t* block);
void encode_q8_0(const float* x, uint8_t* block);
void encode_q4_k(const float* x, uint8_t* block);
void encode_q5_k(const float* x, uint8_t* block);
void encode_q6_k(const float* x, uint8_t* block);

}  // namespace ingot::checkpoint
