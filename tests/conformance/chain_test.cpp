// SPDX-License-Identifier: Apache-2.0
// Chains of convolutions: the same results as their stages, for every band and team.
#include <doctest/doctest.h>

#include "tests/conformance/conv2d_cases.h"
#include "tests/conformance/weights.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct StageCase {
  int64_t cout;
  uint32_t k, stride, pad;
  ActivationSpec act = {};
  bool depthwise = false;
  bool bias = true;
};
struct ChainCase {
  const char* name;
  struct {
    int64_t n, h, w, channels;
    bool nchw = false;
  } x;
  Residual residual;
  std::vector<StageCase> stages;
  int64_t x_padding = 0, y_padding = 0;
};

const std::vector<ChainCase>& chain_cases() {
  static const std::vector<ChainCase> cases = {
      {"expand, depthwise, project",
       {1, 9, 11, 5},
       Residual::kAfter,
       {{20, 1, 1, 0, kRelu6Spec}, {20, 3, 1, 1, kRelu6Spec, true}, {7, 1, 1, 0}},
       1,
       2},
      {"stem, depthwise, project",
       {1, 17, 19, 3, true},
       Residual::kNone,
       {{8, 3, 2, 1, kReluSpec},
        {8, 3, 1, 1, kReluAffineSpec, true},
        {24, 1, 1, 0, kHardSwishAffineSpec}}},
      {"stride 2 at the end",
       {2, 13, 10, 6},
       Residual::kNone,
       {{18, 1, 1, 0, kReluSpec}, {18, 5, 2, 2, kSiluSpec, true}}},
      {"windows in a row",
       {1, 12, 9, 4},
       Residual::kFirst,
       {{9, 3, 1, 1, kLeakySpec}, {16, 3, 1, 1, kReluSpec}, {3, 3, 1, 1, kReluSpec}}},
      {"windows without pads",
       {1, 14, 12, 4},
       Residual::kNone,
       {{17, 3, 1, 0, kReluSpec}, {5, 3, 2, 0}, {4, 2, 1, 0, {}, false, false}}},
      {"depthwise first",
       {1, 8, 8, 19},
       Residual::kNone,
       {{19, 3, 1, 1, kReluSpec, true}, {33, 1, 1, 0, kReluSpec}, {33, 3, 1, 1, {}, true}}},
      {"one stage", {1, 6, 6, 4}, Residual::kAfter, {{10, 3, 1, 1, kReluSpec}}},
      {"stride beyond the window",
       {1, 15, 7, 4},
       Residual::kNone,
       {{8, 1, 1, 0, kReluSpec}, {8, 1, 3, 0}, {8, 3, 1, 1, {}, true}}},
      {"depthwise into pointwise, in one launch of a GPU",
       {1, 23, 24, 4},
       Residual::kAfter,
       {{24, 1, 1, 0, kRelu6Spec}, {24, 3, 1, 1, kRelu6Spec, true}, {13, 1, 1, 0, kSiluSpec}},
       0,
       3},
      {"the same from x, with stride, more channels than a k-tile, and windows behind it",
       {2, 41, 31, 36},
       Residual::kNone,
       {{36, 3, 2, 1, kSiluSpec, true, false}, {32, 1, 1, 0, kReluSpec}, {8, 3, 1, 1}},
       4,
       0},
      {"the same as the whole chain, in place of its residual",
       {1, 20, 20, 16},
       Residual::kFirst,
       {{16, 3, 1, 1, kReluSpec, true}, {16, 1, 1, 0, kReluSpec}}},
      {"pixels of a ring a multiple of 4 KiB apart",
       {1, 5, 6, 4},
       Residual::kNone,
       {{1024, 1, 1, 0, kReluSpec},
        {1024, 3, 1, 1, {}, true},
        {9, 1, 1, 0},
        {512, 1, 1, 0},
        {5, 1, 2, 0}}},
      {"empty batch", {0, 6, 6, 4}, Residual::kNone, {{10, 3, 1, 1}, {3, 1, 1, 0}}},
  };
  return cases;
}

void run(const ChainCase& c, uint32_t band_rows) {
  ChainAttributes t;
  t.stage_count = uint32_t(c.stages.size()), t.band_rows = band_rows;
  Case test{std::string(c.name) + ", band " + std::to_string(band_rows),
            OpCode::kChain,
            &t,
            {},
            {},
            {5e-6, 1e-5}};
  const std::vector<int64_t> dims = c.x.nchw
                                        ? std::vector<int64_t>{c.x.n, c.x.channels, c.x.h, c.x.w}
                                        : std::vector<int64_t>{c.x.n, c.x.h, c.x.w, c.x.channels};
  test.inputs = {Tensor(DType::kF32, dims, c.x_padding).random(1)};
  test.oracle_inputs = test.inputs;
  int64_t h = c.x.h, w = c.x.w, channels = c.x.channels;
  for (size_t i = 0; i < c.stages.size(); i++) {
    const StageCase& s = c.stages[i];
    Conv2dAttributes& a = t.stages[i];
    a.kernel_h = a.kernel_w = s.k, a.stride_h = a.stride_w = s.stride,
    a.pad_top = a.pad_left = a.pad_bottom = a.pad_right = s.pad;
    a.method = s.depthwise ? ConvMethod::kDepthwise : ConvMethod::kDirect,
    a.groups = s.depthwise ? uint32_t(channels) : 1;
    a.activation = s.act,
    a.input_layout = i == 0 && c.x.nchw ? ChannelLayout::kNchw : ChannelLayout::kNhwc;
    a.residual_first = i + 1 == c.stages.size() && c.residual == Residual::kFirst;
    const int64_t slice = s.depthwise ? 1 : channels;
    const Weights weights =
        random_weights(s.depthwise ? Packing::kDepthwise16 : Packing::kPanels16,
                       {s.cout, s.k, s.k, slice}, uint32_t(7 + i), s.k * s.k * slice);
    const Weights bias = random_weights(Packing::kVector16, {s.cout}, uint32_t(70 + i), 1);
    test.inputs.push_back(weights.packed), test.inputs.push_back(s.bias ? bias.packed : Tensor());
    test.oracle_inputs.push_back(weights.dense),
        test.oracle_inputs.push_back(s.bias ? bias.dense : Tensor());
    h = conv_extent<int64_t>(h, 2 * s.pad, s.k, s.stride, 1),
    w = conv_extent<int64_t>(w, 2 * s.pad, s.k, s.stride, 1), channels = s.cout;
  }
  if (c.residual != Residual::kNone) {
    test.inputs.push_back(Tensor(DType::kF32, {c.x.n, h, w, channels}, c.y_padding).random(2));
    test.oracle_inputs.push_back(test.inputs.back());
  }
  test.outputs = {Tensor(DType::kF32, {c.x.n, h, w, channels}, c.y_padding)};
  run_case(test);
}

}  // namespace

TEST_CASE("chain: every band of rows gives the bits of one lane") {
  for (const ChainCase& c : chain_cases())
    for (uint32_t band : {1u, 2u, 3u, 1000u}) run(c, band);
}

TEST_CASE("chain: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(ChainAttributes&, Case&);
  };
  const Wrong wrongs[] = {
      {"a chain has 1 to 8 stages", [](ChainAttributes& t, Case&) { t.stage_count = 0; }},
      {"a chain has 1 to 8 stages", [](ChainAttributes& t, Case&) { t.stage_count = 9; }},
      {"chain.band_rows is 1 to 2^20", [](ChainAttributes& t, Case&) { t.band_rows = 0; }},
      {"chain.band_rows is 1 to 2^20",
       [](ChainAttributes& t, Case&) { t.band_rows = 0x80000000u; }},
      {"a chain has x, weights and bias of each stage, and a residual at most",
       [](ChainAttributes& t, Case&) { t.stage_count = 3; }},
      {"a chain has x, weights and bias of each stage, and a residual at most",
       [](ChainAttributes&, Case& c) { c.inputs.resize(4); }},
      {"a chain's stages are direct or depthwise",
       [](ChainAttributes& t, Case&) { t.stages[1].method = kWino; }},
      {"a chain's stages are direct or depthwise",
       [](ChainAttributes& t, Case&) { t.stages[0].method = ConvMethod(9); }},
      {"only the first stage of a chain reads nchw",
       [](ChainAttributes& t, Case&) { t.stages[1].input_layout = ChannelLayout::kNchw; }},
      {"only the last stage of a chain has a residual",
       [](ChainAttributes& t, Case&) { t.stages[0].residual_first = true; }},
      {"depthwise has a group a channel",
       [](ChainAttributes& t, Case&) { t.stages[1].groups = 4; }},
      {"the window fits the padded image",
       [](ChainAttributes& t, Case&) { t.stages[1].dilation_h = 100; }},
      {"weights' dims agree with attributes and operands",
       [](ChainAttributes& t, Case&) { t.stages[0].kernel_h = 3; }},
      {"a chain's y is [N,OH,OW,O]",
       [](ChainAttributes&, Case& c) { c.outputs[0].view().dims[1] = 7; }},
      {"required input is present", [](ChainAttributes&, Case& c) { c.inputs[3] = Tensor(); }},
      {"same dimensions", [](ChainAttributes&, Case& c) { c.inputs[5].view().dims[1] = 7; }},
      {"weights are dense over rows",
       [](ChainAttributes&, Case& c) {
         c.inputs[3].view().packing = Packing::kDense;
         c.inputs[3].view().row_stride = 2;
       }},
      {"a chain's scratch is below 2^46 bytes",
       [](ChainAttributes& t, Case& c) {
         t.stages[1].kernel_h = 1u << 20, t.stages[1].pad_top = (1u << 20) - 1;
         t.stages[1].pad_bottom = 0, c.inputs[3].view().dims[1] = 1 << 20;
         for (Tensor* image : {&c.inputs[0], &c.outputs[0]})
           image->view().dims[1] = 1 << 20, image->view().dims[2] = 1 << 27;
         c.inputs.resize(5);
       }},
  };
  for (const Wrong& w : wrongs) {
    ChainAttributes t;
    t.stage_count = 2, t.band_rows = 2;
    t.stages[1].method = kDw, t.stages[1].groups = 8,
    t.stages[1].kernel_h = t.stages[1].kernel_w = 3;
    t.stages[1].pad_top = t.stages[1].pad_bottom = t.stages[1].pad_left = t.stages[1].pad_right = 1;
    Case c{w.rule, OpCode::kChain, &t};
    const auto shape = [](std::vector<int64_t> dims, Packing p = Packing::kDense) {
      return Tensor(DType::kF32, dims, 0, p);
    };
    c.inputs = {shape({1, 6, 6, 4}),
                shape({8, 1, 1, 4}, Packing::kPanels16),
                shape({8}, Packing::kVector16),
                shape({8, 3, 3, 1}, Packing::kDepthwise16),
                Tensor(),
                shape({1, 6, 6, 8})};
    c.outputs = {shape({1, 6, 6, 8})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
