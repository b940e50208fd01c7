// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_pool2d.h - pooling of NHWC images of bytes or 16-bit numbers: x u8 or i16
// [N,H,W,C] -> y of x's type [N,OH,OW,C], with the scale and zero point of x.
//   max      the largest number of the taps inside the image
//   average  of the n taps inside the image: s = their sum - n * offset, then
//            (s > 0 ? s + n / 2 : s - n / 2) / n + offset, quotients toward zero. offset is 128
//            where the source is signed: TFLite rounds ties of its sum away from its zero.
// A window without a tap inside the image gives `offset` as an average, 0 as a maximum. The result
// is limited to low .. high. A window has at most 2^22 taps, of i16 2^14. Numbers of i16 count with
// 32768 added (runtime/op/requantize.h).
#pragma once
#include "runtime/op/pool2d.h"

namespace ingot {

constexpr uint64_t kMaxQuantizedTaps = 1u << 22;  // their sum fits 32 bits
constexpr uint64_t kMaxInt16Taps = 1u << 14;      // of i16

struct QuantizedPool2dAttributes {
  PoolKind kind = PoolKind::kMax;
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t offset = 0, low = 0, high = 255;
};
extern const OpContract kQuantizedPool2dContract;

}  // namespace ingot
