// SPDX-License-Identifier: Apache-2.0
// tests/conformance/conv2d_run.h - a row of conv2d_cases.h as a case, run.
#pragma once
#include <string>
#include <vector>

#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/weights.h"

namespace ingot::conformance {

inline Conv2dAttributes attributes_of(const Conv2dCase& c) {
  Conv2dAttributes t;
  t.kernel_h = c.kh, t.kernel_w = c.kw, t.stride_h = c.sh, t.stride_w = c.sw, t.dilation_h = c.dh,
  t.dilation_w = c.dw;
  t.pad_top = c.top, t.pad_left = c.left, t.pad_bottom = c.bottom, t.pad_right = c.right,
  t.groups = c.groups;
  t.method = c.method, t.input_layout = c.nchw ? ChannelLayout::kNchw : ChannelLayout::kNhwc;
  t.activation = c.act, t.residual_first = c.residual == Residual::kFirst;
  return t;
}

inline Packing packing_of(ConvMethod m) {
  return m == ConvMethod::kDirect      ? Packing::kPanels16
         : m == ConvMethod::kDepthwise ? Packing::kDepthwise16
         : m == ConvMethod::kGrouped   ? Packing::kDense
                                       : Packing::kWinogradF43;
}

/// The name of the best kernel. `dense_oracle`: the oracle convolves with the dense weights (else
/// with the packed ones). `precision`: as the program's precision has it.
inline std::string run_conv2d(const Conv2dCase& c, bool dense_oracle, Tolerance tolerance,
                              ReducedPrecision precision = ReducedPrecision::kNone) {
  Conv2dAttributes t = attributes_of(c);
  t.reduced_precision = precision;
  const int64_t oh = conv_extent<int64_t>(c.h, c.top + c.bottom, c.kh, c.sh, c.dh);
  const int64_t ow = conv_extent<int64_t>(c.w, c.left + c.right, c.kw, c.sw, c.dw);
  const int64_t slice = c.cin / c.groups;
  const Weights w =
      random_weights(packing_of(c.method), {c.cout, c.kh, c.kw, slice}, 5, c.kh * c.kw * slice);
  const Weights b = random_weights(Packing::kVector16, {c.cout}, 6, 1);
  Case test{c.name, OpCode::kConv2d, &t, {}, {}, tolerance};
  const std::vector<int64_t> dims = c.nchw ? std::vector<int64_t>{c.n, c.cin, c.h, c.w}
                                           : std::vector<int64_t>{c.n, c.h, c.w, c.cin};
  test.inputs = {Tensor(DType::kF32, dims, c.x_padding).random(1), w.packed,
                 c.bias ? b.packed : Tensor()};
  if (c.residual != Residual::kNone)
    test.inputs.push_back(Tensor(DType::kF32, {c.n, oh, ow, c.cout}, c.y_padding).random(2));
  test.outputs = {Tensor(DType::kF32, {c.n, oh, ow, c.cout}, c.y_padding)};
  test.oracle_inputs = test.inputs;
  if (dense_oracle) test.oracle_inputs[1] = w.dense;
  if (dense_oracle && c.bias) test.oracle_inputs[2] = b.dense;
  return run_case(test);
}

}  // namespace ingot::conformance
