// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_conv2d.h - convolution of NHWC images of bytes, or of 16-bit numbers.
// Operands  x u8 or i16 [N,H,W,C], w i8, channels i32 [2 to 4, O rounded up to 16] (biases,
//           multipliers, shifts: runtime/op/requantize.h), with to_float steps f32 [groups, 2]
//           (scale and zero point of as many images each) -> y of x's type [N,OH,OW,O]; with
//           to_float f32 or i32
// Weights   direct: panels16x4 over [O,kh,kw,C], over [O,kh*kw,1,C] where dilation_w > 1;
//           depthwise: depthwise16 in bytes over [C,kh,kw,1]; grouped: dense
//           [O,kh,kw,C/groups]. The oracle also takes dense weights for every method.
// Sum       bias[o] + sum of x * (w - w_zero) over the window, in whole numbers; x outside of the
//           image is x_zero. That x has a zero point is in the bias already: bias - x_zero *
//           sum(w - w_zero). Sums are taken modulo 2^32, those of 64 bits modulo 2^64: their order
//           does not matter. x of i16 counts with 32768 added, and w_zero is 0. With to_float x
//           outside of the image is the zero point of the steps, and x_zero and w_zero are not
//           used.
// Output    as runtime/op/requantize.h says.
#pragma once
#include "runtime/op/conv2d.h"
#include "runtime/op/requantize.h"

namespace ingot {

struct QuantizedConv2dAttributes {
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t groups = 1;
  ConvMethod method = ConvMethod::kDirect;
  RequantMode requant = RequantMode::kFloatEven;
  uint32_t x_zero = 0;
  int32_t w_zero = 0;
  uint32_t y_zero = 0, low = 0, high = 255;
};
extern const OpContract kQuantizedConv2dContract;

}  // namespace ingot
