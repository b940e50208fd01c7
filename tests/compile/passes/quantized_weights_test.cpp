// SPDX-License-Identifier: Apache-2.0
// Constants behind DequantizeLinear that a product in floating point reads: they stay as they are,
// no number moves, and what is no weight of a row by row product becomes f32.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/linear.h"
#include "tests/support/graph_builder.h"
#include "tools/compile/passes/pipeline.h"
#include "tools/compile/passes/quantize/block_weights.h"
#include "tools/compile/passes/quantize/quantize_weights.h"

using namespace ingot;
using namespace ingot::test;
using Numbers = std::vector<int64_t>;

namespace {

struct WeightBuilder : GraphBuilder {
  template <class T>
  ValueId known(DType dtype, const Dimensions& dims, const std::vector<T>& all) {
    const ValueId id = model.add_constant("k" + std::to_string(model.values.size()),
                                          graph::make_constant(dtype, dims, all.data()));
    model.values[size_t(id)].dtype = dtype;
    return id;
  }
  /// Numbers of low .. high, a scale for each of `scales`, zero points from `zero` on.
  ValueId dequantized(DType dtype, const Dimensions& dims, int64_t low, int64_t high,
                      const Dimensions& scales, int64_t axis, int64_t block, int64_t zero) {
    int64_t count = 1, parts = 1;
    for (const int64_t d : dims) count *= d;
    for (const int64_t d : scales) parts *= d;
    std::vector<uint8_t> all, zeros;
    std::vector<float> by;
    for (int64_t i = 0; i < count; i++)
      all.push_back(uint8_t(low + (i * 37 + i / 7) % (high - low + 1)));
    for (int64_t i = 0; i < parts; i++) {
      by.push_back(0.01f * float(i % 5 + 1));
      zeros.push_back(uint8_t(zero + (zero ? i % 3 : 0)));
    }
    passes::Attributes attributes = {{attr::axis, axis}};
    if (block) attributes[attr::block_size] = block;
    return node(
        op::DequantizeLinear,
        {known(dtype, dims, all), known(DType::kF32, scales, by), known(dtype, scales, zeros)},
        attributes, dims, DType::kF32);
  }
};

/// A product of x [3, 40] that has to be one Linear with scales, and equal to f32.
const graph::Node* one_linear(WeightBuilder& g, int64_t bits) {
  double worst = 1;
  convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst <= 1e-6);
  REQUIRE(g.count("Linear") == 1);
  CHECK(g.count("Elementwise") == 0);
  const graph::Node* made = g.find("Linear");
  REQUIRE(made->inputs.size() > size_t(linear_weights::kScales));
  CHECK(made->integer(attr::bits, 0) == bits);
  return made;
}

}  // namespace

TEST_CASE("weights behind DequantizeLinear stay: types, axes, blocks, zero points") {
  struct Form {
    DType dtype;
    int64_t low, high, zero, bits;
  };
  const Form forms[] = {{DType::kI8, -128, 127, 0, 8},
                        {DType::kI8, -8, 7, 0, 4},
                        {DType::kI8, -8, 7, 1, 4},
                        {DType::kU8, 0, 255, 120, 8},
                        {DType::kU8, 0, 15, 8, 4}};
  for (const Form& f : forms) {
    for (const bool transposed : {false, true}) {
      const Dimensions dims = transposed ? Dimensions{9, 40} : Dimensions{40, 9};
      const int64_t outputs = transposed ? 0 : 1;
      struct Scales {
        Dimensions dims;
        int64_t axis, block, expected;
      };
      const Scales all[] = {{{}, 0, 0, 0},
                            {{9}, outputs, 0, 0},
                            {transposed ? Dimensions{9, 3} : Dimensions{3, 9}, 1 - outputs, 16, 16},
                            {transposed ? Dimensions{9, 1} : Dimensions{1, 9}, 1 - outputs, 64, 0}};
      for (const Scales& s : all) {
        CAPTURE(s.block);
        CAPTURE(transposed);
        WeightBuilder g;
        const ValueId x = g.input("x", {3, 40}), w = g.dequantized(f.dtype, dims, f.low, f.high,
                                                                   s.dims, s.axis, s.block, f.zero);
        g.output(transposed ? g.node(op::Gemm, {x, w, g.weights({9})},
                                     {{attr::alpha, 1.0},
                                      {attr::beta, 1.0},
                                      {attr::transA, int64_t(0)},
                                      {attr::transB, int64_t(1)}},
                                     {3, 9})
                            : g.node(op::MatMul, {x, w}, {}, {3, 9}));
        const graph::Node* made = one_linear(g, f.bits);
        CHECK(made->integer(attr::block, -1) == s.expected);
        CHECK((made->inputs[2] >= 0) == transposed);
      }
    }
  }
}

TEST_CASE("a bias, a residual and an activation go into such a Linear") {
  WeightBuilder g;
  const ValueId x = g.input("x", {3, 40}), r = g.input("r", {3, 9}),
                w = g.dequantized(DType::kI8, {40, 9}, -8, 7, {9}, 1, 0, 0);
  const ValueId y = g.node(op::Add, {g.node(op::MatMul, {x, w}, {}, {3, 9}), g.weights({9})});
  g.output(g.node(op::Relu, {g.node(op::Add, {g.node(op::Abs, {r}), y})}));
  double worst = 1;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-6);
  const graph::Node* made = g.find("Linear");
  REQUIRE(made->inputs.size() == 5);
  CHECK(made->inputs[2] >= 0);
  CHECK(made->inputs[3] >= 0);
  CHECK(made->text(attr::activation, "") == "relu");
  CHECK(made->integer(attr::residual_first, 0) == 1);
}

TEST_CASE("what is no row with scales of its own becomes f32, with the same numbers") {
  struct Other {
    const char* what;
    Dimensions scales;
    int64_t axis, block;
  };
  for (const Other& o :
       {Other{"a scale of each k", {40}, 0, 0}, Other{"blocks of outputs", {40, 3}, 1, 3},
        Other{"blocks that are no eights", {4, 9}, 0, 12}}) {
    CAPTURE(o.what);
    WeightBuilder g;
    const ValueId x = g.input("x", {3, 40}),
                  w = g.dequantized(DType::kI8, {40, 9}, -100, 100, o.scales, o.axis, o.block, 0);
    g.output(g.node(op::MatMul, {x, w}, {}, {3, 9}));
    double worst = 1;
    convert_and_compare(g, worst);
    CHECK(worst <= 1e-6);
    REQUIRE(g.count("Linear") == 1);
    CHECK(g.find("Linear")->inputs.size() == 2);
  }
}

TEST_CASE("for a GPU quantized weights are f32") {
  WeightBuilder g;
  const ValueId x = g.input("x", {3, 40}),
                w = g.dequantized(DType::kU8, {40, 9}, 0, 15, {3, 9}, 0, 16, 8);
  g.output(g.node(op::MatMul, {x, w}, {}, {3, 9}));
  const auto expected = g.outputs();
  passes::PassOptions options;
  options.dynamic_integers = false;
  passes::run_passes(g.model, options);
  CHECK(g.find("Linear")->inputs.size() == 2);
  for (const auto& [name, tensor] : g.outputs())
    for (size_t i = 0; i < tensor.at.size(); i++)
      CHECK(std::fabs(tensor.at[i] - expected.at(name).at[i]) <= 1e-6);
}

TEST_CASE("weights of a Linear as 8 and 4 bits: how far they move, and what stays f32") {
  for (const int64_t bits : {8, 4})
    for (const int64_t block : {0, 32}) {
      WeightBuilder g;
      const ValueId x = g.input("x", {2, 80}),
                    hidden = g.node(op::MatMul, {x, g.weights({80, 40})}, {}, {2, 40});
      g.output(g.node(op::MatMul, {hidden, g.weights({40, 4})}, {}, {2, 4}));  // too few
      passes::run_passes(g.model);
      passes::WeightQuantization how;
      how.bits = bits, how.block = block;
      const auto report = passes::quantize_weights(g.model, how);
      CHECK(report.linears == 1);
      CHECK(report.kept == 1);
      CHECK(passes::why_not_core_form(g.model) == "");
      CHECK(report.signal_to_noise > (bits == 8 ? 40 : 17));
      CHECK(report.bytes_after < report.bytes_before / (bits == 8 ? 3 : 5));
      const graph::Node* made = g.find("Linear");
      REQUIRE(made->inputs.size() == 5);
      CHECK(made->integer(attr::block, -1) == block);
      const passes::BlockWeights w = passes::block_weights_of(g.model, *made);
      for (const int8_t n : w.numbers) CHECK_MESSAGE((bits == 8 || (n >= -8 && n <= 7)), int(n));
    }
  WeightBuilder g;
  const ValueId x = g.input("x", {2, 80});
  g.output(g.node(op::MatMul, {x, g.weights({80, 40})}, {}, {2, 40}));
  passes::run_passes(g.model);
  passes::WeightQuantization how;
  how.keeps = [](const std::string& name) { return name == "MatMul_0"; };
  CHECK(passes::quantize_weights(g.model, how).kept == 1);
  CHECK(g.find("Linear")->inputs.size() == 2);
}
