// SPDX-License-Identifier: Apache-2.0
// What goes into the producer's weights, bias, padding, residual and activation, and what must not.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::test;
using passes::Attributes;
using Integers = std::vector<int64_t>;
using Text = std::string;

namespace {

Attributes kernel3(int64_t pad = 1, int64_t group = 1) {
  return {{attr::kernel_shape, Integers{3, 3}},
          {attr::strides, Integers{1, 1}},
          {attr::dilations, Integers{1, 1}},
          {attr::pads, Integers{pad, pad, pad, pad}},
          {attr::group, group}};
}

// The only compute node of the result, after checking that nothing else is left and that the
// numbers agree.
const graph::Node* alone(GraphBuilder& g, const char* op, double tolerance = 1e-5) {
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst <= tolerance);
  for (const graph::Node& node : g.model.graph.nodes)
    CHECK((text(node.op) == op || node.op == op::Reshape || node.op == op::Transpose));
  const graph::Node* found = g.find(op);
  REQUIRE(found);
  return found;
}

}  // namespace

TEST_CASE(
    "fold_affine: BatchNormalization, scales and shifts behind a convolution vanish into it") {
  for (const char* kind : {"bn", "mul", "div", "add", "sub", "sub from", "neg", "all"}) {
    CAPTURE(kind);
    GraphBuilder g;
    ValueId y = g.node(
        op::Conv, {g.input("x", {1, 3, 6, 6}), g.weights({4, 3, 3, 3}), g.weights({4})}, kernel3());
    Text k = kind;
    if (k == "bn" || k == "all")
      y = g.node(op::BatchNormalization,
                 {y, g.weights({4}), g.weights({4}), g.weights({4}), g.positive({4})},
                 {{attr::epsilon, 1e-3}});
    if (k == "mul" || k == "all") y = g.node(op::Mul, {g.weights({4, 1, 1}), y});
    if (k == "div" || k == "all") y = g.node(op::Div, {y, g.positive({1, 4, 1, 1})});
    if (k == "add" || k == "all") y = g.node(op::Add, {y, g.number(0.25)});
    if (k == "sub" || k == "all") y = g.node(op::Sub, {y, g.weights({4, 1, 1})});
    if (k == "sub from" || k == "all") y = g.node(op::Sub, {g.weights({4, 1, 1}), y});
    if (k == "neg" || k == "all") y = g.node(op::Neg, {y});
    g.output(y);
    const graph::Node* conv = alone(g, "Conv2d");
    CHECK(conv->sources.size() == (k == "all" ? 8 : 2));
  }
}

TEST_CASE("fold_affine: not along a dimension that is not the channels, and not for two readers") {
  GraphBuilder g;
  ValueId y = g.node(op::Conv, {g.input("x", {1, 3, 6, 6}), g.weights({4, 3, 3, 3})}, kernel3());
  g.output(g.node(op::Mul, {y, g.weights({6, 1})}));
  g.output(g.node(op::Relu, {y}));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-5);
  CHECK(g.count("Elementwise") == 2);
}

TEST_CASE("fold_affine: in front of a convolution, a shift only where nothing is padded") {
  for (int64_t pad : {0, 1})
    for (int64_t group : {1, 2}) {
      CAPTURE(pad);
      GraphBuilder g;
      ValueId x = g.node(op::BatchNormalization,
                         {g.input("x", {1, 4, 6, 6}), g.weights({4}), g.weights({4}),
                          g.weights({4}), g.positive({4})},
                         {{attr::epsilon, 1e-3}});
      g.output(g.node(op::Conv, {x, g.weights({6, 4 / group, 3, 3})}, kernel3(pad, group)));
      double worst = INFINITY;
      convert_and_compare(g, worst);
      CHECK(worst <= 1e-5);
      CHECK(g.count("Elementwise") == size_t(pad));
    }
}

TEST_CASE("fold_affine: bias behind MatMul, scale in front of it") {
  GraphBuilder g;
  ValueId x = g.node(op::Mul, {g.input("x", {2, 3, 5}), g.weights({5})});
  g.output(g.node(op::Add, {g.weights({4}), g.node(op::MatMul, {x, g.weights({5, 4})})}));
  alone(g, "Linear");
}

TEST_CASE("fold_affine: left out when weights must stay as they are") {
  GraphBuilder g;
  g.output(g.node(
      op::Add, {g.weights({4}), g.node(op::MatMul, {g.input("x", {2, 3, 5}), g.weights({5, 4})})}));
  passes::PassOptions options;
  options.fold_weights = false;
  double worst = INFINITY;
  convert_and_compare(g, worst, options);
  CHECK(worst <= 1e-6);
  CHECK(g.count("Elementwise") == 1);
}

TEST_CASE("fold_activation: every activation in every spelling goes into the convolution") {
  struct Case {
    const char* name;
    const char* expected;
  };
  const Case cases[] = {{"relu", "relu"},
                        {"clip 0 6", "relu6"},
                        {"clip", "clip"},
                        {"leaky", "leaky_relu"},
                        {"sigmoid", "sigmoid"},
                        {"tanh", "tanh"},
                        {"x sigmoid x", "silu"},
                        {"swish", "silu"},
                        {"hard_swish", "hard_swish"},
                        {"x hard_sigmoid x", "hard_swish"},
                        {"x clip / 6", "hard_swish"},
                        {"x (clip / 6)", "hard_swish"},
                        {"x clip * sixth", "hard_swish"},
                        {"hard_sigmoid", "hard_sigmoid"},
                        {"clip / 6", "hard_sigmoid"},
                        {"gelu erf", "gelu"},
                        {"gelu erf half first", "gelu"},
                        {"gelu tanh pow", "gelu_tanh"},
                        {"gelu tanh muls", "gelu_tanh"},
                        {"mish", "mish"},
                        {"softplus", "softplus"},
                        {"log 1 + exp", "softplus"},
                        {"elu", "elu"},
                        {"number * relu", "relu_affine"},
                        {"number + 2 hard_swish", "hard_swish_affine"},
                        {"hard_swish - number", "hard_swish_affine"}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    GraphBuilder g;
    ValueId x = g.node(op::Conv,
                       {g.input("x", {1, 3, 6, 6}), g.weights({4, 3, 3, 3}), g.weights({4})},
                       kernel3()),
            y = x;
    Text n = c.name;
    auto clipped = [&] {
      return g.node(op::Clip, {g.node(op::Add, {x, g.number(3)})},
                    {{attr::min, 0.0}, {attr::max, 6.0}});
    };
    auto one_plus_erf = [&] {
      return g.node(op::Add, {g.node(op::Erf, {g.node(op::Div, {x, g.number(std::sqrt(2.0))})}),
                              g.number(1)});
    };
    if (n == "relu") y = g.node(op::Relu, {x});
    if (n == "clip 0 6") y = g.node(op::Clip, {x}, {{attr::min, 0.0}, {attr::max, 6.0}});
    if (n == "clip") y = g.node(op::Clip, {x}, {{attr::min, -1.0}, {attr::max, 0.5}});
    if (n == "leaky") y = g.node(op::LeakyRelu, {x}, {{attr::alpha, 0.1}});
    if (n == "sigmoid") y = g.node(op::Sigmoid, {x});
    if (n == "tanh") y = g.node(op::Tanh, {x});
    if (n == "x sigmoid x") y = g.node(op::Mul, {g.node(op::Sigmoid, {x}), x});
    if (n == "swish") y = g.node(op::Swish, {x}, {{attr::alpha, 1.0}});
    if (n == "hard_swish") y = g.node(op::HardSwish, {x});
    if (n == "x hard_sigmoid x")
      y = g.node(op::Mul,
                 {x, g.node(op::HardSigmoid, {x}, {{attr::alpha, 1.0 / 6}, {attr::beta, 0.5}})});
    if (n == "x clip / 6") y = g.node(op::Div, {g.node(op::Mul, {x, clipped()}), g.number(6)});
    if (n == "x (clip / 6)") y = g.node(op::Mul, {x, g.node(op::Div, {clipped(), g.number(6)})});
    if (n == "x clip * sixth")
      y = g.node(op::Mul, {g.node(op::Mul, {clipped(), g.number(1.0 / 6)}), x});
    if (n == "hard_sigmoid")
      y = g.node(op::HardSigmoid, {x}, {{attr::alpha, 0.2}, {attr::beta, 0.5}});
    if (n == "clip / 6") y = g.node(op::Div, {clipped(), g.number(6)});
    if (n == "gelu erf") y = g.node(op::Mul, {g.node(op::Mul, {x, one_plus_erf()}), g.number(0.5)});
    if (n == "gelu erf half first")
      y = g.node(op::Mul, {g.node(op::Mul, {x, g.number(0.5)}), one_plus_erf()});
    if (n.rfind("gelu tanh", 0) == 0) {
      ValueId cube = n == "gelu tanh pow" ? g.node(op::Pow, {x, g.number(3)})
                                          : g.node(op::Mul, {g.node(op::Mul, {x, x}), x});
      ValueId sum = g.node(op::Add, {x, g.node(op::Mul, {cube, g.number(0.044715)})});
      ValueId tanh = g.node(op::Tanh, {g.node(op::Mul, {sum, g.number(std::sqrt(2 / M_PI))})});
      y = g.node(op::Mul,
                 {g.node(op::Mul, {x, g.number(0.5)}), g.node(op::Add, {tanh, g.number(1)})});
    }
    if (n == "mish") y = g.node(op::Mul, {x, g.node(op::Tanh, {g.node(op::Softplus, {x})})});
    if (n == "softplus") y = g.node(op::Softplus, {x});
    if (n == "log 1 + exp")
      y = g.node(op::Log, {g.node(op::Add, {g.node(op::Exp, {x}), g.number(1)})});
    if (n == "number * relu") y = g.node(op::Mul, {g.number(0.25), g.node(op::Relu, {x})});
    if (n == "number + 2 hard_swish")
      y = g.node(op::Add,
                 {g.number(-2), g.node(op::Mul, {g.node(op::HardSwish, {x}), g.number(2)})});
    if (n == "hard_swish - number")
      y = g.node(op::Sub, {g.node(op::HardSwish, {x}), g.number(0.5)});
    if (n == "elu") y = g.node(op::Elu, {x}, {{attr::alpha, 0.5}});
    g.output(y);
    CHECK(alone(g, "Conv2d")->text(attr::activation, "none") == c.expected);
  }
}

TEST_CASE("fold_activation: near misses stay what they are") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 5});
  g.output(g.node(op::Mul, {x, g.node(op::Clip, {g.node(op::Add, {x, g.number(2)})},
                                      {{attr::min, 0.0}, {attr::max, 6.0}})}));
  ValueId half = g.node(op::Mul, {x, g.number(0.4)});
  g.output(g.node(
      op::Mul,
      {half, g.node(op::Add, {g.node(op::Erf, {g.node(op::Div, {x, g.number(std::sqrt(2.0))})}),
                              g.number(1)})}));
  g.output(g.node(op::Div, {g.node(op::Clip, {g.node(op::Add, {x, g.number(3)})},
                                   {{attr::min, 0.0}, {attr::max, 5.0}}),
                            g.number(6)}));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-6);
}

TEST_CASE("fold_residual: sum before the activation, behind it, and of two convolutions") {
  for (const char* kind : {"first", "behind", "both"}) {
    CAPTURE(kind);
    GraphBuilder g;
    ValueId x = g.input("x", {1, 4, 6, 6});
    ValueId left = g.node(op::Conv, {x, g.weights({4, 4, 3, 3})}, kernel3()), right = x;
    if (kind == Text("both")) right = g.node(op::Conv, {x, g.weights({4, 4, 3, 3})}, kernel3());
    if (kind == Text("behind")) left = g.node(op::Relu, {left});
    ValueId y = g.node(op::Add, {right, left});
    if (kind != Text("behind")) y = g.node(op::Relu, {y});
    g.output(y);
    const graph::Node* conv = alone(g, "Conv2d");
    const graph::Node& last = g.model.graph.nodes[g.model.graph.nodes.size() - 2];
    (void)conv;
    CHECK(last.inputs.size() == 4);
    CHECK(last.integer(attr::residual_first, 0) == int64_t(kind != Text("behind")));
    CHECK(g.count("Conv2d") == (kind == Text("both") ? 2 : 1));
  }
}

TEST_CASE("fold_residual: not when the sum broadcasts, and not twice") {
  GraphBuilder g;
  ValueId x = g.input("x", {1, 4, 6, 6});
  ValueId y = g.node(op::Conv, {x, g.weights({4, 4, 3, 3})}, kernel3());
  y = g.node(op::Add, {y, g.input("row", {1, 4, 1, 1})});
  y = g.node(op::Add,
             {g.node(op::Add, {g.node(op::Conv, {x, g.weights({4, 4, 3, 3})}, kernel3()), x}), y});
  g.output(y);
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-5);
  CHECK(g.count("Elementwise") == 1);
}

TEST_CASE("fold_padding: zeros go into convolutions and averages, other values do not") {
  for (double value : {0.0, 1.0})
    for (const char* op : {"Conv", "AveragePool"}) {
      CAPTURE(op);
      GraphBuilder g;
      ValueId x = g.node(op::Pad, {g.input("x", {1, 4, 6, 6})},
                         {{attr::mode, Text("constant")},
                          {attr::before, graph::Dims{0, 0, 1, 2}},
                          {attr::value, value}},
                         {1, 4, 9, 8});
      if (op == Text("Conv"))
        g.output(g.node(op::Conv, {x, g.weights({4, 4, 3, 3})}, kernel3(0)));
      else
        g.output(g.node(op::AveragePool, {x}, kernel3(0)));
      double worst = INFINITY;
      convert_and_compare(g, worst);
      CHECK(worst <= 1e-5);
      CHECK(g.count("Pad") == size_t(value != 0));
    }
}

TEST_CASE("fold_products: transposes and factors go into MatMul") {
  GraphBuilder g;
  ValueId q = g.node(op::Mul, {g.input("q", {2, 4, 6}), g.number(0.5)});
  ValueId k = g.node(op::Transpose, {g.input("k", {2, 3, 6})}, {{attr::perm, Integers{0, 2, 1}}});
  g.output(g.node(op::Div, {g.node(op::MatMul, {q, k}), g.number(4)}));
  const graph::Node* product = alone(g, "MatMul");
  CHECK(product->integer(attr::trans_b, 0) == 1);
  CHECK(product->number(attr::alpha, 1) == doctest::Approx(0.125));
}

TEST_CASE("materialize_weights: one number spread over the shape of weights becomes weights") {
  GraphBuilder g;
  ValueId w = g.node(op::Expand, {g.number(0.25)}, {}, {4, 3, 3, 3});
  g.output(g.node(op::Conv, {g.input("x", {1, 3, 6, 6}), w}, kernel3()));
  alone(g, "Conv2d");
}
