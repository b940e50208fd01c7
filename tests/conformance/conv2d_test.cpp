// SPDX-License-Identifier: Apache-2.0
// Convolutions by every method.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/conv2d_run.h"
#include "tests/conformance/weights.h"

using namespace ingot;
using namespace ingot::conformance;

TEST_CASE("conv2d: direct and grouped") {
  for (const Conv2dCase& c : kConv2dCases) run_conv2d(c, true, {2e-6, 6e-6});
}

TEST_CASE("conv2d: depthwise") {
  for (Conv2dCase c : kDepthwiseCases) {
    c.method = kDw, c.groups = uint32_t(c.cin), c.cout = c.cin;
    run_conv2d(c, true, {2e-6, 4e-6});
    run_conv2d(c, false, {2e-6, 4e-6});
  }
}

TEST_CASE("conv2d: winograd against its definition and against the convolution it stands for") {
  for (Conv2dCase c : kWinogradCases) {
    c.method = kWino, c.kh = c.kw = 3;
    run_conv2d(c, false, {5e-6, 4e-5});
    run_conv2d(c, true, {5e-6, 4e-5});
  }
}

TEST_CASE("conv2d: rows and columns that fill no tile") {
  for (int64_t size = 1; size < 8; size++)
    for (Activation kind : {Activation::kRelu, Activation::kSilu})
      for (Residual residual : {Residual::kNone, Residual::kAfter, Residual::kFirst}) {
        Conv2dCase c{.name = "left_over",
                     .guards_against = "a pixel of a tile that spans rows taken from elsewhere",
                     .h = size,
                     .w = 8 - size,
                     .cin = 16,
                     .cout = 32};
        c.act = {kind, 0.0f, 0.0f}, c.residual = residual;
        c.kh = c.kw = 3, c.top = c.bottom = c.left = c.right = 1;
        run_conv2d(c, true, {5e-6, 1e-5});
        c.h = 2 * size, c.w = 16 - 2 * size, c.sh = c.sw = 2;
        run_conv2d(c, true, {5e-6, 1e-5});
        c.method = kWino, c.sh = c.sw = 1;
        run_conv2d(c, true, {5e-6, 5e-5});
      }
}

TEST_CASE("conv2d: more pixels than are finished together") {
  Conv2dCase c{.name = "many_pixels",
               .guards_against = "sums that are stored and not finished, or twice",
               .h = 9,
               .w = 23,
               .cin = 16,
               .cout = 32};
  c.act = {Activation::kSilu, 0.0f, 0.0f};
  run_conv2d(c, true, {5e-6, 1e-5});
  c.kh = c.kw = 3, c.top = c.bottom = c.left = c.right = 1;
  run_conv2d(c, true, {5e-6, 1e-5});
  c.method = kWino;
  run_conv2d(c, true, {5e-6, 5e-5});
}

TEST_CASE("conv2d: every activation of an epilogue") {
  for (int kind = 0; kind < int(Activation::kPrelu); kind++)
    for (Residual residual : {Residual::kNone, Residual::kAfter, Residual::kFirst}) {
      Conv2dCase c{.name = "activation",
                   .guards_against = "a kind mixed up",
                   .h = 3,
                   .w = 11,
                   .cin = 12,
                   .cout = 37};
      c.act = {Activation(kind), 0.3f, 0.6f}, c.residual = residual;
      run_conv2d(c, true, {5e-6, 1e-5});
      c.cout = 24;  // half a panel is left
      run_conv2d(c, true, {5e-6, 1e-5});
      c.method = kDw, c.groups = 20, c.cin = 20, c.cout = 20, c.kh = c.kw = 3;
      run_conv2d(c, true, {5e-6, 1e-5});
      c.method = kWino, c.groups = 1, c.cout = 18;
      run_conv2d(c, true, {5e-6, 5e-5});
    }
}

TEST_CASE("conv2d: signed zeros and infinities") {
  // Nothing but -0: one summand of zero too many makes it +0. Then infinities next to the padding,
  // whose zeros must not meet them.
  // Limits keep the sign of a zero that lies within them, and NaN.
  const std::vector<double> inputs[] = {{-0.0}, {1, -0.0, -INFINITY, 0, 1e-40, -3, INFINITY}};
  const ActivationSpec activations[] = {{},
                                        kReluSpec,
                                        kRelu6Spec,
                                        {Activation::kClip, -0.0f, 1},
                                        {Activation::kClip, -1, -0.0f},
                                        {Activation::kClip, -1, 0.0f},
                                        {Activation::kClip, NAN, NAN}};
  for (size_t i = 0; i < std::size(inputs) * std::size(activations); i++)
    for (const ConvMethod method : {ConvMethod::kDirect, kDw, kGrp})
      for (const uint32_t k : {1u, 3u}) {
        Conv2dAttributes t;
        t.kernel_h = t.kernel_w = k, t.method = method;
        t.activation = activations[i / 2];
        t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = k / 2;
        const int64_t cin = 18, cout = method == ConvMethod::kDirect ? 21 : 18;
        t.groups = method == ConvMethod::kDirect ? 1 : method == kDw ? 18 : 2;
        const std::vector<int64_t> dims = {cout, k, k, cin / t.groups};
        Tensor dense = Tensor(DType::kF32, dims).random(3, 0.25, 1),
               w(DType::kF32, dims, 0, packing_of(method));
        const std::span<const float> values(dense.view().as<float>(),
                                            size_t(dense.view().elements()));
        const std::vector<float> packed = pack_weights(packing_of(method), dims, values);
        std::copy(packed.begin(), packed.end(), w.view().as<float>());
        Tensor bias(DType::kF32, {cout}, 0, Packing::kVector16);
        for (int64_t j = 0; j < 32; j++) bias.view().as<float>()[j] = -0.0f;
        Case test{"signed zeros", OpCode::kConv2d, &t, {}, {}, {1e-5, 1e-5}};
        test.inputs = {Tensor(DType::kF32, {1, 7, 6, cin}).values(inputs[i % 2]), w, bias};
        test.outputs = {Tensor(DType::kF32, {1, 7, 6, cout})};
        run_case(test);
      }
}

TEST_CASE("conv2d: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Conv2dAttributes&, Case&);
  };
  const auto shape = [](std::vector<int64_t> dims, Packing p = Packing::kDense) {
    return Tensor(DType::kF32, dims, 0, p);
  };
  const Wrong wrongs[] = {
      {"kernel, stride and dilation are 1 to 2^20",
       [](Conv2dAttributes& t, Case&) { t.stride_h = 0; }},
      {"kernel, stride and dilation are 1 to 2^20",
       [](Conv2dAttributes& t, Case&) { t.kernel_w = 0; }},
      {"kernel, stride and dilation are 1 to 2^20",
       [](Conv2dAttributes& t, Case&) { t.dilation_w = 0xffffffffu; }},
      {"pads are at most 2^20", [](Conv2dAttributes& t, Case&) { t.pad_left = 0xffffffffu; }},
      {"an epilogue's activation is known and not prelu",
       [](Conv2dAttributes& t, Case&) { t.activation.kind = Activation::kPrelu; }},
      {"an epilogue's activation is known and not prelu",
       [](Conv2dAttributes& t, Case&) { t.activation.kind = Activation(200); }},
      {"conv2d.method is known", [](Conv2dAttributes& t, Case&) { t.method = ConvMethod(4); }},
      {"conv2d.input_layout is known",
       [](Conv2dAttributes& t, Case&) { t.input_layout = ChannelLayout(2); }},
      {"direct and winograd convolutions have one group",
       [](Conv2dAttributes& t, Case&) { t.groups = 2; }},
      {"depthwise has a group a channel", [](Conv2dAttributes& t, Case&) { t.method = kDw; }},
      {"conv2d.groups divides the channels",
       [](Conv2dAttributes& t, Case&) { t.method = kGrp, t.groups = 0; }},
      {"conv2d.groups divides the channels",
       [](Conv2dAttributes& t, Case&) { t.method = kGrp, t.groups = 3; }},
      {"conv2d.groups divides the outputs",
       [](Conv2dAttributes& t, Case&) { t.method = kGrp, t.groups = 8; }},
      {"winograd_f43 is 3x3, stride 1, dilation 1",
       [](Conv2dAttributes& t, Case&) { t.method = kWino, t.stride_w = 2; }},
      {"the window fits the padded image", [](Conv2dAttributes& t, Case&) { t.dilation_h = 9; }},
      {"weights have the packing of their method",
       [](Conv2dAttributes& t, Case&) { t.method = kWino; }},
      {"weights' dims agree with attributes and operands",
       [](Conv2dAttributes& t, Case&) { t.kernel_h = 2; }},
      {"conv2d's y is [N,OH,OW,O]", [](Conv2dAttributes& t, Case&) { t.pad_top = 1; }},
      {"conv2d's y is [N,OH,OW,O]",
       [](Conv2dAttributes&, Case& c) {
         c.outputs[0] = Tensor(DType::kF32, {1, 6, 6, 21});
       }},
      {"conv2d's y is [N,OH,OW,O]",
       [](Conv2dAttributes&, Case& c) {
         c.outputs[0] = Tensor(DType::kF32, {1, 6, 60});
       }},
      {"conv2d's x is a batch of images",
       [](Conv2dAttributes&, Case& c) {
         c.inputs[0] = Tensor(DType::kF32, {8, 8, 16});
       }},
      {"operand is f32",
       [](Conv2dAttributes&, Case& c) { c.inputs[0].view().dtype = DType::kI32; }},
      {"operand is f32",
       [](Conv2dAttributes&, Case& c) { c.inputs[1].view().dtype = DType::kF16; }},
      {"output is f32",
       [](Conv2dAttributes&, Case& c) { c.outputs[0].view().dtype = DType::kF16; }},
      {"a bias is [O]",
       [](Conv2dAttributes&, Case& c) { c.inputs[2] = Tensor(DType::kF32, {15}); }},
      {"a bias is vector16",
       [](Conv2dAttributes&, Case& c) { c.inputs[2].view().packing = Packing::kDepthwise16; }},
      {"required input is present", [](Conv2dAttributes&, Case& c) { c.inputs[1] = Tensor(); }},
      {"same dimensions", [](Conv2dAttributes&, Case& c) { c.inputs[3].view().dims[1] = 5; }},
      {"operand is dense",
       [](Conv2dAttributes&, Case& c) { c.inputs[0].view().packing = Packing::kPanels16; }},
      {"an image has pixels",
       [](Conv2dAttributes& t, Case& c) { c.inputs[0].view().dims[1] = 0, t.pad_top = 8; }},
      {"conv2d's weights are [O, kernel_h, kernel_w, C / groups]",
       [](Conv2dAttributes&, Case& c) {
         c.inputs[1] = Tensor(DType::kF32, {20, 3, 48});
       }},
      {"tensor is at most 2^60 bytes",
       [](Conv2dAttributes&, Case& c) {
         c.inputs[0].view().dims[0] = c.inputs[0].view().dims[1] = INT32_MAX;
       }},
      {"conv2d's scratch is below 2^46 bytes",
       [](Conv2dAttributes& t, Case& c) {
         t.kernel_h = t.kernel_w = 1u << 20, t.pad_right = t.pad_left = 1u << 20,
         t.pad_top = t.pad_bottom = 1u << 20;
         t.stride_h = t.stride_w = 1u << 20;
         c.inputs[1].view().dims[1] = c.inputs[1].view().dims[2] = 1 << 20;
         c.outputs[0].view().dims[1] = c.outputs[0].view().dims[2] = 2;
         c.inputs[3] = Tensor();
       }},
  };
  for (const Wrong& w : wrongs) {
    Conv2dAttributes t;
    t.kernel_h = t.kernel_w = 3;
    Case c{w.rule, OpCode::kConv2d, &t};
    c.inputs = {shape({1, 8, 8, 16}), shape({20, 3, 3, 16}, Packing::kPanels16),
                shape({20}, Packing::kVector16), shape({1, 6, 6, 20})};
    c.outputs = {shape({1, 6, 6, 20})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
