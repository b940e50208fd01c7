// SPDX-License-Identifier: Apache-2.0
// Convolutions by every method, transposed ones, chains of them, pooling, products: over their
// attributes.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/conv_transpose2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "runtime/op/pool2d.h"
#include "tests/conformance/combinations.h"
#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/weights.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

struct Pair {
  uint32_t h, w;
};
struct Pads {
  uint32_t top, left, bottom, right;
};
struct Channels {
  int64_t in, out;
};
const std::vector<Pair> kExtents = {{1, 1}, {1, 19}, {5, 7}, {9, 16}, {12, 5}};
const std::vector<Pair> kKernels = {{1, 1}, {3, 3}, {2, 5}, {5, 1}, {1, 4}};
const std::vector<Pair> kStrides = {{1, 1}, {2, 2}, {1, 3}, {4, 1}};
const std::vector<Pair> kDilations = {{1, 1}, {2, 2}, {1, 3}};
const std::vector<Pads> kPads = {
    {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 0}, {2, 0, 1, 3}, {4, 4, 4, 4}};

std::vector<ActivationSpec> activations() {
  std::vector<ActivationSpec> all;
  for (int kind = 0; kind < int(Activation::kPrelu); kind++)
    all.push_back({Activation(kind), 0.3f, 0.6f});
  return all;
}

Packing packing_of(ConvMethod m) {
  return m == ConvMethod::kDirect ? Packing::kPanels16
         : m == kDw               ? Packing::kDepthwise16
         : m == kGrp              ? Packing::kDense
                                  : Packing::kWinogradF43;
}

}  // namespace

TEST_CASE("combinations: conv2d") {
  Combinations all("conv2d", 5000, 3, 16);
  const auto method = all.axis<ConvMethod>("method", {ConvMethod::kDirect, kDw, kGrp, kWino});
  const auto extent = all.axis<Pair>("extent", kExtents);
  const auto kernel = all.axis<Pair>("kernel", kKernels);
  const auto stride = all.axis<Pair>("stride", kStrides);
  const auto dilation = all.axis<Pair>("dilation", kDilations);
  const auto pads = all.axis<Pads>("pads", kPads);
  const auto channels =
      all.axis<Channels>("channels", {{1, 1}, {3, 18}, {16, 16}, {20, 33}, {40, 64}});
  const auto groups = all.axis<uint32_t>("groups", {1, 2, 4});
  const auto batch = all.axis<int64_t>("batch", {1, 2});
  const auto nchw = all.axis<bool>("nchw", {false, true});
  const auto bias = all.axis<bool>("bias", {false, true});
  const auto residual =
      all.axis<Residual>("residual", {Residual::kNone, Residual::kAfter, Residual::kFirst});
  const auto act = all.axis<ActivationSpec>("activation", activations());
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 5});
  Conv2dAttributes t;
  all.run([&](Case& c) {
    t = {};
    t.method = method(), t.kernel_h = kernel().h, t.kernel_w = kernel().w;
    const bool wino = method() == kWino;
    if (wino) t.kernel_h = t.kernel_w = 3;
    if (wino && (stride().h != 1 || stride().w != 1 || dilation().h != 1 || dilation().w != 1))
      return false;
    t.stride_h = stride().h, t.stride_w = stride().w, t.dilation_h = dilation().h,
    t.dilation_w = dilation().w;
    t.pad_top = pads().top, t.pad_left = pads().left, t.pad_bottom = pads().bottom,
    t.pad_right = pads().right;
    const int64_t in = channels().in, out = method() == kDw ? in : channels().out;
    t.groups = method() == kDw ? uint32_t(in) : method() == kGrp ? groups() : 1;
    if (in % t.groups || out % t.groups) return false;
    t.input_layout = nchw() ? ChannelLayout::kNchw : ChannelLayout::kNhwc;
    t.activation = act(), t.residual_first = residual() == Residual::kFirst;
    const int64_t slice = in / t.groups, h = extent().h, w = extent().w;
    const int64_t oh = conv_extent<int64_t>(h, pads().top + pads().bottom, t.kernel_h, t.stride_h,
                                            t.dilation_h),
                  ow = conv_extent<int64_t>(w, pads().left + pads().right, t.kernel_w, t.stride_w,
                                            t.dilation_w);
    if (int64_t(t.dilation_h) * (t.kernel_h - 1) >= h + pads().top + pads().bottom ||
        int64_t(t.dilation_w) * (t.kernel_w - 1) >= w + pads().left + pads().right)
      return false;
    const Weights weights =
                      random_weights(packing_of(method()), {out, t.kernel_h, t.kernel_w, slice}, 5,
                                     int64_t(t.kernel_h) * t.kernel_w * slice),
                  b = random_weights(Packing::kVector16, {out}, 6, 1);
    c.op = OpCode::kConv2d, c.attributes = &t,
    c.tolerance = wino ? Tolerance{5e-6, 5e-5} : Tolerance{5e-6, 1e-5};
    const Dims x = nchw() ? Dims{batch(), in, h, w} : Dims{batch(), h, w, in};
    c.inputs = {Tensor(DType::kF32, x, x_padding()).random(1), weights.packed,
                bias() ? b.packed : Tensor()};
    if (residual() != Residual::kNone)
      c.inputs.push_back(Tensor(DType::kF32, {batch(), oh, ow, out}, y_padding()).random(2));
    c.outputs = {Tensor(DType::kF32, {batch(), oh, ow, out}, y_padding())};
    c.oracle_inputs = c.inputs;
    c.oracle_inputs[1] = weights.dense;
    if (bias()) c.oracle_inputs[2] = b.dense;
    return true;
  });
}

TEST_CASE("combinations: conv_transpose2d") {
  Combinations all("conv_transpose2d", 2500, 3, 16);
  const auto extent = all.axis<Pair>("extent", {{1, 1}, {1, 19}, {5, 7}, {12, 4}});
  const auto kernel = all.axis<Pair>("kernel", kKernels);
  const auto stride = all.axis<Pair>("stride", {{1, 1}, {2, 2}, {1, 3}, {4, 1}});
  const auto dilation = all.axis<Pair>("dilation", kDilations);
  const auto pads =
      all.axis<Pads>("pads", {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 0}, {2, 0, 1, 3}});
  const auto extra = all.axis<Pair>("output_padding", {{0, 0}, {1, 0}, {0, 2}, {1, 1}});
  const auto channels =
      all.axis<Channels>("channels", {{1, 1}, {3, 18}, {16, 16}, {20, 36}, {6, 130}});
  const auto groups = all.axis<uint32_t>("groups", {1, 2, 3});
  const auto depthwise = all.axis<bool>("depthwise", {false, true});
  const auto batch = all.axis<int64_t>("batch", {1, 2});
  const auto bias = all.axis<bool>("bias", {false, true});
  const auto act = all.axis<ActivationSpec>("activation", activations());
  const auto padding = all.axis<int64_t>("padding", {0, 3});
  ConvTranspose2dAttributes t;
  all.run([&](Case& c) {
    const int64_t in = channels().in, out = depthwise() ? in : channels().out;
    t = {};
    t.groups = depthwise() ? uint32_t(in) : groups();
    if (in % t.groups || out % t.groups) return false;
    t.kernel_h = kernel().h, t.kernel_w = kernel().w, t.stride_h = stride().h,
    t.stride_w = stride().w;
    t.dilation_h = dilation().h, t.dilation_w = dilation().w, t.activation = act();
    t.pad_top = pads().top, t.pad_left = pads().left, t.pad_bottom = pads().bottom,
    t.pad_right = pads().right;
    const int64_t h = extent().h, w = extent().w;
    const int64_t oh = (h - 1) * t.stride_h - t.pad_top - t.pad_bottom +
                       t.dilation_h * (t.kernel_h - 1) + 1 + extra().h;
    const int64_t ow = (w - 1) * t.stride_w - t.pad_left - t.pad_right +
                       t.dilation_w * (t.kernel_w - 1) + 1 + extra().w;
    if (oh < 1 || ow < 1) return false;
    const int64_t slice = in / t.groups;
    const Weights weights = random_weights(t.groups == 1 ? Packing::kPanels16 : Packing::kDense,
                                           {out, t.kernel_h, t.kernel_w, slice}, 5, slice * 4),
                  b = random_weights(Packing::kVector16, {out}, 6, 1);
    c.op = OpCode::kConvTranspose2d, c.attributes = &t, c.tolerance = {5e-6, 1e-5};
    c.inputs = {Tensor(DType::kF32, {batch(), h, w, in}, padding()).random(1), weights.packed,
                bias() ? b.packed : Tensor()};
    c.oracle_inputs = {c.inputs[0], weights.dense, bias() ? b.dense : Tensor()};
    c.outputs = {Tensor(DType::kF32, {batch(), oh, ow, out}, padding())};
    return true;
  });
}

TEST_CASE("combinations: chain") {
  struct Stage {
    uint32_t k, stride, pad;
    bool depthwise;
    int64_t out;
  };
  const std::vector<Stage> stages = {
      {1, 1, 0, false, 20}, {3, 1, 1, false, 7},  {3, 2, 1, false, 16},
      {3, 1, 1, true, 0},   {5, 2, 2, true, 0},   {2, 1, 0, false, 33},
      {3, 2, 0, true, 0},   {1, 2, 0, false, 16}, {1, 1, 0, true, 0}};
  Combinations all("chain", 1500, 3, 16);
  const auto extent = all.axis<Pair>("extent", {{9, 11}, {20, 7}, {6, 33}});
  const auto channels = all.axis<int64_t>("channels", {1, 3, 16, 37});
  const auto count = all.axis<int>("stages", {1, 2, 3});
  const Axis<Stage> at[] = {all.axis<Stage>("first", stages), all.axis<Stage>("second", stages),
                            all.axis<Stage>("third", stages)};
  const auto act = all.axis<ActivationSpec>("activation", activations());
  const auto last_act = all.axis<ActivationSpec>("last_activation", activations());
  const auto residual =
      all.axis<Residual>("residual", {Residual::kNone, Residual::kAfter, Residual::kFirst});
  const auto nchw = all.axis<bool>("nchw", {false, true});
  const auto bias = all.axis("bias", 4);
  const auto batch = all.axis<int64_t>("batch", {1, 2});
  const auto band = all.axis<uint32_t>("band", {1, 2, 3, 1000});
  const auto padding = all.axis<int64_t>("padding", {0, 3});
  ChainAttributes t;
  all.run([&](Case& c) {
    t = {};
    t.stage_count = uint32_t(count()), t.band_rows = band();
    int64_t h = extent().h, w = extent().w, deep = channels();
    c.op = OpCode::kChain, c.attributes = &t, c.tolerance = {1e-5, 2e-5};
    c.inputs = {Tensor(DType::kF32, nchw() ? Dims{batch(), deep, h, w} : Dims{batch(), h, w, deep},
                       padding())
                    .random(1)};
    c.oracle_inputs = c.inputs;
    for (int i = 0; i < count(); i++) {
      const Stage& s = at[i]();
      Conv2dAttributes& a = t.stages[i];
      a.kernel_h = a.kernel_w = s.k, a.stride_h = a.stride_w = s.stride;
      a.pad_top = a.pad_left = a.pad_bottom = a.pad_right = s.pad;
      a.method = s.depthwise ? kDw : ConvMethod::kDirect,
      a.groups = s.depthwise ? uint32_t(deep) : 1;
      a.activation = i + 1 == count() ? last_act() : act();
      a.input_layout = i == 0 && nchw() ? ChannelLayout::kNchw : ChannelLayout::kNhwc;
      a.residual_first = i + 1 == count() && residual() == Residual::kFirst;
      const int64_t slice = s.depthwise ? 1 : deep, out = s.depthwise ? deep : s.out;
      if (h + 2 * s.pad < s.k || w + 2 * s.pad < s.k) return false;
      const Weights weights =
                        random_weights(s.depthwise ? Packing::kDepthwise16 : Packing::kPanels16,
                                       {out, s.k, s.k, slice}, uint32_t(7 + i), s.k * s.k * slice),
                    b = random_weights(Packing::kVector16, {out}, uint32_t(70 + i), 1);
      const bool has_bias = bias() & (i == 0 ? 1 : 2);
      c.inputs.push_back(weights.packed), c.inputs.push_back(has_bias ? b.packed : Tensor());
      c.oracle_inputs.push_back(weights.dense),
          c.oracle_inputs.push_back(has_bias ? b.dense : Tensor());
      h = conv_extent<int64_t>(h, 2 * s.pad, s.k, s.stride, 1),
      w = conv_extent<int64_t>(w, 2 * s.pad, s.k, s.stride, 1);
      deep = out;
    }
    if (residual() != Residual::kNone) {
      c.inputs.push_back(Tensor(DType::kF32, {batch(), h, w, deep}, padding()).random(2));
      c.oracle_inputs.push_back(c.inputs.back());
    }
    c.outputs = {Tensor(DType::kF32, {batch(), h, w, deep}, padding())};
    return true;
  });
}

TEST_CASE("combinations: pool2d") {
  Combinations all("pool2d", 4000, 3, 16);
  const auto kind = all.axis<PoolKind>(
      "kind", {PoolKind::kMax, PoolKind::kAverage, PoolKind::kAverageIncludePad, PoolKind::kLp});
  const auto p = all.axis<uint32_t>("p", {1, 2});
  const auto extent = all.axis<Pair>("extent", {{1, 1}, {1, 19}, {5, 7}, {9, 16}, {12, 5}});
  const auto kernel = all.axis<Pair>("kernel", {{1, 1}, {3, 3}, {2, 5}, {5, 1}, {2, 2}, {5, 7}});
  const auto stride = all.axis<Pair>("stride", kStrides);
  const auto dilation = all.axis<Pair>("dilation", kDilations);
  const auto pads = all.axis<Pads>(
      "pads", {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 0}, {2, 0, 1, 3}, {3, 3, 3, 3}, {0, 0, 1, 1}});
  const auto channels = all.axis<int64_t>("channels", {1, 3, 16, 21, 70});
  const auto batch = all.axis<int64_t>("batch", {1, 2});
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 5});
  const auto odd = all.axis("values", 3);  // ordinary, with infinities, with NaN
  Pool2dAttributes t;
  all.run([&](Case& c) {
    t = {};
    if (kind() != PoolKind::kLp && p() == 1) return false;
    t.kind = kind(), t.p = p(), t.kernel_h = kernel().h, t.kernel_w = kernel().w;
    t.stride_h = stride().h, t.stride_w = stride().w, t.dilation_h = dilation().h,
    t.dilation_w = dilation().w;
    t.pad_top = pads().top, t.pad_left = pads().left, t.pad_bottom = pads().bottom,
    t.pad_right = pads().right;
    const int64_t h = extent().h, w = extent().w;
    if (int64_t(t.dilation_h) * (t.kernel_h - 1) >= h + pads().top + pads().bottom ||
        int64_t(t.dilation_w) * (t.kernel_w - 1) >= w + pads().left + pads().right)
      return false;
    const int64_t oh = conv_extent<int64_t>(h, pads().top + pads().bottom, t.kernel_h, t.stride_h,
                                            t.dilation_h),
                  ow = conv_extent<int64_t>(w, pads().left + pads().right, t.kernel_w, t.stride_w,
                                            t.dilation_w);
    c.op = OpCode::kPool2d, c.attributes = &t, c.tolerance = {2e-6, 4e-6};
    c.inputs = {Tensor(DType::kF32, {batch(), h, w, channels()}, x_padding()).random(1)};
    for (int64_t i = 0; odd() && i < c.inputs[0].view().elements(); i += 5)
      c.inputs[0].set(i, odd() == 1 ? (i % 2 ? INFINITY : -INFINITY) : i % 3 ? NAN : -INFINITY);
    c.outputs = {Tensor(DType::kF32, {batch(), oh, ow, channels()}, y_padding())};
    return true;
  });
}

TEST_CASE("combinations: linear") {
  Combinations all("linear", 2500, 3, 8);
  const auto rows = all.axis<Dims>("rows", {{}, {1}, {2}, {3, 5}, {40}, {7}});
  const auto k = all.axis<int64_t>("k", {0, 1, 5, 16, 33, 65});
  const auto o = all.axis<int64_t>("o", {1, 15, 16, 17, 40, 130});
  const auto act = all.axis<ActivationSpec>("activation", activations());
  const auto residual =
      all.axis<Residual>("residual", {Residual::kNone, Residual::kAfter, Residual::kFirst});
  const auto bias = all.axis<bool>("bias", {false, true});
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 3});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 5});
  LinearAttributes t;
  all.run([&](Case& c) {
    t = {};
    t.activation = act(), t.residual_first = residual() == Residual::kFirst;
    Dims x = rows(), y = rows();
    x.push_back(k()), y.push_back(o());
    const Weights w = random_weights(Packing::kPanels16, {o(), k()}, 5, k()),
                  b = random_weights(Packing::kVector16, {o()}, 6, 1);
    c.op = OpCode::kLinear, c.attributes = &t, c.tolerance = {5e-6, 1e-5};
    c.inputs = {Tensor(DType::kF32, x, x_padding()).random(1), w.packed,
                bias() ? b.packed : Tensor()};
    if (residual() != Residual::kNone)
      c.inputs.push_back(Tensor(DType::kF32, y, y_padding()).random(2));
    c.oracle_inputs = c.inputs;
    c.oracle_inputs[1] = w.dense;
    if (bias()) c.oracle_inputs[2] = b.dense;
    c.outputs = {Tensor(DType::kF32, y, y_padding())};
    return true;
  });
}

TEST_CASE("combinations: matmul") {
  struct Batches {
    Dims a, b, y;
  };
  Combinations all("matmul", 3000, 3, 8);
  const auto trans_a = all.axis<bool>("trans_a", {false, true});
  const auto trans_b = all.axis<bool>("trans_b", {false, true});
  const auto alpha = all.axis<float>("alpha", {1, 0.5f, -2});
  const auto m = all.axis<int64_t>("m", {1, 2, 5, 17, 40});
  const auto n = all.axis<int64_t>("n", {1, 7, 16, 33, 70});
  const auto k = all.axis<int64_t>("k", {0, 1, 5, 24, 65});
  const auto batches = all.axis<Batches>("batches", {{{}, {}, {}},
                                                     {{3}, {3}, {3}},
                                                     {{3}, {}, {3}},
                                                     {{}, {2}, {2}},
                                                     {{2, 1}, {1, 3}, {2, 3}},
                                                     {{2, 3}, {3}, {2, 3}},
                                                     {{1, 2}, {2, 2}, {2, 2}},
                                                     {{2, 2}, {1, 2}, {2, 2}}});
  const auto a_padding = all.axis<int64_t>("a_padding", {0, 3});
  const auto b_padding = all.axis<int64_t>("b_padding", {0, 2});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 5});
  MatMulAttributes t;
  all.run([&](Case& c) {
    t.trans_a = trans_a(), t.trans_b = trans_b(), t.alpha = alpha();
    Dims a = batches().a, b = batches().b, y = batches().y;
    a.insert(a.end(), {trans_a() ? k() : m(), trans_a() ? m() : k()});
    b.insert(b.end(), {trans_b() ? n() : k(), trans_b() ? k() : n()});
    y.insert(y.end(), {m(), n()});
    c.op = OpCode::kMatMul, c.attributes = &t, c.tolerance = {5e-6, 5e-5};
    c.inputs = {Tensor(DType::kF32, a, a_padding()).random(1, -1, 1),
                Tensor(DType::kF32, b, b_padding()).random(2, -1, 1)};
    c.outputs = {Tensor(DType::kF32, y, y_padding())};
    return true;
  });
}
