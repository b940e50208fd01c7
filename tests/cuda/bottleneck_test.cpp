// SPDX-License-Identifier: Apache-2.0
// An inverted bottleneck in one launch, in fast and fp16 files: the bits of its stages one after
// the other, in every order of threads, without a bank conflict; and which chains have none.
#include <doctest/doctest.h>

#include <limits>

#include "runtime/op/conv2d.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Bottleneck {
  const char* name;
  int64_t h = 9, w = 9, c = 16, expanded = 32, o = 16, batch = 1;
  uint32_t stride = 1;
  uint32_t top = 1, left = 1, bottom = 1, right = 1;
  Activation activation = Activation::kRelu6, last = Activation::kNone;
  bool residual = false, residual_first = false, bias = true;
  bool infinite = false;  // a weight of expand
  int64_t padding = 0;    // of x's pixels, in elements
  int multiprocessors = 16;
  bool joins = true, joins_f16 = true;
};

struct Stages {
  ChainAttributes t;
  int64_t h[3], w[3], channels[3];
  Work work;
};

Stages stages_of(const Bottleneck& b, GpuPrecision precision) {
  Stages s;
  const DType dtype = precision == GpuPrecision::kFp16 ? DType::kF16 : DType::kF32;
  const int64_t inputs[] = {b.c, b.expanded, b.expanded};
  s.t.stage_count = 3, s.t.band_rows = 4;
  s.work.op = OpCode::kChain;
  // products read words of two channels only where these are eights
  s.work.inputs = {
      Tensor(b.c % 8 ? DType::kF32 : dtype, {b.batch, b.h, b.w, b.c}, b.padding).random(1)};
  for (int i = 0; i < 3; i++) {
    Conv2dAttributes& t = s.t.stages[i];
    const bool window = i == 1;
    s.channels[i] = i == 2 ? b.o : b.expanded;
    s.h[i] = i ? s.h[i - 1] : b.h, s.w[i] = i ? s.w[i - 1] : b.w;
    t.activation = {i == 2 ? b.last : b.activation, 0.1f, 0.7f};
    if (window) {
      t.method = ConvMethod::kDepthwise, t.groups = uint32_t(b.expanded);
      t.kernel_h = t.kernel_w = 3, t.stride_h = t.stride_w = b.stride;
      t.pad_top = b.top, t.pad_left = b.left, t.pad_bottom = b.bottom, t.pad_right = b.right;
      s.h[i] = conv_extent<int64_t>(b.h, b.top + b.bottom, 3, b.stride, 1);
      s.w[i] = conv_extent<int64_t>(b.w, b.left + b.right, 3, b.stride, 1);
    }
    const int64_t k = window ? 1 : inputs[i], taps = window ? 3 : 1;
    s.work.inputs.push_back(random_weights(window ? Packing::kDepthwise16 : Packing::kPanels16,
                                           {s.channels[i], taps, taps, k}, uint32_t(2 + i),
                                           taps * taps * k)
                                .packed);
    if (b.infinite && i == 0)
      static_cast<float*>(s.work.inputs.back().view().data)[3] =
          std::numeric_limits<float>::infinity();
    s.work.inputs.push_back(
        b.bias ? random_weights(Packing::kVector16, {s.channels[i]}, uint32_t(5 + i), 1).packed
               : Tensor());
  }
  s.t.stages[2].residual_first = b.residual_first;
  const std::vector<int64_t> y = {b.batch, s.h[2], s.w[2], b.o};
  s.work.output = Tensor(dtype, y);
  if (b.residual) s.work.inputs.push_back(Tensor(dtype, y).random(8));
  return s;
}

/// The stages as instructions of their own: products on tensor cores, the window on the CPU.
Tensor run_stages(const Bottleneck& b, const Stages& s, GpuPrecision precision,
                  const GpuTraits& traits) {
  Tensor x = s.work.inputs[0];
  const DType dtype = x.view().dtype;
  for (int i = 0; i < 3; i++) {
    Work one{OpCode::kConv2d,
             &s.t.stages[i],
             {x, s.work.inputs[size_t(1 + 2 * i)], s.work.inputs[size_t(2 + 2 * i)]},
             Tensor(dtype, {b.batch, s.h[i], s.w[i], s.channels[i]})};
    if (i == 2 && b.residual) one.inputs.push_back(s.work.inputs.back());
    if (i == 1) {
      one.inputs[0] = with_type(x, DType::kF32), one.output = with_type(one.output, DType::kF32);
      x = with_type(on_cpu(one), dtype);
      continue;
    }
    const Run run = on_gpu(one, precision, 0, traits);
    REQUIRE(run.status.ok());
    REQUIRE(run.splits == 1);
    x = run.y;
  }
  return x;
}

void check_bottleneck(const Bottleneck& b) {
  for (const GpuPrecision precision : {GpuPrecision::kFast, GpuPrecision::kFp16}) {
    INFO(std::string(b.name));
    CAPTURE(int(precision));
    const bool is_f16 = precision == GpuPrecision::kFp16;
    Stages s = stages_of(b, precision);
    s.work.attributes = &s.t;
    GpuTraits traits;
    traits.multiprocessors = b.multiprocessors;
    Stages wide = stages_of(b, GpuPrecision::kFast);
    wide.work.attributes = &wide.t;
    if (is_f16) {
      for (Tensor* t : {&wide.work.inputs[0], &wide.work.inputs.back()})
        if (t == &wide.work.inputs[0] || b.residual)
          *t = with_type(t == &wide.work.inputs[0] ? s.work.inputs[0] : s.work.inputs.back(),
                         DType::kF32);
      pack_f16_weights(&s.work);
    }
    const Run run = on_gpu(s.work, precision, 0, traits);
    REQUIRE(run.status.ok());
    const bool joins = is_f16 ? b.joins_f16 : b.joins;
    CHECK(run.ran(is_f16 ? "bottleneck_f16" : "bottleneck_tf32") == joins);
    CHECK((run.kernels.size() == 1) == joins);
    check_close(run.y, on_cpu(wide.work), is_f16 ? check::kF16Product : check::kTf32Product);
    if (!joins) continue;
    int64_t at = -1;
    for (const uint32_t order : {1u, 33u}) {
      const bool same = on_gpu(s.work, precision, order, traits).y.same_bits(run.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
    const bool same = run.y.same_bits(run_stages(b, s, precision, traits), &at);
    CHECK_MESSAGE(same, "element " << at << " is not that of the stages by themselves");
  }
}

// One case is a line.
// clang-format off
const Bottleneck kBottlenecks[] = {
    {.name = "whole slices"},
    {.name = "residual, two images", .h = 12, .w = 8, .o = 16, .batch = 2, .residual = true},
    {.name = "residual before the activation", .last = Activation::kRelu, .residual = true,
     .residual_first = true},
    {.name = "stride 2, odd", .h = 15, .w = 13, .stride = 2},
    {.name = "stride 2, even, padding behind", .h = 16, .w = 12, .stride = 2, .top = 0, .left = 0},
    {.name = "stride 2, hard_swish", .h = 9, .w = 17, .c = 24, .expanded = 72, .o = 40,
     .stride = 2, .activation = Activation::kHardSwish},
    {.name = "no padding", .h = 10, .w = 11, .top = 0, .left = 0, .bottom = 0, .right = 0},
    {.name = "more padding than a window", .h = 5, .w = 4, .top = 3, .left = 4, .bottom = 2,
     .right = 5},
    {.name = "channels between two slices", .c = 8, .expanded = 40, .o = 20},
    {.name = "channels between two steps", .c = 40, .expanded = 56, .o = 33},
    {.name = "many channels", .h = 6, .w = 5, .c = 96, .expanded = 64, .o = 96},
    {.name = "one pixel", .h = 1, .w = 1, .c = 32, .expanded = 96, .o = 24, .batch = 5},
    {.name = "a row", .h = 1, .w = 37, .c = 16, .expanded = 32, .o = 8},
    {.name = "more tiles than multiprocessors", .h = 30, .w = 29, .c = 8, .expanded = 64, .o = 8,
     .multiprocessors = 8},
    {.name = "silu", .activation = Activation::kSilu, .last = Activation::kSilu},
    {.name = "hard_swish, residual", .h = 7, .w = 7, .expanded = 48, .o = 16,
     .activation = Activation::kHardSwish, .residual = true},
    {.name = "sigmoid: what lies outside is no activation", .activation = Activation::kSigmoid},
    {.name = "leaky_relu", .activation = Activation::kLeakyRelu},
    {.name = "clip that moves zeros", .activation = Activation::kClip},
    {.name = "no activation, no bias", .activation = Activation::kNone, .bias = false},
    {.name = "rows of x that lie apart", .padding = 8},
    {.name = "outputs that are no fours", .o = 19},
    {.name = "an infinite weight: what lies outside is 0", .infinite = true},
    {.name = "expanded channels that are no eights", .expanded = 36, .joins_f16 = false},
    {.name = "channels that are no eights", .c = 12, .joins_f16 = false},
    {.name = "channels that are no fours", .c = 10, .joins = false, .joins_f16 = false},
    {.name = "a window that moves by three", .stride = 3, .joins = false, .joins_f16 = false},
};
// clang-format on

}  // namespace

TEST_CASE("tensor cores: an inverted bottleneck is one launch, with the bits of three") {
  for (const Bottleneck& b : kBottlenecks) check_bottleneck(b);
}

TEST_CASE("tensor cores: a bottleneck without outputs, and a stage behind it") {
  Bottleneck b = {.name = ""};
  Stages s = stages_of(b, GpuPrecision::kFast);
  s.work.attributes = &s.t;
  s.t.stage_count = 4;
  s.work.inputs[5] = Tensor(DType::kF32, {0, 1, 1, b.expanded});
  s.work.inputs[5].view().packing = Packing::kPanels16;
  s.work.inputs[6] = Tensor();
  s.work.inputs.push_back(Tensor(DType::kF32, {8, 1, 1, 0}));
  s.work.inputs.back().view().packing = Packing::kPanels16;
  s.work.inputs.push_back(random_weights(Packing::kVector16, {8}, 3, 1).packed);
  s.work.output = Tensor(DType::kF32, {1, b.h, b.w, 8});
  const Run run = on_gpu(s.work, GpuPrecision::kFast, 0, GpuTraits());
  REQUIRE(run.status.ok());
  check_close(run.y, on_cpu(s.work), check::kTf32Product);
}
