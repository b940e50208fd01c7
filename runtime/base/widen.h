// SPDX-License-Identifier: Apache-2.0
// runtime/base/widen.h - half-size floats to f32. Exact, the bits of a NaN included, and the same
// on every processor.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot {

/// `count` little-endian IEEE halves at `from` to f32 at `to`. `from` may be the upper half of the
/// memory at `to`, that is to + 2 * count; otherwise they do not overlap. Nothing needs to be
/// aligned.
void widen_f16(const uint8_t* from, uint8_t* to, size_t count);
/// The same of bfloat16.
void widen_bf16(const uint8_t* from, uint8_t* to, size_t count);

/// By the processor's own instructions: how many of the first elements were done, a multiple of 8
/// or 0. For widen.cpp.
size_t widen_f16_fast(const uint8_t* from, uint8_t* to, size_t count);
size_t widen_bf16_fast(const uint8_t* from, uint8_t* to, size_t count);
/// One by one, whatever the processor has.
void widen_f16_portable(const uint8_t* from, uint8_t* to, size_t count);

}  // namespace ingot
