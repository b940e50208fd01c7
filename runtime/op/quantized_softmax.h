// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_softmax.h - softmax of bytes along the last dimension: x u8 [..., N], table
// [256] -> y u8 or i16 of x's dims. table[i] is exp(step * (i - 255)), so that an element counts
// e(x) = table[255 - top + x], where top is the largest of its row.
//
// table f32   s is the sum of e in f32, one chain in the order of the row; r = 1 / (s * scale);
//             e * r, limited to +-65536, is rounded, ties away from zero (`add_half`: e * r + 0.5,
//             truncated); y_zero is added; the result is limited to what y holds. TFLite's
//             optimized kernels: scale is that of y, add_half where the source's input and output
//             are uint8.
// table i32   exp in Q0.31, 0 where it is passed over. s is the sum of (e + 2^11) >> 12, saturated
//             to i32; r is 1 / s by Newton's method in fixed point; the product is rounded to the
//             bits of y and y_zero added. TFLite's reference kernels and TFLM; scale and add_half
//             are not read. A negative entry counts as 0.
// y_zero is a number of y: of i16 commonly -32768. scale is a positive normal number.
//
// Of 16-bit numbers: x i16, table i16 [65536 + 513] -> y i16. An element counts e(x) = table[65535
// - top + x], Q0.15, as 0 where it is negative. s is the sum of e, limited to 2 .. 2^31 - 1, and c
// its bits, 2 .. 31. m is (s * 2^(31 - c) + 2^13) >> 14, limited to 65536 .. 131071 and less 65536:
// where s lies between two powers of 2. r is the line through the last 513 numbers of the table at
// m / 128: base + ((slope * (m % 128) + 64) >> 7). y is (e * r + 2^(c - 2)) >> (c - 1), limited to
// 0 .. 32767. TFLite's and TFLM's kernels. y_zero is 0; scale and add_half are not read.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

constexpr int64_t kInt16Exponentials = 65536, kInt16Reciprocals = 513;

struct QuantizedSoftmaxAttributes {
  float scale = 1.0f / 256;
  int32_t y_zero = 0;
  bool add_half = false;
};
extern const OpContract kQuantizedSoftmaxContract;

}  // namespace ingot
