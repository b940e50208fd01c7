// SPDX-License-Identifier: Apache-2.0
// Chains of bytes: the integers of their stages, for every band, team, window and tail.
#include "runtime/op/quantized_chain.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/quantized_products_case.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Which stages there are.
enum class Form { kExpand, kProject, kBoth };

QuantizedConv2dAttributes pointwise(uint32_t y_zero, uint32_t low) {
  QuantizedConv2dAttributes t;
  t.y_zero = y_zero, t.low = low;
  return t;
}

/// Weights and numbers of a stage of o outputs, each a sum of k products.
void add_stage(Case* c, const QuantizedConv2dAttributes& t, int64_t o, int64_t depth,
               uint32_t seed) {
  const int64_t k = int64_t(t.kernel_h) * t.kernel_w * depth;
  const Tensor dense =
      Tensor(DType::kI8, {o, t.kernel_h, t.kernel_w, depth}).random(seed, -128, 127);
  c->inputs.push_back(packed_conv_weights(t, dense));
  c->oracle_inputs.push_back(dense);
  Tensor multipliers(DType::kF32, {o});
  for (int64_t i = 0; i < o; i++)
    multipliers.set(i, (1 + double(i % 7) / 7) / (150 * std::sqrt(double(k + 1))));
  add_channels(c, {Tensor(DType::kI32, {o}).random(seed + 1, -4000, 4000), multipliers}, o);
}

struct ChainCase {
  Form form = Form::kBoth;
  Dims x;                        // [N,H,W,C]
  int64_t between = 0, out = 0;  // channels of the depthwise stage and of the projection
  QuantizedConv2dAttributes depthwise;
  int64_t padding = 0;
};

/// False where the window does not fit.
bool chain_case(const ChainCase& s, uint32_t band_rows, QuantizedChainAttributes* t, Case* c,
                uint32_t seed) {
  *t = {};
  t->band_rows = band_rows;
  *c = {"quantized_chain", OpCode::kQuantizedChain, t, {}, {}, {0, 0}};
  c->inputs = {Tensor(DType::kU8, s.x, s.padding).random(seed, 0, 255)};
  c->oracle_inputs = c->inputs;
  const auto stage = [&](const QuantizedConv2dAttributes& a, int64_t o, int64_t depth) {
    t->stages[t->stage_count++] = a;
    add_stage(c, a, o, depth, seed + 10 * t->stage_count);
  };
  int64_t channels = s.x[3];
  if (s.form != Form::kProject) {
    stage(pointwise(s.depthwise.x_zero, 10), s.between, channels);
    channels = s.between;
  }
  QuantizedConv2dAttributes d = s.depthwise;
  d.method = ConvMethod::kDepthwise, d.groups = uint32_t(channels);
  stage(d, channels, 1);
  if (s.form != Form::kExpand) stage(pointwise(130, 0), s.out, channels);
  const int64_t tall = int64_t(d.dilation_h) * (d.kernel_h - 1) + 1,
                wide = int64_t(d.dilation_w) * (d.kernel_w - 1) + 1,
                oh = s.x[1] + d.pad_top + d.pad_bottom - tall,
                ow = s.x[2] + d.pad_left + d.pad_right - wide;
  if (oh < 0 || ow < 0) return false;
  c->outputs = {Tensor(DType::kU8,
                       {s.x[0], oh / d.stride_h + 1, ow / d.stride_w + 1,
                        s.form == Form::kExpand ? channels : s.out},
                       s.padding)};
  return true;
}

}  // namespace

TEST_CASE("quantized_chain: the product of its attributes") {
  Combinations all("quantized_chain", 1200, 2, 0);
  const Axis<Dims> x = all.axis<Dims>(
      "x",
      {{1, 7, 9, 16}, {2, 5, 6, 4}, {1, 14, 31, 8}, {1, 1, 40, 20}, {3, 9, 2, 24}, {2, 6, 19, 64}});
  const Axis<int> form = all.axis<int>("form", {0, 1, 2});
  const Axis<int> between = all.axis<int>("between", {5, 16, 24, 96, 144});
  const Axis<int> out = all.axis<int>("outputs", {1, 16, 70});
  const Axis<Dims> kernel = all.axis<Dims>("kernel", {{3, 3}, {1, 4}, {5, 5}, {2, 1}});
  const Axis<Dims> stride = all.axis<Dims>("stride", {{1, 1}, {2, 2}, {3, 1}, {1, 3}});
  const Axis<Dims> dilation = all.axis<Dims>("dilation", {{1, 1}, {2, 2}});
  const Axis<Dims> pads = all.axis<Dims>("pads", {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 9}});
  const Axis<int> zero = all.axis<int>("zero", {0, 131});
  const Axis<int> band = all.axis<int>("band", {1, 2, 3, 1000});
  const Axis<int> padding = all.axis<int>("padding", {0, 5});
  QuantizedChainAttributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    ChainCase s;
    s.form = Form(form()), s.x = x(), s.between = between(), s.out = out(), s.padding = padding();
    QuantizedConv2dAttributes& d = s.depthwise;
    d.kernel_h = uint32_t(kernel()[0]), d.kernel_w = uint32_t(kernel()[1]);
    d.stride_h = uint32_t(stride()[0]), d.stride_w = uint32_t(stride()[1]);
    d.dilation_h = uint32_t(dilation()[0]), d.dilation_w = uint32_t(dilation()[1]);
    d.pad_top = uint32_t(pads()[0]), d.pad_left = uint32_t(pads()[1]);
    d.pad_bottom = uint32_t(pads()[2]), d.pad_right = uint32_t(pads()[3]);
    d.x_zero = uint32_t(zero()), d.y_zero = 120, d.low = 3, d.high = 250;
    return chain_case(s, uint32_t(band()), &t, &c, seed++);
  });
}

TEST_CASE("quantized_chain: pads beyond the window, wide images, no images") {
  struct Extreme {
    const char* name;
    Dims x;
    uint32_t kernel, stride, pad_left, pad_right;
  };
  const Extreme extremes[] = {
      {"the only window lies left of the image", {1, 3, 2, 8}, 3, 9, 5, 0},
      {"windows right of it", {1, 3, 2, 8}, 3, 1, 0, 7},
      {"many tiles across", {1, 12, 130, 8}, 3, 2, 1, 1},
      {"no images", {0, 6, 6, 8}, 3, 1, 1, 1},
  };
  for (const Extreme& e : extremes)
    for (const Form form : {Form::kExpand, Form::kProject, Form::kBoth}) {
      ChainCase s;
      s.form = form, s.x = e.x, s.between = 80, s.out = 24;
      QuantizedConv2dAttributes& d = s.depthwise;
      d.kernel_h = d.kernel_w = e.kernel, d.stride_w = e.stride;
      d.pad_top = d.pad_bottom = 1, d.pad_left = e.pad_left, d.pad_right = e.pad_right;
      d.x_zero = 77;
      QuantizedChainAttributes t;
      Case c;
      REQUIRE(chain_case(s, 4, &t, &c, 5));
      c.name = e.name;
      run_case(c);
    }
}

TEST_CASE("quantized_chain: the contract refuses") {
  using T = QuantizedChainAttributes;
  struct Wrong {
    const char* rule;
    void (*spoil)(T&, Case&);
  };
  const Wrong wrongs[] = {
      {"a quantized chain has 2 or 3 stages", [](T& t, Case&) { t.stage_count = 1; }},
      {"a quantized chain has 2 or 3 stages", [](T& t, Case&) { t.stage_count = 4; }},
      {"quantized_chain.band_rows is 1 to 2^20", [](T& t, Case&) { t.band_rows = 0; }},
      {"quantized_chain.band_rows is 1 to 2^20", [](T& t, Case&) { t.band_rows = 1u << 21; }},
      {"a quantized chain has x, weights and channels of each stage",
       [](T& t, Case&) { t.stage_count = 2; }},
      {"required input is present", [](T&, Case& c) { c.inputs[4] = Tensor(); }},
      {"a quantized chain is float_even, without zero points of weights",
       [](T& t, Case&) { t.stages[2].w_zero = 1; }},
      {"a quantized chain is float_even, without zero points of weights",
       [](T& t, Case&) { t.stages[1].requant = RequantMode::kFixedUp; }},
      {"beside one depthwise stage a quantized chain's are pointwise",
       [](T& t, Case&) { t.stages[2].method = ConvMethod::kDepthwise; }},
      {"beside one depthwise stage a quantized chain's are pointwise",
       [](T& t, Case&) { t.stages[0].stride_w = 2; }},
      {"beside one depthwise stage a quantized chain's are pointwise",
       [](T& t, Case&) { t.stages[2].pad_left = 1; }},
      {"a quantized chain has pointwise stages on either side of its depthwise one",
       [](T& t, Case&) { t.stages[1] = {}; }},
      {"a quantized chain has pointwise stages on either side of its depthwise one",
       [](T& t, Case&) { std::swap(t.stages[0], t.stages[1]); }},
      {"a quantized chain's x is u8",
       [](T&, Case& c) {
         c.inputs[0] = Tensor(DType::kI16, {1, 6, 6, 8});
       }},
      {"a quantized chain's x is a batch of images",
       [](T&, Case& c) {
         c.inputs[0] = Tensor(DType::kU8, {6, 6, 8});
       }},
      {"a quantized chain expands a multiple of 4 channels",
       [](T&, Case& c) {
         c.inputs[0] = Tensor(DType::kU8, {1, 6, 6, 7});
       }},
      {"depthwise has a group a channel", [](T& t, Case&) { t.stages[1].groups = 4; }},
      {"the window fits the padded image", [](T& t, Case&) { t.stages[1].dilation_h = 100; }},
      {"weights' dims agree with attributes and operands",
       [](T& t, Case&) { t.stages[1].kernel_h = 2; }},
      {"quantized_conv2d's y is [N,OH,OW,O]", [](T&, Case& c) { c.outputs[0].view().dims[2] = 7; }},
      {"low is at most high", [](T& t, Case&) { t.stages[0].low = 255, t.stages[0].high = 3; }},
  };
  ChainCase s;
  s.x = {1, 6, 6, 8}, s.between = 24, s.out = 16;
  s.depthwise.kernel_h = s.depthwise.kernel_w = 3;
  s.depthwise.pad_top = s.depthwise.pad_bottom = 1;
  T t;
  Case c;
  REQUIRE(chain_case(s, 2, &t, &c, 1));
  run_case(c);
  for (const Wrong& w : wrongs) {
    REQUIRE(chain_case(s, 2, &t, &c, 1));
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
