// SPDX-License-Identifier: Apache-2.0
// Norms and softmax that exporters spell out.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::test;
using Integers = std::vector<int64_t>;

namespace {

ValueId mean(GraphBuilder& g, ValueId x, Integers axes) {
  return g.node(op::ReduceMean, {x}, {{attr::axes, axes}, {attr::keepdims, int64_t(1)}});
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon); `spelling` says how.
ValueId standardised(GraphBuilder& g, ValueId x, Integers axes, const std::string& spelling) {
  ValueId d = g.node(op::Sub, {x, mean(g, x, axes)}), twin = d;
  if (spelling == "difference twice") twin = g.node(op::Sub, {x, mean(g, x, axes)});
  ValueId square =
      spelling == "product" ? g.node(op::Mul, {twin, twin}) : g.node(op::Pow, {twin, g.number(2)});
  ValueId variance = g.node(op::Add, {mean(g, square, axes), g.number(1e-5)});
  if (spelling == "power") return g.node(op::Mul, {d, g.node(op::Pow, {variance, g.number(-0.5)})});
  ValueId root = g.node(op::Sqrt, {variance});
  if (spelling == "reciprocal") return g.node(op::Mul, {d, g.node(op::Reciprocal, {root})});
  return g.node(op::Div, {d, root});
}

}  // namespace

TEST_CASE("recognize_norms: LayerNormalization in every spelling is one node") {
  for (const char* spelling : {"quotient", "difference twice", "product", "power", "reciprocal"})
    for (bool scaled : {false, true}) {
      CAPTURE(spelling);
      GraphBuilder g;
      ValueId y = standardised(g, g.input("x", {2, 5, 8}), {2}, spelling);
      if (scaled) y = g.node(op::Add, {g.node(op::Mul, {y, g.weights({8})}), g.weights({8})});
      g.output(y);
      double worst = INFINITY;
      convert_and_compare(g, worst);
      CHECK(worst <= 1e-5);
      CHECK(g.listing() == "Normalize ");
      CHECK(g.find("Normalize")->text(attr::kind, "") == "layer");
      CHECK(g.find("Normalize")->inputs.size() == (scaled ? 3 : 1));
    }
}

TEST_CASE(
    "recognize_norms: over channels in front it is a Transpose away, which convolutions take "
    "back") {
  GraphBuilder g;
  ValueId x = g.input("x", {1, 3, 4, 6});
  auto pointwise = [&](ValueId v, int64_t in, int64_t out) {
    return g.node(op::Conv, {v, g.weights({out, in, 1, 1})},
                  {{attr::kernel_shape, Integers{1, 1}},
                   {attr::strides, Integers{1, 1}},
                   {attr::dilations, Integers{1, 1}},
                   {attr::pads, Integers{0, 0, 0, 0}},
                   {attr::group, int64_t(1)}});
  };
  ValueId y = standardised(g, pointwise(x, 3, 8), {1}, "quotient");
  y = g.node(op::Add, {g.node(op::Mul, {y, g.weights({1, 8, 1, 1})}), g.weights({8, 1, 1})});
  g.output(pointwise(y, 8, 4));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-4);
  CHECK(g.count("Normalize") == 1);
  CHECK(g.count("Transpose") == 1);
  CHECK(g.count("Elementwise") == 0);  // scale and bias went into the next convolution
}

TEST_CASE(
    "recognize_norms: over height and width with one scale a channel it is InstanceNormalization") {
  for (bool scaled : {false, true}) {
    GraphBuilder g;
    ValueId y = standardised(g, g.input("x", {2, 6, 4, 5}), {2, 3}, "quotient");
    if (scaled)
      y = g.node(op::Add, {g.node(op::Mul, {g.weights({6, 1, 1}), y}), g.weights({1, 6, 1, 1})});
    g.output(y);
    double worst = INFINITY;
    convert_and_compare(g, worst);
    CHECK(worst <= 1e-5);
    REQUIRE(g.count("Normalize") == 1);
    CHECK(g.find("Normalize")->text(attr::kind, "") == "instance");
    CHECK(g.count("Elementwise") == 0);
  }
}

TEST_CASE("recognize_norms: groups as channels of an InstanceNormalization are one node") {
  struct Case {
    Dimensions split;  // of [2, 6, 4, 5]
    double scale;
    bool is_group;
  };
  for (const Case& c :
       {Case{{2, 3, 40}, 1, true}, Case{{2, 1, 6, 20}, 1, true}, Case{{2, 4, 30}, 1, false},
        Case{{1, 6, 40}, 1, false}, Case{{2, 3, 40}, 2, false}}) {
    CAPTURE(c.split[1]);
    GraphBuilder g;
    const ValueId x = g.node(op::Relu, {g.input("x", {2, 6, 4, 5})});
    const int64_t groups = c.split[1];
    const std::vector<double> ones(size_t(groups), c.scale), zeros(size_t(groups), 0);
    ValueId y = g.node(op::Reshape, {x}, {}, c.split);
    y = g.node(op::InstanceNormalization,
               {y, g.constant({groups}, ones), g.constant({groups}, zeros)});
    y = g.node(op::Reshape, {y}, {}, {2, 6, 4, 5});
    g.output(g.node(op::Add, {g.node(op::Mul, {y, g.weights({6, 1, 1})}), g.weights({6, 1, 1})}));
    double worst = INFINITY;
    convert_and_compare(g, worst);
    CHECK(worst <= 1e-5);
    REQUIRE(g.count("Normalize") == 1);
    CHECK((g.find("Normalize")->text(attr::kind, "") == "group") == c.is_group);
    if (c.is_group) CHECK(g.count("Elementwise") == 1);  // the Relu
  }
}

TEST_CASE("recognize_norms: RMSNormalization has no mean") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 5, 8});
  ValueId variance =
      g.node(op::Add, {mean(g, g.node(op::Pow, {x, g.number(2)}), {2}), g.number(1e-6)});
  g.output(g.node(op::Mul,
                  {g.weights({8}),
                   g.node(op::Mul, {x, g.node(op::Reciprocal, {g.node(op::Sqrt, {variance})})})}));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-5);
  CHECK(g.listing() == "Normalize ");
  CHECK(g.find("Normalize")->text(attr::kind, "") == "rms");
}

TEST_CASE(
    "recognize_norms: a variance over other dimensions than the mean, or of another value, is "
    "none") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 5, 8}), z = g.input("z", {2, 5, 8});
  ValueId d = g.node(op::Sub, {x, mean(g, x, {2})});
  auto root = [&](ValueId v, Integers axes) {
    return g.node(
        op::Sqrt,
        {g.node(op::Add, {mean(g, g.node(op::Pow, {v, g.number(2)}), axes), g.number(1e-5)})});
  };
  g.output(g.node(op::Div, {d, root(d, {1})}));
  g.output(g.node(op::Div, {d, root(z, {2})}));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-5);
  REQUIRE(g.count("Normalize") == 1);  // the first is the RMSNormalization of the difference
  CHECK(g.find("Normalize")->text(attr::kind, "") == "rms");
}

TEST_CASE("recognize_softmax: exponentials over their sum") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 5, 8});
  auto reduced = [&](graph::Operator op, ValueId v) {
    return g.node(op, {v}, {{attr::axes, Integers{1}}, {attr::keepdims, int64_t(1)}});
  };
  ValueId exponential = g.node(op::Exp, {g.node(op::Sub, {x, reduced(op::ReduceMax, x)})});
  g.output(g.node(op::Div, {exponential, reduced(op::ReduceSum, exponential)}));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-6);
  CHECK(g.listing() == "Softmax ");
}

TEST_CASE("recognize_channel_shuffle: between convolutions it is one Transpose inside the pixels") {
  GraphBuilder g;
  auto pointwise = [&](ValueId v, int64_t in, int64_t out) {
    return g.node(op::Conv, {v, g.weights({out, in, 1, 1})},
                  {{attr::kernel_shape, Integers{1, 1}},
                   {attr::strides, Integers{1, 1}},
                   {attr::dilations, Integers{1, 1}},
                   {attr::pads, Integers{0, 0, 0, 0}},
                   {attr::group, int64_t(1)}},
                  {1, out, 4, 6});
  };
  ValueId x = pointwise(g.input("x", {1, 3, 4, 6}), 3, 12);
  x = g.node(op::Reshape, {x}, {}, {1, 3, 4, 4, 6});
  x = g.node(op::Transpose, {x}, {{attr::perm, Integers{0, 2, 1, 3, 4}}}, {1, 4, 3, 4, 6});
  x = g.node(op::Reshape, {x}, {}, {1, 12, 4, 6});
  g.output(pointwise(x, 12, 2));
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CHECK(worst <= 1e-5);
  CHECK(g.count("Transpose") == 2);  // the shuffle, and the output in the source's order
}
