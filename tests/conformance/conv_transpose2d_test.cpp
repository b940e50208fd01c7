// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions.
#include "runtime/op/conv_transpose2d.h"

#include <doctest/doctest.h>

#include "tests/conformance/weights.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct TransposeCase {
  const char* name;
  int64_t n, h, w, cin, cout;
  uint32_t kh, kw, sh = 1, sw = 1, top = 0, left = 0, bottom = 0, right = 0, extra_h = 0,
                   extra_w = 0, dh = 1, dw = 1, groups = 1;
  ActivationSpec act = {};
  bool bias = true;
  int64_t padding = 0;
};

Tensor shape(std::vector<int64_t> dims, Packing packing = Packing::kDense) {
  return Tensor(DType::kF32, dims, 0, packing);
}

}  // namespace

TEST_CASE("conv_transpose2d: strides, pads, groups and tails") {
  const ActivationSpec relu{Activation::kRelu, 0, 0}, tanh{Activation::kTanh, 0, 0};
  const TransposeCase cases[] = {
      {"2x2 stride 2", 1, 5, 7, 8, 16, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1, relu},
      {"4x4 stride 2 pad 1", 2, 6, 5, 9, 21, 4, 4, 2, 2, 1, 1, 1, 1},
      {"3x3 stride 2, output padding", 1, 5, 6, 7, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, tanh},
      {"9x9 stride 3, one output", 1, 4, 6, 12, 1, 9, 9, 3, 3, 4, 4, 4, 4, 2, 2},
      {"one output of many pixels", 2, 3, 41, 24, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1, tanh},
      {"stride beyond the window", 1, 4, 3, 5, 18, 2, 1, 3, 4, 0, 0, 0, 0, 1, 2},
      {"stride 1, dilation", 1, 6, 7, 4, 17, 3, 3, 1, 1, 2, 1, 1, 2, 0, 0, 2, 2},
      {"dilation shares a factor with the stride", 1, 5, 6, 4, 9, 3, 3, 2, 2, 0, 0, 0, 0, 0, 0, 2,
       2},
      {"one dimension", 1, 1, 40, 6, 35, 1, 8, 1, 4, 0, 2, 0, 2, 0, 0, 1, 1, 1, relu},
      {"groups", 1, 5, 4, 6, 10, 3, 3, 2, 2, 1, 1, 1, 1, 0, 0, 1, 1, 2, relu},
      {"depthwise", 2, 5, 4, 6, 6, 4, 4, 2, 2, 1, 1, 1, 1, 0, 0, 1, 1, 6, {}, false},
      {"views", 1, 3, 4, 5, 20, 3, 3, 2, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, {}, true, 3},
      {"more outputs than one bias copy", 1, 1, 2, 3, 150, 2, 2, 2, 2},
      {"bands", 1, 90, 60, 40, 5, 3, 3, 2, 2, 1, 1, 1, 1},
      {"empty batch", 0, 3, 3, 4, 4, 2, 2},
  };
  for (const TransposeCase& c : cases) {
    ConvTranspose2dAttributes t;
    t.kernel_h = c.kh, t.kernel_w = c.kw, t.stride_h = c.sh, t.stride_w = c.sw, t.dilation_h = c.dh,
    t.dilation_w = c.dw;
    t.pad_top = c.top, t.pad_left = c.left, t.pad_bottom = c.bottom, t.pad_right = c.right,
    t.groups = c.groups, t.activation = c.act;
    const int64_t oh = (c.h - 1) * c.sh - c.top - c.bottom + c.dh * (c.kh - 1) + 1 + c.extra_h;
    const int64_t ow = (c.w - 1) * c.sw - c.left - c.right + c.dw * (c.kw - 1) + 1 + c.extra_w;
    const int64_t slice = c.cin / c.groups;
    const Weights w = random_weights(c.groups == 1 ? Packing::kPanels16 : Packing::kDense,
                                     {c.cout, c.kh, c.kw, slice}, 5, slice * 4);
    const Weights b = random_weights(Packing::kVector16, {c.cout}, 6, 1);
    Case test{c.name, OpCode::kConvTranspose2d,       &t,
              {},     {shape({c.n, oh, ow, c.cout})}, {5e-6, 1e-5}};
    test.outputs = {Tensor(DType::kF32, {c.n, oh, ow, c.cout}, c.padding)};
    test.inputs = {Tensor(DType::kF32, {c.n, c.h, c.w, c.cin}, c.padding).random(1), w.packed,
                   c.bias ? b.packed : Tensor()};
    test.oracle_inputs = {test.inputs[0], w.dense, c.bias ? b.dense : Tensor()};
    run_case(test);
  }
}

TEST_CASE("conv_transpose2d: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(ConvTranspose2dAttributes&, Case&);
  };
  const Wrong wrongs[] = {
      {"kernel, stride and dilation are 1 to 2^20",
       [](ConvTranspose2dAttributes& t, Case&) { t.stride_h = 0; }},
      {"pads are at most 2^20",
       [](ConvTranspose2dAttributes& t, Case&) { t.pad_top = 0xffffffffu, t.pad_bottom = 1; }},
      {"conv_transpose2d's OH follows from H",
       [](ConvTranspose2dAttributes&, Case& c) { c.outputs[0].view().dims[1] = 10; }},
      {"conv_transpose2d's OW follows from W",
       [](ConvTranspose2dAttributes&, Case& c) { c.outputs[0].view().dims[2] = 7; }},
      {"conv_transpose2d's OW follows from W",
       [](ConvTranspose2dAttributes& t, Case&) { t.pad_left = 100; }},
      {"conv_transpose2d keeps the batch",
       [](ConvTranspose2dAttributes&, Case& c) { c.outputs[0].view().dims[0] = 2; }},
      {"conv_transpose2d.groups divides the channels",
       [](ConvTranspose2dAttributes& t, Case&) { t.groups = 0; }},
      {"conv_transpose2d.groups divides the outputs",
       [](ConvTranspose2dAttributes& t, Case&) { t.groups = 6; }},
      {"weights have the packing of their method",
       [](ConvTranspose2dAttributes& t, Case& c) {
         t.groups = 2, c.inputs[1] = shape({8, 2, 2, 3}, Packing::kPanels16);
       }},
      {"weights' dims agree with attributes and operands",
       [](ConvTranspose2dAttributes& t, Case&) { t.kernel_w = 1; }},
      {"an epilogue's activation is known and not prelu",
       [](ConvTranspose2dAttributes& t, Case&) { t.activation.kind = Activation(99); }},
      {"not too many inputs",
       [](ConvTranspose2dAttributes&, Case& c) { c.inputs.resize(4, c.inputs[0]); }},
  };
  for (const Wrong& w : wrongs) {
    ConvTranspose2dAttributes t;
    t.kernel_h = t.kernel_w = t.stride_h = t.stride_w = 2;
    Case c{w.rule,
           OpCode::kConvTranspose2d,
           &t,
           {shape({1, 4, 4, 6}), shape({8, 2, 2, 6}, Packing::kPanels16)},
           {shape({1, 8, 8, 8})}};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
