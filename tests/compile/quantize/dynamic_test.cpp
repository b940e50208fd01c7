// SPDX-License-Identifier: Apache-2.0
// Linear layers whose inputs are quantized in each run: which nodes, their weights and biases, and
// how near the numbers stay.
#include "tools/compile/quantize/dynamic.h"

#include <doctest/doctest.h>

#include "tests/compile/quantize/rewritten.h"

using namespace ingot;
using namespace ingot::test;

namespace {

auto quantize_products(GraphBuilder& g, const std::vector<std::string>& keep = {}) {
  return rewritten(
      g, keep, [](graph::Model& model, const quantize::Keep& kept, std::set<std::string>* matched) {
        return quantize::quantize_in_each_run(model, kept, matched);
      });
}

}  // namespace

TEST_CASE("products with constant weights, their biases, and one quantization of what they share") {
  GraphBuilder g;
  const ValueId x = g.input("x", {2, 3, 16});
  const ValueId a = g.node(op::Add, {g.weights({5}), g.node(op::MatMul, {x, g.weights({16, 5})})});
  g.output(a), g.output(g.node(op::MatMul, {x, g.weights({16, 7})}));
  const auto made = quantize_products(g);
  CHECK(made.found.names.size() == 2);
  CHECK(g.count("DynamicQuantize") == 1);
  CHECK(g.count("QuantizedLinear") == 2);
  CHECK(g.count("Add") == 0);
  CHECK(made.moved > 0);
  CHECK(made.moved < 0.05);
  const graph::Constant& w = *g.model.constant(g.find("QuantizedLinear")->inputs[1]);
  CHECK(w.dtype == DType::kI8);
  CHECK(w.dims == std::vector<int64_t>{5, 16});
}

TEST_CASE("Gemm of either order, and what stays in floating point") {
  for (const int64_t turned : {0, 1}) {
    GraphBuilder g;
    const Dimensions dims = turned ? Dimensions{5, 16} : Dimensions{16, 5};
    g.output(g.node(op::Gemm, {g.input("x", {3, 16}), g.weights(dims), g.weights({5})},
                    {{attr::transB, turned}, {attr::alpha, 1.0}, {attr::beta, 1.0}}));
    CHECK(quantize_products(g).moved < 0.05);
    CHECK(g.count("QuantizedLinear") == 1);
    CHECK(g.count("Gemm") == 0);
  }
  GraphBuilder g;  // a factor, a product of two inputs, a bias that is no constant
  const ValueId x = g.input("x", {3, 16}), w = g.weights({16, 5});
  g.output(g.node(op::Gemm, {x, w}, {{attr::alpha, 2.0}, {attr::beta, 1.0}}));
  g.output(g.node(op::MatMul, {x, g.input("w", {16, 5})}));
  g.output(g.node(op::Gemm, {x, w, g.input("b", {5})}, {{attr::alpha, 1.0}, {attr::beta, 1.0}}));
  CHECK(quantize_products(g).moved < 0.05);
  CHECK(g.count("QuantizedLinear") == 1);
  CHECK(g.count("Gemm") == 1);
  CHECK(g.count("MatMul") == 1);
  CHECK(g.count("Add") == 1);
}

TEST_CASE("layers that stay, and weights that no byte stands for") {
  GraphBuilder g;
  const ValueId x = g.input("x", {3, 16});
  g.output(g.node(op::MatMul, {x, g.weights({16, 5})}));
  g.output(g.node(op::MatMul, {x, g.weights({16, 5})}));
  const std::string name = g.model.graph.nodes[1].name;
  const auto made = quantize_products(g, {name, "nothing"});
  CHECK(made.found.kept == 1);
  CHECK(made.matched == std::set<std::string>{name});
  CHECK(g.count("MatMul") == 1);
  GraphBuilder wrong;
  wrong.output(
      wrong.node(op::MatMul, {wrong.input("x", {3, 2}), wrong.constant({2, 1}, {1, INFINITY})}));
  quantize::Keep none;
  std::set<std::string> matched;
  try {
    quantize::quantize_in_each_run(wrong.model, none, &matched);
    FAIL("infinite weights were taken");
  } catch (const graph::ConversionError& error) {
    CHECK(error.exit_code == 4);
    CHECK(error.message.find("its weights have NaN or infinite numbers") != std::string::npos);
  }
}

TEST_CASE("linear layers that read floating point, and those behind them, may take rows") {
  GraphBuilder g;
  const ValueId x = g.input("x", {2, 3, 16});
  const ValueId inner = g.node(op::MatMul, {x, g.weights({16, 8})});
  g.output(g.node(op::MatMul, {g.node(op::Gelu, {inner}), g.weights({8, 5})}));
  const ValueId image = g.input("image", {1, 4, 2, 2});
  const ValueId seen = g.node(op::Relu, {g.node(op::Conv, {image, g.weights({6, 4, 1, 1})})});
  const ValueId of_bytes =
      g.node(op::Transpose, {seen}, {{attr::perm, std::vector<int64_t>{0, 2, 3, 1}}});
  g.output(g.node(op::MatMul, {of_bytes, g.weights({6, 3})}));
  quantize::prepare(g.model);
  const std::set<size_t> rows = quantize::find_row_layers(g.model, {});
  REQUIRE(rows.size() == 2);
  for (const size_t node : rows) CHECK(g.model.graph.nodes[node].inputs[0] != of_bytes);
  const std::set<ValueId> only = {g.model.graph.nodes[*rows.begin()].inputs[1]};
  std::set<std::string> matched;
  CHECK(quantize::quantize_in_each_run(g.model, {}, &matched, &only).names.size() == 1);
  CHECK(g.count("QuantizedLinear") == 1);
}

TEST_CASE(
    "a program that computes on integers is known by any operator that does, in a branch too") {
  for (const graph::Operator op :
       {op::MatMulInteger, op::ConvInteger, op::DynamicQuantizeLinear, op::DequantizeLinear,
        op::QuantizedPool2d, op::Lookup, op::OffsetByte}) {
    auto branch = std::make_shared<graph::Graph>();
    branch->nodes.emplace_back().op = op;
    CHECK(branch->has_integers());
    graph::Graph whole;
    graph::Node& choice = whole.nodes.emplace_back();
    choice.op = op::If;
    choice.attributes[attr::then_branch] = branch;
    CHECK(whole.has_integers());
    branch->nodes[0].op = op::MatMul;
    CHECK(!whole.has_integers());
  }
}
