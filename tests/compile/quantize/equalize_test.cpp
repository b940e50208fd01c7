// SPDX-License-Identifier: Apache-2.0
// Channels between two convolutions, evened out.
#include "tools/compile/quantize/equalize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::quantize;
using namespace ingot::test;

namespace {

passes::Attributes taps(int64_t kernel, int64_t group) {
  const int64_t pad = kernel / 2;
  return {{attr::kernel_shape, std::vector<int64_t>{kernel, kernel}},
          {attr::strides, std::vector<int64_t>{1, 1}},
          {attr::dilations, std::vector<int64_t>{1, 1}},
          {attr::pads, std::vector<int64_t>{pad, pad, pad, pad}},
          {attr::group, group}};
}

/// [8, 4, 1, 1] whose rows are 2^-6 .. 2^8 times as large.
ValueId unbalanced_weights(GraphBuilder& g) {
  std::vector<double> all;
  for (int o = 0; o < 8; o++)
    for (int i = 0; i < 4; i++) all.push_back(std::ldexp(0.5 + 0.1 * i, 2 * o - 6));
  return g.constant({8, 4, 1, 1}, all);
}

std::vector<double> largest_of(const Tensor& t, int64_t channels) {
  std::vector<double> largest(size_t(channels), 0);
  const int64_t inner = t.elements() / channels;
  for (int64_t i = 0; i < t.elements(); i++)
    largest[size_t(i / inner)] = std::max(largest[size_t(i / inner)], std::fabs(t.at[size_t(i)]));
  return largest;
}

double spread(const std::vector<double>& numbers) {
  return *std::max_element(numbers.begin(), numbers.end()) /
         *std::min_element(numbers.begin(), numbers.end());
}

struct Pair {
  GraphBuilder g;
  ValueId between;
  explicit Pair(bool depthwise, graph::Operator limit = op::Relu, bool read_twice = false) {
    const ValueId x = g.input("x", {1, 4, 5, 5});
    const ValueId first = g.node(
        op::Conv, {g.node(op::Abs, {x}), unbalanced_weights(g), g.positive({8})}, taps(1, 1));
    between = g.node(limit, {first},
                     limit == op::Clip ? passes::Attributes{{attr::min, 0.0}, {attr::max, 6.0}}
                                       : passes::Attributes{});
    g.output(depthwise ? g.node(op::Conv, {between, g.weights({8, 1, 3, 3})}, taps(3, 8))
                       : g.node(op::Conv, {between, g.weights({6, 8, 1, 1})}, taps(1, 1)));
    if (read_twice) g.output(g.node(op::Tanh, {between}));
  }
  Tensor held() {
    GraphBuilder copy = g;
    copy.model.graph.outputs = {between};
    return copy.outputs().begin()->second;
  }
  std::vector<Equalized> find() {
    std::set<std::string> matched;
    return find_unbalanced(g.model, find_sites(g.model, {}, &matched),
                           {{between, largest_of(held(), 8)}});
  }
};

}  // namespace

TEST_CASE("equalized channels are alike, and the network computes the same") {
  for (const bool depthwise : {true, false}) {
    CAPTURE(depthwise);
    Pair pair(depthwise);
    const auto before = pair.g.outputs();
    const double unbalanced = spread(largest_of(pair.held(), 8));
    const std::vector<Equalized> found = pair.find();
    REQUIRE(found.size() == 1);
    equalize(pair.g.model, found);
    CHECK(difference(before, pair.g.outputs()) < 1e-4);
    const double after = spread(largest_of(pair.held(), 8));
    CHECK(unbalanced > 500);
    CHECK(after < (depthwise ? 1.001 : unbalanced / 20));
  }
}

TEST_CASE("what does not scale with its channels is left alone") {
  CHECK(Pair(true, op::Clip).find().empty());

  CHECK(Pair(false, op::Relu, true).find().empty());
}

TEST_CASE("in front of floating point, a product evens channels out") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 8, 5, 5});
  std::vector<double> sizes;
  for (int c = 0; c < 8; c++) sizes.push_back(std::ldexp(1.0, 2 * c - 6));
  const ValueId loud =
      g.node(op::Sqrt, {g.node(op::Abs, {g.node(op::Mul, {x, g.constant({8, 1, 1}, sizes)})})});
  g.output(g.node(op::Conv, {loud, g.weights({6, 8, 1, 1})}, taps(1, 1)));
  GraphBuilder seen = g;
  seen.model.graph.outputs = {loud};
  const auto before = g.outputs();
  std::set<std::string> matched;
  const auto found = find_unbalanced(g.model, find_sites(g.model, {}, &matched),
                                     {{loud, largest_of(seen.outputs().begin()->second, 8)}});
  REQUIRE(found.size() == 1);
  equalize(g.model, found);
  CHECK(difference(before, g.outputs()) < 1e-4);
  const Sites sites = find_sites(g.model, {}, &matched);
  REQUIRE(sites.layers.size() == 1);
  const ValueId even = sites.layers[0].input;
  CHECK(even != loud);
  seen = g;
  seen.model.graph.outputs = {even};
  CHECK(spread(largest_of(seen.outputs().begin()->second, 8)) < 40);
}

TEST_CASE("behind a layer that floating point reads, a product gives channels back their size") {
  for (const bool relu : {false, true}) {
    GraphBuilder g;
    const ValueId x = g.input("x", {1, 4, 5, 5});
    ValueId y = g.node(op::Conv, {g.node(op::Abs, {x}), unbalanced_weights(g), g.positive({8})},
                       taps(1, 1));
    if (relu) y = g.node(op::Relu, {y});
    g.output(g.node(op::Tanh, {y}));
    GraphBuilder seen = g;
    seen.model.graph.outputs = {y};
    const auto before = g.outputs();
    std::set<std::string> matched;
    const auto found = find_unbalanced(g.model, find_sites(g.model, {}, &matched),
                                       {{y, largest_of(seen.outputs().begin()->second, 8)}});
    REQUIRE(found.size() == 1);
    equalize(g.model, found);
    CHECK(difference(before, g.outputs()) < 1e-4);
    const Sites sites = find_sites(g.model, {}, &matched);
    CHECK(sites.layers[0].output != y);
    seen = g;
    seen.model.graph.outputs = {sites.layers[0].output};
    CHECK(spread(largest_of(seen.outputs().begin()->second, 8)) < 1.001);
  }
}

TEST_CASE("rows that several layers read are evened out for each; their outputs are f32 and stay") {
  GraphBuilder g;
  const ValueId x = g.node(op::Tanh, {g.input("x", {3, 8})});
  for (int i = 0; i < 2; i++) {
    const ValueId rows = g.node(op::MatMul, {x, g.weights({8, 5})});
    g.output(g.node(op::Tanh, {g.node(op::Add, {rows, g.weights({5})})}));
  }
  const auto before = g.outputs();
  std::set<std::string> matched;
  const Sites sites = find_sites(g.model, {}, &matched);
  REQUIRE(sites.layers.size() == 2);
  CHECK(sites.layers[0].gives_floats);
  const std::vector<double> unbalanced = {1, 2, 1, 2, 1, 2, 1, 50};
  const auto found = find_unbalanced(
      g.model, sites,
      {{x, unbalanced}, {sites.layers[0].output, unbalanced}, {sites.layers[1].output, {}}});
  REQUIRE(found.size() == 2);
  for (const Equalized& pair : found) CHECK(pair.first == Equalized::kNone);
  equalize(g.model, found);
  CHECK(difference(before, g.outputs()) < 1e-4);
  CHECK(find_sites(g.model, {}, &matched).layers[0].input != x);
}

TEST_CASE("balanced channels are left alone") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 4, 5, 5});
  const ValueId a = g.node(op::Conv, {x, g.positive({8, 4, 1, 1})}, taps(1, 1));
  g.output(g.node(op::Conv, {a, g.positive({6, 8, 1, 1})}, taps(1, 1)));
  std::set<std::string> matched;
  const std::vector<double> alike = {1, 2, 1.5, 1, 2, 3, 1, 2};
  CHECK(find_unbalanced(g.model, find_sites(g.model, {}, &matched), {{a, alike}}).empty());
}

TEST_CASE("channels through which nothing comes have no factor") {
  Pair pair(true);
  std::set<std::string> matched;
  std::vector<double> largest = {0, 0, 1, 1, 1, 1, 1, 100};
  const auto found = find_unbalanced(pair.g.model, find_sites(pair.g.model, {}, &matched),
                                     {{pair.between, largest}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].factors[0] == 1);
  for (const double factor : found[0].factors) CHECK((factor > 0 && std::isfinite(factor)));
}
