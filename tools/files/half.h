// SPDX-License-Identifier: Apache-2.0
// tools/files/half.h - the two half-size floats, and E4M3. Widening is exact and keeps the bits
// of a NaN; narrowing rounds to the nearest, ties to even, and gives back what was widened, bit by
// bit.
#pragma once
#include <cstdint>

namespace ingot::host {

float widen_f16(uint16_t bits);
float widen_bf16(uint16_t bits);
/// float8_e4m3fn: 448 at most, without infinities; all bits but the sign are the one NaN.
float widen_e4m3(uint8_t bits);
/// Beyond the largest number: infinity.
uint16_t narrow_f16(float x);
uint16_t narrow_bf16(float x);

}  // namespace ingot::host
