// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv_transpose2d.h - transposed convolution of NHWC images.
// Operands  x [N,H,W,C], w, [bias] -> y [N,OH,OW,O]; w is panels16 (vector16 bias) over [O,kh,kw,C]
//           for groups == 1, dense [O,kh,kw,C/groups] otherwise and for the oracle.
// Order     per output one chain of fma from the bias over (ky, kx, c) of the taps that reach it,
//           ky and kx ascending.
#pragma once
#include "runtime/op/activation.h"
#include "runtime/op/contract.h"

namespace ingot {

struct ConvTranspose2dAttributes {
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0,
           pad_right = 0;  // OH = (H-1)*stride - pads + dilation*(kh-1) + 1 + output padding;
  uint32_t groups = 1;     // the output's dims say what the output padding is, < stride
  ActivationSpec activation;
};
extern const OpContract kConvTranspose2dContract;

}  // namespace ingot
