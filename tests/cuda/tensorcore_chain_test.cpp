// SPDX-License-Identifier: Apache-2.0
// Chains in fast and fp16: products are those of tensor cores, stage by stage; the bits of the same
// stages as instructions of their own. In fast files a depthwise stage and the product behind it
// stay one launch; in fp16 files what lies between stages is f16 where the next one reads it.
// Inverted bottlenecks in one launch: bottleneck_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/base/checked_math.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/f16_weights.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Stage {
  ConvMethod method;
  uint32_t kernel, stride;
  int64_t outputs;
};
constexpr ConvMethod kDirect = ConvMethod::kDirect, kDepthwise = ConvMethod::kDepthwise;

struct Chain {
  ChainAttributes t;
  std::vector<int64_t> extents;  // h and w of every stage's output, they are equal
  std::vector<int64_t> channels;
  Work work;
};

Chain make_chain(std::vector<Stage> stages, int64_t size, int64_t channels, bool residual = false) {
  Chain c;
  c.t.stage_count = uint32_t(stages.size()), c.t.band_rows = 4;
  c.work.op = OpCode::kChain;
  c.work.inputs = {Tensor(DType::kF32, {1, size, size, channels}).random(1)};
  uint32_t seed = 2;
  for (size_t i = 0; i < stages.size(); i++) {
    const Stage& s = stages[i];
    Conv2dAttributes& t = c.t.stages[i];
    t.method = s.method, t.kernel_h = t.kernel_w = s.kernel, t.stride_h = t.stride_w = s.stride;
    t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = s.kernel / 2;
    t.activation = {i % 2 ? Activation::kNone : Activation::kRelu6, 0, 0};
    const bool depthwise = s.method == kDepthwise;
    const int64_t outputs = depthwise ? channels : s.outputs, window = s.kernel * s.kernel;
    if (depthwise) t.groups = uint32_t(channels);
    c.work.inputs.push_back(random_weights(depthwise ? Packing::kDepthwise16 : Packing::kPanels16,
                                           {outputs, s.kernel, s.kernel, depthwise ? 1 : channels},
                                           seed++, int(window * (depthwise ? 1 : channels)))
                                .packed);
    c.work.inputs.push_back(random_weights(Packing::kVector16, {outputs}, seed++, 1).packed);
    size = conv_extent<int64_t>(size, 2 * (s.kernel / 2), s.kernel, s.stride, 1);
    channels = outputs;
    c.extents.push_back(size), c.channels.push_back(channels);
  }
  c.work.output = Tensor(DType::kF32, {1, size, size, channels});
  if (residual)
    c.work.inputs.push_back(Tensor(DType::kF32, {1, size, size, channels}).random(seed));
  return c;
}

/// What lies between this stage and the next one.
DType between(const Chain& c, size_t i, GpuPrecision precision) {
  const bool reads_f16 =
      i + 1 < c.t.stage_count && (c.t.stages[i + 1].method == kDepthwise || c.channels[i] % 8 == 0);
  return precision == GpuPrecision::kFp16 && reads_f16 ? DType::kF16 : DType::kF32;
}

/// One stage on x by itself: on tensor cores where it is a product.
Tensor run_stage(const Chain& c, size_t i, const Tensor& x, GpuPrecision precision,
                 const GpuTraits& traits) {
  const bool is_last = i + 1 == c.t.stage_count;
  Work one{OpCode::kConv2d,
           &c.t.stages[i],
           {x, c.work.inputs[1 + 2 * i], c.work.inputs[2 + 2 * i]},
           Tensor(between(c, i, precision), {1, c.extents[i], c.extents[i], c.channels[i]})};
  if (is_last && c.work.inputs.size() % 2 == 0) one.inputs.push_back(c.work.inputs.back());
  if (c.t.stages[i].method == kDepthwise) {
    one.inputs[0] = with_type(x, DType::kF32), one.output = with_type(one.output, DType::kF32);
    return with_type(on_cpu(one), between(c, i, precision));
  }
  const Run run = on_gpu(one, precision, 0, traits);
  CHECK(run.status.ok());
  return run.y;
}

/// `apart`: in fast files no two stages are one launch, so that each can be compared by itself.
void check_chain(Chain* c, int multiprocessors, size_t launches_of_products, bool apart) {
  c->work.attributes = &c->t;
  const Tensor want = on_cpu(c->work);
  for (const GpuPrecision precision : {GpuPrecision::kFast, GpuPrecision::kFp16}) {
    CAPTURE(int(precision));
    GpuTraits traits;
    traits.multiprocessors = multiprocessors;
    Chain packed = *c;
    packed.work.attributes = &packed.t;
    if (precision == GpuPrecision::kFp16) pack_f16_weights(&packed.work);
    const Run run = on_gpu(packed.work, precision, 0, traits);
    REQUIRE(run.status.ok());
    check_close(run.y, want,
                precision == GpuPrecision::kFp16 ? check::kF16Product : check::kTf32Product);
    const auto is_product = [](const std::string& k) {
      return k.find("product_") != std::string::npos;
    };
    const bool joins = !apart && precision == GpuPrecision::kFast;
    CHECK(size_t(std::count_if(run.kernels.begin(), run.kernels.end(), is_product)) ==
          launches_of_products + (!apart && !joins));
    CHECK(run.ran("depthwise_pointwise") == joins);
    CHECK(run.ran("_word_") == (precision == GpuPrecision::kFp16));
    int64_t at = -1;
    for (const uint32_t order : {1u, 33u}) {
      const bool same = on_gpu(packed.work, precision, order, traits).y.same_bits(run.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
    if (joins) continue;
    Tensor x = packed.work.inputs[0];
    for (size_t i = 0; i < packed.t.stage_count; i++)
      x = run_stage(packed, i, x, precision, traits);
    const bool same = run.y.same_bits(x, &at);
    CHECK_MESSAGE(same, "element " << at << " is not that of the stages by themselves");
  }
}

}  // namespace

TEST_CASE("tensor cores: chains of products, stage by stage") {
  Chain windows =
      make_chain({{kDirect, 3, 2, 20}, {kDirect, 3, 1, 24}, {kDirect, 1, 1, 33}}, 13, 5);
  check_chain(&windows, 2, 3, true);
  Chain inverted =
      make_chain({{kDirect, 1, 1, 48}, {kDepthwise, 5, 1, 0}, {kDirect, 1, 1, 40}}, 9, 12, true);
  check_chain(&inverted, 2, 2, true);  // a window that no kernel of several stages has
}

TEST_CASE("tensor cores: a stage with more rows of taps than its kernel reads in pieces") {
  Chain c = make_chain({{kDirect, 1, 1, 16}, {kDirect, 16, 1, 16}}, 6, 16);
  c.work.attributes = &c.t;
  const Tensor want = on_cpu(c.work);
  for (const GpuPrecision precision : {GpuPrecision::kFast, GpuPrecision::kFp16}) {
    Chain packed = c;
    packed.work.attributes = &packed.t;
    if (precision == GpuPrecision::kFp16) pack_f16_weights(&packed.work);
    const Run run = on_gpu(packed.work, precision, 0, {});
    REQUIRE(run.status.ok());
    check_close(run.y, want,
                precision == GpuPrecision::kFp16 ? check::kF16Product : check::kTf32Product);
  }
}

TEST_CASE("tensor cores: a depthwise stage and few outputs behind it are one launch in fast") {
  Chain c = make_chain({{kDirect, 3, 1, 32}, {kDepthwise, 3, 1, 0}, {kDirect, 1, 1, 16}}, 20, 8);
  check_chain(&c, 2, 1, false);
}

TEST_CASE("tensor cores: two stages in one launch, in the buffer that those behind leave room in") {
  struct Case {
    std::vector<Stage> behind;
    const char* last;  // the last kernel
    bool joins;
  };
  const Case cases[] = {
      {{{kDirect, 3, 1, 16}, {kDirect, 1, 1, 8}}, "product_tf32_rows", true},
      {{{kDirect, 1, 1, 96}, {kDepthwise, 3, 2, 0}, {kDirect, 1, 1, 24}}, "bottleneck_tf32", true},
      {{{kDirect, 3, 1, 64}, {kDirect, 1, 1, 8}}, "product_tf32_rows", false}};
  for (const Case& test : cases) {
    std::vector<Stage> stages = {{kDirect, 3, 2, 32}, {kDepthwise, 3, 1, 0}, {kDirect, 1, 1, 16}};
    stages.insert(stages.end(), test.behind.begin(), test.behind.end());
    Chain c = make_chain(stages, 40, 3);
    c.work.attributes = &c.t;
    GpuTraits traits;
    traits.multiprocessors = 3;
    const Run run = on_gpu(c.work, GpuPrecision::kFast, 0, traits);
    REQUIRE(run.status.ok());
    CAPTURE(test.last);
    CHECK(run.ran("depthwise_pointwise") == test.joins);
    CHECK(run.kernels.back().find(test.last) != std::string::npos);
    check_close(run.y, on_cpu(c.work), check::kTf32Product);
    int64_t at = -1;
    CHECK(on_gpu(c.work, GpuPrecision::kFast, 33, traits).y.same_bits(run.y, &at));
  }
}

TEST_CASE("tensor cores: which chains are theirs, and which weights of a chain are packed") {
  Chain c =
      make_chain({{kDirect, 3, 1, 16}, {kDepthwise, 3, 1, 0}, {kDirect, 1, 1, 16}}, 8, 4, true);
  c.work.attributes = &c.t;
  CHECK(is_tensorcore_row(c.work, 87, GpuPrecision::kFp16));
  CHECK(is_tensorcore_row(c.work, 75, GpuPrecision::kFast));
  CHECK(!is_tensorcore_row(c.work, 72, GpuPrecision::kFp16));
  CHECK(!is_tensorcore_row(c.work, 87, GpuPrecision::kExact));
  const auto takes = [&](uint32_t operand, Packing packing, Packing bias) {
    return takes_f16_weights(OpCode::kChain, &c.t, operand, packing, bias);
  };
  CHECK(takes(1, Packing::kPanels16, Packing::kVector16));
  CHECK(!takes(1, Packing::kDense, Packing::kVector16));
  CHECK(!takes(1, Packing::kPanels16, Packing::kDense));
  CHECK(!takes(2, Packing::kPanels16, Packing::kVector16));  // a bias
  CHECK(!takes(3, Packing::kPanels16, Packing::kVector16));  // depthwise
  CHECK(takes(5, Packing::kPanels16, Packing::kVector16));
  CHECK(!takes(7, Packing::kPanels16, Packing::kVector16));  // the residual
}
