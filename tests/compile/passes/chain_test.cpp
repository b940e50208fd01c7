// SPDX-License-Identifier: Apache-2.0
// Chains of elementwise steps, common subexpressions, conditions, and what is taken away.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"
#include "tools/compile/passes/common/elementwise.h"

using namespace ingot;
using namespace ingot::test;
using Integers = std::vector<int64_t>;

namespace {

double worst_of(GraphBuilder& g) {
  double worst = INFINITY;
  convert_and_compare(g, worst);
  return worst;
}

}  // namespace

TEST_CASE("fuse_elementwise: neighbours become one node, numbers its constants") {
  GraphBuilder g;
  ValueId a = g.input("a", {2, 3, 4}), b = g.input("b", {3, 1});
  ValueId y = g.node(op::Mul, {g.node(op::Add, {a, b}), g.number(0.5)});
  y = g.node(op::Sub, {g.number(1), g.node(op::Tanh, {y})});
  y = g.node(op::Max, {y, g.node(op::Mul, {a, a})});
  g.output(y);
  CHECK(worst_of(g) <= 1e-6);
  CHECK(g.listing() == "Elementwise ");
  CHECK(g.find("Elementwise")->inputs.size() == 2);
  CHECK(g.find("Elementwise")->sources.size() == 6);
}

TEST_CASE(
    "fuse_elementwise: a factor and a shift are one step, unless the product is read elsewhere") {
  GraphBuilder g;
  ValueId a = g.input("a", {2, 3, 4});
  ValueId y =
      g.node(op::Add, {g.number(0.25), g.node(op::Mul, {g.node(op::Tanh, {a}), g.number(0.5)})});
  g.output(g.node(op::Mul, {y, a}));
  ValueId z = g.node(op::Mul, {a, g.number(3)});
  g.output(g.node(op::Mul, {g.node(op::Add, {z, g.number(1)}), z}));
  CHECK(worst_of(g) <= 1e-6);
  CHECK(passes::steps_of(g.model.graph.nodes[0]).size() == 3);
  CHECK(passes::steps_of(g.model.graph.nodes[1]).size() == 3);
}

TEST_CASE("fuse_elementwise: nothing is computed twice, and smaller values are not widened") {
  GraphBuilder g;
  ValueId a = g.input("a", {2, 3, 4}), b = g.input("b", {3, 1});
  ValueId shared = g.node(op::Exp, {a});
  g.output(g.node(op::Add, {g.node(op::Neg, {shared}), g.node(op::Sqrt, {shared})}));
  g.output(g.node(op::Mul, {shared, g.node(op::Sigmoid, {b})}));
  CHECK(worst_of(g) <= 1e-6);
  CHECK(g.count("Elementwise") == 4);  // exp, neg + sqrt + add, sigmoid at its own size, mul
}

TEST_CASE("fuse_elementwise: conversions join where the values in between survive them") {
  GraphBuilder g;
  ValueId a = g.input("a", {2, 3}), flags = g.input("flags", {2, 3}, DType::kBool);
  ValueId mask = g.node(op::Cast, {flags}, {{attr::to, int64_t(DType::kF32)}}, {}, DType::kF32);
  g.output(g.node(op::Mul, {a, mask}));  // read as bool: one node
  ValueId greater = g.node(op::Greater, {a, g.number(0)}, {}, {}, DType::kBool);
  g.output(g.node(op::Where, {greater, a, g.node(op::Neg, {a})}, {}, {},
                  DType::kF32));  // truth is 0 or 1 in a register: one node
  ValueId whole = g.node(op::Cast, {g.node(op::Mul, {a, g.number(9)})},
                         {{attr::to, int64_t(DType::kI64)}}, {}, DType::kI64);
  // integers again: the truncation must stay
  ValueId doubled = g.node(op::Mul, {whole, g.indices({}, {2})});
  g.output(g.node(op::Cast, {doubled}, {{attr::to, int64_t(DType::kF32)}}, {}, DType::kF32));
  CHECK(worst_of(g) <= 1e-6);
  CHECK(g.count("Elementwise") == 4);
}

TEST_CASE("fuse_elementwise: whole numbers become constants where f32 holds them") {
  struct Case {
    int64_t number;
    size_t operands;
  };
  constexpr int64_t kOne = 1;
  for (const Case& c : {Case{7, 1}, Case{kOne << 40, 1}, Case{-(kOne << 31), 1},
                        Case{(kOne << 24) + 1, 2}, Case{(kOne << 60), 2}}) {
    CAPTURE(c.number);
    GraphBuilder g;
    const ValueId x = g.input("x", {2, 3}, DType::kI64);
    g.output(g.node(op::Add, {x, g.indices({}, {c.number})}, {}, {}, DType::kI64));
    CHECK(worst_of(g) == 0);
    CHECK(g.find("Elementwise")->inputs.size() == c.operands);
  }
}

TEST_CASE("fuse_elementwise: at most 16 steps and 8 operands") {
  GraphBuilder g;
  ValueId y = g.input("x", {4});
  for (int i = 0; i < 40; i++) y = g.node(i % 2 ? op::Tanh : op::Sin, {y});
  std::vector<ValueId> many;
  for (int i = 0; i < 12; i++) many.push_back(g.input("in" + std::to_string(i), {4}));
  for (ValueId id : many) y = g.node(op::Add, {y, id});
  g.output(y);
  CHECK(worst_of(g) <= 1e-6);
  for (const graph::Node& node : g.model.graph.nodes) {
    CHECK(passes::steps_of(node).size() <= 16);
    CHECK(node.inputs.size() <= 8);
  }
  CHECK(g.count("Elementwise") <= 5);
}

TEST_CASE("fuse_elementwise: random trees compute the same") {
  for (uint64_t seed = 1; seed <= 80; seed++) {
    CAPTURE(seed);
    uint64_t state = seed * 104729;
    auto roll = [&](uint64_t n) {
      return state = state * 6364136223846793005ull + 1442695040888963407ull, (state >> 33) % n;
    };
    GraphBuilder g;
    std::vector<ValueId> pool = {g.input("a", {2, 3, 4}), g.input("b", {3, 1}), g.input("c", {4}),
                                 g.number(0.75), g.weights({3, 4})};
    for (int i = 0; i < 20; i++) {
      ValueId a = pool[roll(pool.size())], b = pool[roll(pool.size())];
      if (g.model.constant(a)) a = pool[0];
      const graph::Operator unary[] = {op::Tanh, op::Sigmoid, op::Neg, op::Abs, op::Relu, op::Sin};
      const graph::Operator binary[] = {op::Add, op::Mul, op::Sub, op::Max, op::Min};
      pool.push_back(roll(2) ? g.node(unary[roll(6)], {a}) : g.node(binary[roll(5)], {a, b}));
    }
    g.output(pool.back());
    g.output(pool[pool.size() - 3]);
    CHECK(worst_of(g) <= 1e-5);
  }
}

TEST_CASE("merge_equal: equal nodes and equal small constants are one") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 4});
  auto branch = [&] {
    return g.node(op::Softmax, {g.node(op::Mul, {x, g.constant({4}, {1, 2, 3, 4})})},
                  {{attr::axis, int64_t(1)}});
  };
  g.output(g.node(op::Concat, {branch(), branch()}, {{attr::axis, int64_t(0)}}));
  CHECK(worst_of(g) <= 1e-6);
  CHECK(g.count("Softmax") == 1);
  CHECK(g.count("Elementwise") == 1);
}

TEST_CASE("simplify: what does nothing is gone, ports keep their names") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 3, 4});
  ValueId y = g.node(op::Reshape, {g.node(op::Reshape, {x}, {}, {6, 4})}, {}, {2, 3, 4});
  y = g.node(op::Transpose, {g.node(op::Transpose, {y}, {{attr::perm, Integers{2, 0, 1}}})},
             {{attr::perm, Integers{1, 2, 0}}});
  y = g.node(op::Slice, {y},
             {{attr::starts, graph::Dims{0, 0, 0}}, {attr::steps, Integers{1, 1, 1}}}, {2, 3, 4});
  y = g.node(op::Concat, {y}, {{attr::axis, int64_t(1)}});
  y = g.node(op::Expand, {g.node(op::Tile, {y}, {}, {2, 3, 4})}, {}, {2, 3, 4});
  y = g.node(op::Mul, {g.node(op::Add, {y, g.number(0)}), g.number(1)});
  g.node(op::Exp, {y});  // nobody reads it
  y = g.node(op::Relu, {y});
  y = g.node(op::Reshape, {y}, {}, {2, 3, 4});
  g.output(y);
  std::string name = g.model.values[size_t(y)].name;
  CHECK(worst_of(g) <= 1e-6);
  CHECK(g.listing() == "Elementwise ");
  CHECK(g.model.values[size_t(g.model.graph.outputs[0])].name == name);
}

TEST_CASE("simplify: an output that is an input, a constant or another output stays one") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 3});
  g.output(g.node(op::Identity, {x}));
  ValueId y = g.node(op::Neg, {x});
  g.output(y);
  g.output(g.node(op::Identity, {y}));
  g.output(g.node(op::Identity, {g.weights({2, 2})}));
  CHECK(worst_of(g) <= 0);
  CHECK(g.count("Reshape") == 3);
}

namespace {

// An If whose branches read `x` from outside: then Conv -> Relu, else Neg. `condition` as a value.
void add_condition(GraphBuilder& g, ValueId condition, ValueId x) {
  auto branch = [&](bool then) {
    size_t first = g.model.graph.nodes.size();
    ValueId y = then ? g.node(op::Relu, {g.node(op::MatMul, {x, g.weights({4, 4})})})
                     : g.node(op::Neg, {x});
    auto made = std::make_shared<graph::Graph>();
    made->nodes.assign(g.model.graph.nodes.begin() + long(first), g.model.graph.nodes.end());
    g.model.graph.nodes.resize(first);
    made->outputs = {y};
    return made;
  };
  std::shared_ptr<graph::Graph> yes = branch(true), no = branch(false);
  ValueId y = g.nodes(op::If, {condition}, {{attr::then_branch, yes}, {attr::else_branch, no}},
                      {{2, 4}}, DType::kF32)[0];
  g.output(g.node(op::Tanh, {y}));
}

}  // namespace

TEST_CASE("conditions: branches are taken to core form, values of the owner stay theirs") {
  GraphBuilder g;
  ValueId x = g.node(op::Abs, {g.input("x", {2, 4})});
  add_condition(g, g.input("condition", {}, DType::kBool), x);
  for (double condition : {0.0, 1.0}) {
    GraphBuilder each = g;
    // branches are shared by copies of a model
    for (const auto key : {attr::then_branch, attr::else_branch}) {
      auto copy = std::make_shared<graph::Graph>(*each.find("If")->subgraph(key));
      const_cast<graph::Node*>(each.find("If"))->attributes[key] = copy;
    }
    each.input_tensor("condition").at = {condition};
    CHECK(worst_of(each) <= 1e-6);
    REQUIRE(each.find("If"));
    // Linear with its activation
    CHECK(each.find("If")->subgraph(attr::then_branch)->nodes.size() == 1);
  }
}

TEST_CASE("conditions: a known one is replaced by its branch") {
  for (uint8_t truth : {0, 1}) {
    GraphBuilder g;
    ValueId x = g.node(op::Abs, {g.input("x", {2, 4})});
    ValueId condition =
        g.model.add_constant("known", graph::make_constant(DType::kBool, {}, &truth));
    g.model.values[size_t(condition)].dtype = DType::kBool;
    g.model.values[size_t(condition)].shape_known = true;
    add_condition(g, condition, x);
    CHECK(worst_of(g) <= 1e-6);
    CHECK(g.count("If") == 0);
    CHECK(g.count("Linear") == truth);
  }
}

TEST_CASE("run_passes: the same model gives the same graph") {
  auto text = [] {
    GraphBuilder g;
    ValueId x = g.input("x", {1, 4, 6, 6});
    for (int i = 0; i < 3; i++)
      x = g.node(op::Add, {x, g.node(op::Relu, {g.node(op::Conv, {x, g.weights({4, 4, 3, 3})},
                                                       {{attr::kernel_shape, Integers{3, 3}},
                                                        {attr::strides, Integers{1, 1}},
                                                        {attr::dilations, Integers{1, 1}},
                                                        {attr::pads, Integers{1, 1, 1, 1}},
                                                        {attr::group, int64_t(1)}})})});
    g.output(x);
    passes::run_passes(g.model);
    std::string all;
    for (const graph::Node& node : g.model.graph.nodes) {
      all += graph::text(node.op) + node.name;
      for (ValueId id : node.inputs) all += " " + std::to_string(id);
      for (ValueId id : node.outputs) all += " > " + std::to_string(id);
    }
    return all;
  };
  CHECK(text() == text());
}
