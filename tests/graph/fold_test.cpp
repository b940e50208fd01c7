// SPDX-License-Identifier: Apache-2.0
// tests/graph/fold_test.cpp - nodes on constants, and what becomes of a model around them.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/functions.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/graph/tensor_math.h"

using namespace ingot;
using namespace ingot::graph;
using Ints = std::vector<int64_t>;

namespace {

struct Made {
  Model model;
  ValueId constant(Ints dims, std::vector<float> values) {
    return model.add_constant("c" + std::to_string(model.values.size()),
                              make_constant(DType::kF32, std::move(dims), values.data()));
  }
  ValueId constant(Ints dims, Ints values) {
    return model.add_constant("c" + std::to_string(model.values.size()),
                              make_constant(DType::kI64, std::move(dims), values.data()));
  }
  ValueId node(Operator op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node made;
    made.op = op;
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    made.outputs = {model.add_value(text(op))};
    model.graph.nodes.push_back(made);
    return made.outputs[0];
  }
  /// The constant that a value became, by way of its port's copy.
  Constant result(ValueId id) {
    model.graph.outputs = {id};
    infer_shapes(model);
    fold_constants(model);
    REQUIRE(model.graph.nodes.size() == 1);
    REQUIRE(model.graph.nodes[0].op == op::Identity);
    return *model.constant(model.graph.nodes[0].inputs[0]);
  }
};

}  // namespace

TEST_CASE("fold: movement of bytes") {
  struct Case {
    const char* name;
    Operator op;
    Attributes attributes;
    Ints dims;
    std::vector<double> values;
  };
  const Case cases[] = {
      {"transpose", op::Transpose, {{attr::perm, Ints{1, 0}}}, {3, 2}, {0, 3, 1, 4, 2, 5}},
      {"reshape", op::Reshape, {{attr::shape, Ints{3, -1}}}, {3, 2}, {0, 1, 2, 3, 4, 5}},
      {"slice backwards",
       op::Slice,
       {{attr::starts, Ints{-1}},
        {attr::ends, Ints{INT64_MIN}},
        {attr::axes, Ints{1}},
        {attr::steps, Ints{-2}}},
       {2, 2},
       {2, 0, 5, 3}},
      {"pad, a border of 9",
       op::Pad,
       {{attr::mode, std::string("constant")}, {attr::pads, Ints{0, 1, 0, 0}}, {attr::value, 9.0}},
       {2, 4},
       {9, 0, 1, 2, 9, 3, 4, 5}},
      {"pad by reflection",
       op::Pad,
       {{attr::mode, std::string("reflect")}, {attr::pads, Ints{0, 2, 0, 1}}},
       {2, 6},
       {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4}},
      {"pad that cuts",
       op::Pad,
       {{attr::mode, std::string("constant")}, {attr::pads, Ints{0, -1, 0, 0}}},
       {2, 2},
       {1, 2, 4, 5}},
      {"tile",
       op::Tile,
       {{attr::repeats, Ints{1, 2}}},
       {2, 6},
       {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
      {"lower triangle", op::Trilu, {{attr::upper, int64_t(0)}}, {2, 3}, {0, 0, 0, 3, 4, 0}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Made made;
    const ValueId x = made.constant({2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
    const Constant y = made.result(made.node(c.op, {x}, c.attributes));
    CHECK(y.dims == c.dims);
    CHECK(read_numbers(y) == c.values);
  }
}

TEST_CASE("fold: indices count from the end, and those out of range are left to the kernel") {
  Made made;
  const ValueId x = made.constant({3}, std::vector<float>{5, 6, 7});
  const Constant y = made.result(
      made.node(op::Gather, {x, made.constant({2}, Ints{-1, 0})}, {{attr::axis, int64_t(0)}}));
  CHECK(read_numbers(y) == std::vector<double>{7, 5});
  Made bad;
  const ValueId out = bad.node(
      op::Gather, {bad.constant({3}, std::vector<float>{5, 6, 7}), bad.constant({1}, Ints{3})},
      {{attr::axis, int64_t(0)}});
  bad.model.graph.outputs = {out};
  infer_shapes(bad.model);
  fold_constants(bad.model);
  REQUIRE(bad.model.graph.nodes.size() == 1);
  CHECK(bad.model.graph.nodes[0].op == op::Gather);
}

TEST_CASE("fold: integers wrap and truncate, and divide by zero to zero, as in a run") {
  Made made;
  const ValueId a = made.constant({2}, Ints{-7, INT64_MAX}), b = made.constant({2}, Ints{2, 1});
  CHECK(read_integers(made.result(made.node(op::Div, {a, b}))) == Ints{-3, INT64_MAX});
  Made wraps;
  CHECK(read_integers(wraps.result(wraps.node(
            op::Add, {wraps.constant({1}, Ints{INT64_MAX}), wraps.constant({1}, Ints{1})}))) ==
        Ints{INT64_MIN});
  Made zero;
  CHECK(read_integers(zero.result(zero.node(
            op::Div, {zero.constant({1}, Ints{1}), zero.constant({1}, Ints{0})}))) == Ints{0});
}

TEST_CASE("fold: equal constants become one, dead nodes go, a large Expand stays") {
  Made made;
  Model& model = made.model;
  const ValueId x = model.add_value("x", DType::kF32);
  model.values[size_t(x)].dims = {2};
  model.values[size_t(x)].shape_known = true;
  model.graph.inputs = {x};
  const ValueId a = made.constant({2}, std::vector<float>{1, 2}),
                b = made.constant({2}, std::vector<float>{1, 2});
  const ValueId sum = made.node(op::Add, {x, a}), result = made.node(op::Mul, {sum, b});
  made.node(op::Exp, {x});
  model.graph.outputs = {result};
  infer_shapes(model);
  CHECK(fold_constants(model) == 1);
  CHECK(model.graph.nodes.size() == 2);
  CHECK(model.graph.nodes[0].inputs[1] == model.graph.nodes[1].inputs[1]);

  Made large;
  const ValueId wide = large.node(op::Expand, {large.constant({}, std::vector<float>{1})},
                                  {{attr::shape, Ints{1 << 14, 1 << 14}}});
  large.model.graph.outputs = {wide};
  infer_shapes(large.model);
  fold_constants(large.model);
  CHECK(large.model.graph.nodes[0].op == op::Expand);
}

TEST_CASE("fold: functions have the meaning that a run gives them") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto folded = [](Operator op, std::vector<std::vector<float>> operands,
                         Attributes attributes = {}) {
    Made m;
    std::vector<ValueId> inputs;
    for (const std::vector<float>& each : operands)
      inputs.push_back(m.constant({int64_t(each.size())}, each));
    return read_numbers(m.result(m.node(op, inputs, std::move(attributes))));
  };
  CHECK(std::signbit(folded(op::Relu, {{-0.0f}})[0]));
  CHECK(std::isnan(folded(op::Relu, {{nan}})[0]));
  CHECK(std::isnan(folded(op::Sign, {{nan}})[0]));
  CHECK(std::isnan(folded(op::Min, {{nan}, {1}})[0]));
  CHECK(std::isnan(folded(op::Min, {{1}, {nan}})[0]));
  // a number of the node is f32, as in the file
  CHECK(folded(op::LeakyRelu, {{-1e8f}}, {{attr::alpha, 0.01}})[0] ==
        double(float(-1e8 * double(0.01f))));
  // each step is rounded
  const float x = 1.7f, scaled = x * 1.3f, gate = float(1 / (1 + std::exp(-double(scaled))));
  CHECK(folded(op::Swish, {{x}}, {{attr::alpha, 1.3}})[0] == double(x * gate));
}

TEST_CASE("fold: every function that a node names") {
  for (const Function& row : kFunctions) {
    if (row.node == Operator::kNone) continue;
    CAPTURE(text(row.node));
    Made m;
    const DType type = row.result == FunctionResult::kLogical   ? DType::kBool
                       : row.domain == FunctionDomain::kInteger ? DType::kI64
                                                                : DType::kF32;
    const double zero[8] = {};
    std::vector<ValueId> inputs;
    for (int i = 0; i < row.operands; i++)
      inputs.push_back(m.model.add_constant("c", make_constant(type, {1}, zero)));
    const ValueId made = m.node(row.node, inputs);
    CHECK(m.result(made).elements() == 1);
  }
}
