// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv2d.h - convolution of NHWC images, and band-fused chains of them.
// Operands  x [N,H,W,C] (or [N,C,H,W] when input_layout is kNchw), w, [bias], [residual] -> y
//           [N,OH,OW,O].
// Weights   direct: panels16 over [O,kh,kw,C]; winograd_f43: that packing over [O,3,3,C];
//           depthwise: depthwise16 over [C,kh,kw,1]; grouped: dense [O,kh,kw,C/groups]. The oracle
//           also takes dense [O,kh,kw,C/groups] for every method.
// Bias      vector16 over [O] (dense for the oracle), absent: zero. 1-D convolutions have H =
//           kernel_h = 1.
// Order     direct, grouped, depthwise: one chain of fma per output, starting from the bias, over
//           (kh, kw, c); taps outside the image contribute fma(0, w, acc) or are left out, which
//           is the same unless w is not finite. winograd_f43: F(4x4,3x3) as in
//           kernels/cpu/conv2d/winograd.inl.
// Epilogue  residual_first ? act(sum + residual) : act(sum) + residual.
#pragma once
#include "runtime/op/activation.h"
#include "runtime/op/contract.h"
#include "runtime/op/reduced_precision.h"

namespace ingot {

enum class ConvMethod : uint8_t { kDirect = 0, kWinogradF43 = 1, kDepthwise = 2, kGrouped = 3 };
enum class ChannelLayout : uint8_t { kNhwc = 0, kNchw = 1 };

struct Conv2dAttributes {
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t groups = 1;
  ConvMethod method = ConvMethod::kDirect;
  ChannelLayout input_layout = ChannelLayout::kNhwc;
  ActivationSpec activation;
  bool residual_first = false;
  ReducedPrecision reduced_precision =
      ReducedPrecision::kNone;  // of the whole program: no instruction in a file has it
};

constexpr int kMaxChainStages = 8;
/// Stage i reads the output of stage i-1; only kDirect and kDepthwise, groups 1 or C. Operands: x,
/// then (w, bias) of each stage (bias may be absent), then [residual of the last stage].
/// Intermediates live in rings of rows in the scratch.
struct ChainAttributes {
  uint32_t stage_count = 0;
  // output rows of the last stage worked on at a time; results do not depend on it
  uint32_t band_rows = 1;
  Conv2dAttributes stages[kMaxChainStages];
};

extern const OpContract kConv2dContract;
extern const OpContract kChainContract;

/// floor((in + pads - dilation * (kernel - 1) - 1) / stride) + 1, for int64_t or a symbolic
/// dimension.
template <class Dim>
Dim conv_extent(Dim in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation) {
  return (in + Dim(pads - dilation * (kernel - 1) - 1)) / Dim(stride) + Dim(1);
}

}  // namespace ingot
