// SPDX-License-Identifier: Apache-2.0
// Where transposes are left, and that permuted regions compute the same.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"
#include "tools/compile/passes/common/transposes.h"
#include "tools/compile/passes/layout/max_flow.h"
#include "tools/files/work_budget.h"
#include "tools/graph/window.h"

using namespace ingot;
using namespace ingot::test;
using passes::Attributes;
using Integers = std::vector<int64_t>;
using Text = std::string;

namespace {

Attributes kernel(int64_t k, int64_t pad) {
  return {{attr::kernel_shape, Integers{k, k}},
          {attr::strides, Integers{1, 1}},
          {attr::dilations, Integers{1, 1}},
          {attr::pads, Integers{pad, pad, pad, pad}},
          {attr::group, int64_t(1)}};
}

ValueId conv(GraphBuilder& g, ValueId x, int64_t in, int64_t out, int64_t k = 3) {
  return g.node(op::Conv, {x, g.weights({out, in, k, k})}, kernel(k, k / 2));
}

size_t transposes_after(GraphBuilder& g, const passes::PassOptions& options = {}) {
  double worst = INFINITY;
  convert_and_compare(g, worst, options);
  CAPTURE(g.listing());
  CHECK(worst <= 1e-5);
  return g.count("Transpose");
}

}  // namespace

TEST_CASE("min_cut: finds the cheapest parting and leaves what is free on the source's side") {
  passes::MinCut cut;
  int a = cut.add_vertex(), b = cut.add_vertex(), free = cut.add_vertex();
  cut.add_edge(passes::MinCut::kSource, a, 5);
  cut.add_edge(a, b, 2);
  cut.add_edge(b, passes::MinCut::kSink, 7);
  cut.add_edge(passes::MinCut::kSource, b, 1);
  CHECK(cut.solve() == doctest::Approx(3));
  CHECK(!cut.on_sink_side(a));
  CHECK(cut.on_sink_side(b));
  CHECK(!cut.on_sink_side(free));
}

TEST_CASE("reshape_first: a Transpose commutes with a Reshape that keeps or splits or joins runs") {
  using graph::Dims;
  struct Case {
    const char* name;
    Dims x;
    Integers perm;
    Dims to;
    bool possible;
    Dims dims;
  };
  graph::Dim w = graph::Dim::symbol("W");
  const Case cases[] = {
      {"height and width joined", {1, 4, 5, 6}, {0, 3, 1, 2}, {1, 6, 20}, true, {1, 20, 6}},
      {"length split", {2, 20, 6}, {0, 2, 1}, {2, 6, 4, 5}, true, {2, 4, 5, 6}},
      {"channels split", {1, 4, 5, 6}, {0, 3, 1, 2}, {1, 2, 3, 4, 5}, true, {1, 4, 5, 2, 3}},
      {"flattened", {2, 4, 5, 6}, {0, 3, 1, 2}, {2, 120}, false, {}},
      {"symbolic", {1, 4, w, 6}, {0, 3, 1, 2}, {1, 6, w * 4}, true, {1, w * 4, 6}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    auto found = passes::reshape_first(c.x, c.perm, c.to);
    CHECK(found.has_value() == c.possible);
    if (found) CHECK(passes::same(found->dims, c.dims));
    if (found) CHECK(passes::same(passes::permuted(found->dims, found->perm), c.to));
  }
}

TEST_CASE("choose_layout: a chain of convolutions keeps one Transpose at each port") {
  GraphBuilder g;
  ValueId x = g.input("x", {1, 3, 8, 8});
  ValueId y = g.node(op::Relu, {conv(g, x, 3, 8)});
  y = g.node(op::Add, {conv(g, y, 8, 8), y});
  y = g.node(op::Mul, {y, g.weights({1, 8, 1, 1})});
  y = conv(g, g.node(op::Concat, {y, g.node(op::Sigmoid, {y})}, {{attr::axis, int64_t(1)}}), 16, 4);
  g.output(y);
  CHECK(transposes_after(g) == 1);  // the input's went into the first convolution
  CHECK(g.find("Conv2d")->text(attr::input_layout, "nhwc") == "nchw");
}

TEST_CASE("choose_layout: ports that are asked for channels last have no Transpose at all") {
  GraphBuilder g;
  ValueId x = g.input("x", {1, 3, 8, 8});
  ValueId y = conv(g, x, 3, 8);
  g.output(y);
  std::string out = g.model.values[size_t(y)].name;
  passes::PassOptions options;
  options.io_layout = {{"x", "nhwc"}, {out, "nhwc"}};
  passes::run_passes(g.model, options);
  CHECK(g.count("Transpose") == 0);
  CHECK(g.model.values[size_t(g.model.graph.inputs[0])].name == "x");
  CHECK(g.model.values[size_t(g.model.graph.inputs[0])].layout == "NHWC");
  CHECK(g.model.values[size_t(g.model.graph.inputs[0])].dims[3] == graph::Dim(3));
  CHECK(g.model.values[size_t(g.model.graph.outputs[0])].dims[3] == graph::Dim(8));
  CHECK(g.model.values[size_t(g.model.graph.outputs[0])].name == out);
}

TEST_CASE("choose_layout: goes through every operator that can bear it, axes and pads turned") {
  GraphBuilder g;
  ValueId y = conv(g, g.input("x", {2, 3, 8, 8}), 3, 8);
  y = g.node(op::Slice, {y},
             {{attr::starts, graph::Dims{0, 1, 0, 2}}, {attr::steps, Integers{1, 1, 2, 1}}},
             {2, 6, 4, 6});
  y = g.node(
      op::Pad, {y},
      {{attr::mode, Text("reflect")}, {attr::before, graph::Dims{0, 0, 1, 2}}, {attr::value, 0.0}},
      {2, 6, 6, 9});
  y = g.node(op::Resize, {y},
             {{attr::mode, Text("linear")},
              {attr::coordinate_transformation_mode, Text("half_pixel")},
              {attr::scales, std::vector<double>{1, 1, 2, 2}}},
             {2, 6, 12, 18});
  y = g.node(op::Softmax, {y}, {{attr::axis, int64_t(1)}});
  ValueId mean =
      g.node(op::ReduceMean, {y}, {{attr::axes, Integers{2, 3}}, {attr::keepdims, int64_t(1)}});
  y = g.node(op::Mul, {y, g.node(op::Sigmoid, {conv(g, mean, 6, 6, 1)})});
  y = g.node(op::Concat,
             {y, g.node(op::Gather, {y, g.indices({2}, {5, 0})}, {{attr::axis, int64_t(1)}})},
             {{attr::axis, int64_t(1)}});
  y = g.node(op::Add, {y, g.input("row", {18})});
  y = g.node(op::Add, {y, g.input("channel", {8, 1, 1})});
  y = conv(g, y, 8, 4);
  g.output(y);
  CHECK(transposes_after(g) == 1);
}

TEST_CASE("choose_layout: a graph that is better left alone is left alone") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 16, 8, 8});
  for (int i = 0; i < 3; i++)
    x = g.node(op::Softmax, {g.node(op::Add, {x, g.weights({8, 8})})}, {{attr::axis, int64_t(3)}});
  g.output(x);
  CHECK(transposes_after(g) == 0);
}

TEST_CASE("choose_layout: image to sequence and back cost nothing") {
  GraphBuilder g;
  ValueId y = conv(g, g.input("x", {1, 3, 4, 6}), 3, 8);
  y = g.node(op::Transpose, {g.node(op::Reshape, {y}, {}, {1, 8, 24})},
             {{attr::perm, Integers{0, 2, 1}}});
  y = g.node(op::MatMul, {g.node(op::LayerNormalization, {y, g.weights({8}), g.weights({8})},
                                 {{attr::axis, int64_t(2)}, {attr::epsilon, 1e-5}}),
                          g.weights({8, 8})});
  y = g.node(op::Reshape, {g.node(op::Transpose, {y}, {{attr::perm, Integers{0, 2, 1}}})}, {},
             {1, 8, 4, 6});
  y = conv(g, y, 8, 4);
  g.output(g.node(op::Transpose, {y}, {{attr::perm, Integers{0, 2, 3, 1}}}));
  CHECK(transposes_after(g) == 0);
}

TEST_CASE("choose_layout: a channel shuffle is one Transpose, space to depth is one") {
  GraphBuilder g;
  ValueId y = conv(g, g.input("x", {1, 3, 4, 6}), 3, 8);
  y = g.node(op::Transpose, {g.node(op::Reshape, {y}, {}, {1, 2, 4, 4, 6})},
             {{attr::perm, Integers{0, 2, 1, 3, 4}}});
  y = conv(g, g.node(op::Reshape, {y}, {}, {1, 8, 4, 6}), 8, 4);
  y = g.node(op::Transpose, {g.node(op::Reshape, {y}, {}, {1, 1, 2, 2, 4, 6})},
             {{attr::perm, Integers{0, 1, 4, 2, 5, 3}}});
  y = conv(g, g.node(op::Reshape, {y}, {}, {1, 1, 8, 12}), 1, 1);
  g.output(y);
  CHECK(transposes_after(g) == 2);
}

TEST_CASE("recognize_strided_slices: a shuffle that splits is two slices of every second channel") {
  GraphBuilder g;
  ValueId y = conv(g, g.input("x", {1, 3, 4, 6}), 3, 8);
  y = g.node(op::Transpose, {g.node(op::Reshape, {y}, {}, {4, 2, 24})},
             {{attr::perm, Integers{1, 0, 2}}});
  y = g.node(op::Reshape, {y}, {}, {2, 1, 4, 4, 6});
  ValueId even = g.node(op::Gather, {y, g.indices({}, {0})}, {{attr::axis, int64_t(0)}});
  ValueId odd = g.node(op::Gather, {y, g.indices({}, {1})}, {{attr::axis, int64_t(0)}});
  y = g.node(op::Concat, {even, g.node(op::Relu, {conv(g, odd, 4, 4)})},
             {{attr::axis, int64_t(1)}});
  g.output(conv(g, y, 8, 3));
  CHECK(transposes_after(g) == 1);
  CHECK(g.count("Slice") == 2);
}

TEST_CASE(
    "recognize_box_writes: indices that are a grid of ranges are cuts of what is written to") {
  struct Case {
    const char* what;
    Dimensions starts;  // of the box [2, 3, 4] in [3, 4, 5]
    bool is_constant;
    size_t scatters;
    const char* reduction = "none";
    int64_t shuffled = 0;
  };
  for (const Case& c :
       {Case{"the end", {1, 1, 1}, false, 0}, Case{"a constant", {1, 1, 1}, true, 0},
        Case{"the beginning", {0, 0, 0}, true, 0}, Case{"a sum", {1, 1, 1}, true, 1, "add"},
        Case{"another order", {1, 1, 1}, true, 1, "none", 1},
        Case{"another order of parts", {1, 1, 1}, false, 1, "none", 1}}) {
    CAPTURE(c.what);
    const Dimensions box = {2, 3, 4};
    GraphBuilder g;
    ValueId indices;
    if (c.is_constant) {
      std::vector<int64_t> all;
      for (int64_t i = 0; i < 24; i++)
        for (const int64_t at : {i / 12, i / 4 % 3, c.shuffled ? 3 - i % 4 : i % 4})
          all.push_back(at + c.starts[all.size() % 3]);
      indices = g.indices({2, 3, 4, 3}, all);
    } else {
      std::vector<ValueId> parts;
      for (size_t k = 0; k < 3; k++) {
        std::vector<int64_t> range;
        Dimensions dims = {1, 1, 1};
        dims[k] = box[k];
        for (int64_t i = 0; i < box[k]; i++) range.push_back(i + c.starts[k]);
        if (c.shuffled && k == 2) std::swap(range[0], range[1]);
        const ValueId whole = g.node(op::Expand, {g.indices(dims, range)}, {}, box, DType::kI64);
        parts.push_back(g.node(op::Reshape, {whole}, {}, {2, 3, 4, 1}));
      }
      indices = g.node(op::Concat, parts, {{attr::axis, int64_t(3)}});
    }
    const ValueId x = g.node(op::Relu, {g.input("x", {3, 4, 5})});
    const ValueId y = g.node(op::ScatterND, {x, indices, g.input("y", box)},
                             {{attr::reduction, std::string(c.reduction)}});
    g.output(g.node(op::Relu, {y}));
    double worst = INFINITY;
    convert_and_compare(g, worst);
    CHECK(worst == 0);
    CHECK(g.count("ScatterNd") == c.scatters);
  }
}

TEST_CASE("recognize_box_writes: updates of other dims stay an error of the scatter") {
  for (const Dimensions& updates : {Dimensions{3, 2, 4}, Dimensions{6, 4}, Dimensions{24}}) {
    CAPTURE(updates.size());
    GraphBuilder g;
    const ValueId indices = g.indices({2, 3, 2}, {0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2});
    const ValueId x = g.node(op::Relu, {g.input("x", {2, 3, 4})});
    const ValueId y = g.node(op::ScatterND, {x, indices, g.input("y", updates)},
                             {{attr::reduction, std::string("none")}}, {2, 3, 4});
    g.output(g.node(op::Relu, {y}));
    passes::run_passes(g.model);
    CHECK(g.count("ScatterNd") == 1);
  }
}

TEST_CASE("recognize_box_writes: indices are read until the first that is in no row, as work") {
  constexpr int64_t kRows = 1 << 14;
  for (const bool is_range : {false, true}) {
    CAPTURE(is_range);
    GraphBuilder g;
    std::vector<int64_t> rows(size_t(kRows), 0);
    for (int64_t i = 0; is_range && i < kRows; i++) rows[size_t(i)] = i;
    const ValueId x = g.node(op::Relu, {g.input("x", {kRows})});
    const ValueId y = g.node(op::ScatterND, {x, g.indices({kRows, 1}, rows), g.input("y", {kRows})},
                             {{attr::reduction, std::string("none")}});
    g.output(g.node(op::Relu, {y}));
    const host::WorkBudget budget("indices", 0);
    passes::run_passes(g.model);
    CHECK(g.count("ScatterNd") == size_t(!is_range));
    CHECK((budget.steps() >= uint64_t(kRows)) == is_range);
  }
}

TEST_CASE("hoist_unary: an activation behind a Reshape still goes into its producer") {
  GraphBuilder g;
  ValueId mean = g.node(op::ReduceMean, {g.input("x", {2, 6, 4, 5})},
                        {{attr::axes, Integers{2, 3}}, {attr::keepdims, int64_t(1)}});
  ValueId y =
      g.node(op::HardSigmoid, {conv(g, g.node(op::Relu, {conv(g, mean, 6, 4, 1)}), 4, 6, 1)},
             {{attr::alpha, 0.2}, {attr::beta, 0.5}});
  g.output(y);
  CHECK(transposes_after(g) == 0);
  CHECK(g.count("Elementwise") == 0);
}

TEST_CASE(
    "choose_layout: the head that turns distributions into distances moves the small result only") {
  GraphBuilder g;
  ValueId y = conv(g, g.input("x", {1, 3, 4, 6}), 3, 64);
  y = g.node(op::Reshape, {g.node(op::Reshape, {y}, {}, {1, 64, 24})}, {}, {1, 4, 16, 24});
  y = g.node(op::Softmax, {g.node(op::Transpose, {y}, {{attr::perm, Integers{0, 2, 1, 3}}})},
             {{attr::axis, int64_t(1)}});
  y = g.node(op::Reshape, {conv(g, y, 16, 1, 1)}, {}, {1, 4, 24});
  g.output(y);
  CHECK(transposes_after(g) == 1);
  CHECK(g.model.values[size_t(g.find("Transpose")->inputs[0])].dims.size() == 3);
}

TEST_CASE("lay_columns_down: a convolution over an image one column wide works along a row") {
  for (const int64_t groups : {1, 4}) {
    CAPTURE(groups);
    GraphBuilder g;
    ValueId x = g.input("x", {2, 4, 13, 1});
    const Attributes window = {{attr::kernel_shape, Integers{5, 1}},
                               {attr::strides, Integers{2, 1}},
                               {attr::dilations, Integers{1, 1}},
                               {attr::pads, Integers{2, 0, 1, 0}},
                               {attr::group, groups}};
    ValueId y = g.node(op::Conv, {x, g.weights({8, 4 / groups, 5, 1}), g.weights({8})}, window);
    g.output(g.node(op::Conv, {g.node(op::Relu, {y}), g.weights({3, 8, 3, 1})},
                    {{attr::kernel_shape, Integers{3, 1}},
                     {attr::strides, Integers{1, 1}},
                     {attr::dilations, Integers{1, 1}},
                     {attr::pads, Integers{0, 0, 0, 0}},
                     {attr::group, int64_t(1)}}));
    double worst = INFINITY;
    convert_and_compare(g, worst);
    CAPTURE(g.listing());
    CHECK(worst <= 1e-5);
    for (const graph::Node& node : g.model.graph.nodes) {
      if (node.op != op::Conv2d) continue;
      const auto [h, w] = graph::window_of(node);
      CHECK(h.kernel == 1);
      CHECK(w.kernel > 1);
      CHECK(h.stride == 1);
      CHECK(h.begin == 0);
    }
    CHECK(g.count("Conv2d") == 2);
  }
}

TEST_CASE("choose_layout: convolutions along one dimension, with what stands between them") {
  GraphBuilder g;
  auto conv1 = [&](ValueId x, int64_t in, int64_t out) {
    return g.node(op::Conv, {x, g.weights({out, in, 3}), g.weights({out})},
                  {{attr::kernel_shape, Integers{3}},
                   {attr::strides, Integers{1}},
                   {attr::dilations, Integers{1}},
                   {attr::pads, Integers{1, 1}},
                   {attr::group, int64_t(1)}});
  };
  ValueId y = g.node(op::Relu, {conv1(g.input("x", {2, 3, 10}), 3, 8)});
  y = g.node(op::Relu, {g.node(op::Add, {conv1(y, 8, 8), y})});
  g.output(g.node(op::ReduceMean, {y}, {{attr::axes, Integers{2}}, {attr::keepdims, int64_t(0)}}));
  CHECK(transposes_after(g) == 0);  // the input's went into the first convolution
  CHECK(g.count("Elementwise") == 0);
  CHECK(g.count("Conv2d") == 2);
}

TEST_CASE("absorb_flattening: the weights behind a flattened image are put in its order") {
  GraphBuilder g;
  ValueId y = g.node(op::Relu, {conv(g, g.input("x", {2, 3, 4, 5}), 3, 6)});
  y = g.node(op::Gemm,
             {g.node(op::Reshape, {y}, {}, {2, 120}), g.weights({7, 120}), g.weights({7})},
             {{attr::transB, int64_t(1)}, {attr::alpha, 1.0}, {attr::beta, 1.0}});
  g.output(y);
  CHECK(transposes_after(g) == 0);
}

TEST_CASE("fold_sequence_order: time-first transposes around a recurrent cell go") {
  GraphBuilder g;
  ValueId x = g.node(op::Transpose, {g.input("x", {2, 5, 3})}, {{attr::perm, Integers{1, 0, 2}}});
  std::vector<ValueId> outs =
      g.nodes(op::LSTM, {x, g.weights({1, 16, 3}), g.weights({1, 16, 4}), g.weights({1, 32})},
              {{attr::direction, Text("forward")},
               {attr::hidden_size, int64_t(4)},
               {attr::layout, int64_t(0)}},
              {{5, 1, 2, 4}, {1, 2, 4}});
  ValueId y = g.node(op::Reshape, {outs[0]}, {}, {5, 2, 4});
  g.output(g.node(op::Transpose, {y}, {{attr::perm, Integers{1, 0, 2}}}));
  g.output(outs[1]);
  CHECK(transposes_after(g) == 0);
}

TEST_CASE("layout: a grid of random regions computes the same") {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    CAPTURE(seed);
    uint64_t state = seed * 7919;
    auto roll = [&](uint64_t n) {
      return state = state * 6364136223846793005ull + 1442695040888963407ull, (state >> 33) % n;
    };
    GraphBuilder g;
    std::vector<ValueId> pool = {g.input("x", {1, 4, 4, 6}), g.input("z", {1, 4, 4, 6})};
    for (int i = 0; i < 14; i++) {
      ValueId a = pool[roll(pool.size())], b = pool[roll(pool.size())], y = a;
      switch (roll(8)) {
        case 0: y = conv(g, a, 4, 4); break;
        case 1: y = g.node(op::Add, {a, b}); break;
        case 2: y = g.node(op::Mul, {a, g.weights({4, 1, 1})}); break;
        case 3: y = g.node(op::Softmax, {a}, {{attr::axis, int64_t(1 + roll(3))}}); break;
        case 4:
          y = g.node(op::Sub, {a, g.node(op::ReduceMean, {b},
                                         {{attr::axes, Integers{int64_t(1 + roll(3))}},
                                          {attr::keepdims, int64_t(1)}})});
          break;
        case 5:
          y = g.node(op::Concat,
                     {g.node(op::Slice, {a},
                             {{attr::starts, graph::Dims{0, 1, 0, 0}},
                              {attr::steps, Integers{1, 1, 1, 1}}},
                             {1, 3, 4, 6}),
                      g.node(op::Slice, {b},
                             {{attr::starts, graph::Dims{0, 2, 0, 0}},
                              {attr::steps, Integers{1, 1, 1, 1}}},
                             {1, 1, 4, 6})},
                     {{attr::axis, int64_t(1)}});
          break;
        case 6:
          y = g.node(op::Reshape,
                     {g.node(op::Transpose, {g.node(op::Reshape, {a}, {}, {1, 4, 24})},
                             {{attr::perm, Integers{0, 2, 1}}})},
                     {}, {1, 4, 6, 4});
          y = g.node(op::Transpose, {y}, {{attr::perm, Integers{0, 3, 1, 2}}});
          break;
        case 7: y = g.node(op::Relu, {a}); break;
      }
      pool.push_back(y);
    }
    g.output(pool.back());
    g.output(pool[pool.size() - 2]);
    if (pool.back() == pool[pool.size() - 2] || g.model.graph.nodes.empty()) continue;
    double worst = INFINITY;
    try {
      convert_and_compare(g, worst);
    } catch (const graph::ConversionError& error) {
      FAIL(error.message);
    }
    CHECK(worst <= 1e-4);
  }
}
