// SPDX-License-Identifier: Apache-2.0
// runtime/op/pool2d.h - pooling of NHWC images: x [N,H,W,C] -> y [N,OH,OW,C]. Sums run over the
// window row by row, one chain. Padding is explicit; ceil_mode is expressed by larger bottom and
// right pads; average divides by the taps inside the image, average_include_pad by those inside
// the image extended by its pads.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class PoolKind : uint8_t { kMax = 0, kAverage = 1, kAverageIncludePad = 2, kLp = 3 };
struct Pool2dAttributes {
  PoolKind kind = PoolKind::kMax;
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t p = 2;
};
extern const OpContract kPool2dContract;

}  // namespace ingot
