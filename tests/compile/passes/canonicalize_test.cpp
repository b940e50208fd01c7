// SPDX-License-Identifier: Apache-2.0
// Every rule of tools/passes/canonical on one small graph each: outputs before equal outputs after,
// and the form is core.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::test;
using passes::Attributes;
using Integers = std::vector<int64_t>;
using Text = std::string;

namespace {

Attributes window(Integers kernel, Integers strides, Integers dilations, Integers pads,
                  int64_t group = 1) {
  return {{attr::kernel_shape, kernel},
          {attr::strides, strides},
          {attr::dilations, dilations},
          {attr::pads, pads},
          {attr::group, group}};
}

void check_cast(GraphBuilder& g, double tolerance = 1e-5) {
  double worst = INFINITY;
  convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst <= tolerance);
  CHECK(passes::why_not_core_form(g.model) == "");
}

}  // namespace

TEST_CASE(
    "canonicalize: convolutions of one and two dimensions, grouped, depthwise, dilated, uneven "
    "pads") {
  struct Case {
    const char* name;
    Dimensions x, w;
    Attributes a;
    const char* method;
  };
  const Case cases[] = {
      {"plain", {1, 3, 7, 9}, {5, 3, 3, 3}, window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}), "direct"},
      {"uneven pads, stride",
       {2, 3, 7, 9},
       {5, 3, 3, 2},
       window({3, 2}, {2, 1}, {1, 1}, {0, 1, 2, 0}),
       "direct"},
      {"dilated",
       {1, 2, 9, 9},
       {4, 2, 3, 3},
       window({3, 3}, {1, 1}, {2, 3}, {0, 0, 0, 0}),
       "direct"},
      {"grouped",
       {1, 4, 5, 5},
       {6, 2, 3, 3},
       window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2),
       "grouped"},
      {"depthwise",
       {1, 4, 5, 6},
       {4, 1, 3, 3},
       window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 4),
       "depthwise"},
      {"depth multiplier",
       {1, 4, 5, 6},
       {8, 1, 3, 3},
       window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 4),
       "grouped"},
      {"one dimension", {2, 3, 11}, {4, 3, 5}, window({5}, {2}, {1}, {2, 1}), "direct"},
      {"one dimension, depthwise",
       {1, 3, 11},
       {3, 1, 5},
       window({5}, {1}, {1}, {2, 2}, 3),
       "depthwise"}};
  for (const Case& c : cases)
    for (bool biased : {false, true}) {
      CAPTURE(c.name);
      GraphBuilder g;
      std::vector<ValueId> operands = {g.input("x", c.x), g.weights(c.w)};
      if (biased) operands.push_back(g.weights({c.w[0]}));
      g.output(g.node(op::Conv, operands, c.a));
      check_cast(g);
      REQUIRE(g.find("Conv2d"));
      CHECK(g.find("Conv2d")->text(attr::method, "") == c.method);
      CHECK(g.find("Conv2d")->sources == std::vector<uint32_t>{0});
    }
}

TEST_CASE("canonicalize: transposed convolutions, grouped and with output padding") {
  struct Case {
    const char* name;
    Dimensions x, w;
    Attributes a;
    Dimensions out;
  };
  const Case cases[] = {
      {"doubling",
       {1, 3, 4, 5},
       {3, 2, 2, 2},
       window({2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}),
       {1, 2, 8, 10}},
      {"pads",
       {1, 3, 4, 5},
       {3, 2, 3, 3},
       window({3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}),
       {1, 2, 7, 9}},
      {"output padding",
       {1, 3, 4, 5},
       {3, 2, 3, 3},
       window({3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}),
       {1, 2, 8, 10}},
      {"grouped",
       {1, 4, 4, 4},
       {4, 3, 3, 3},
       window({3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2),
       {1, 6, 4, 4}},
      {"one dimension", {1, 3, 6}, {3, 2, 4}, window({4}, {2}, {1}, {1, 1}), {1, 2, 12}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    GraphBuilder g;
    g.output(g.node(op::ConvTranspose, {g.input("x", c.x), g.weights(c.w), g.weights({c.out[1]})},
                    c.a, c.out));
    check_cast(g);
  }
}

TEST_CASE("canonicalize: pools, with ceil_mode in the output's dims and padding counted or not") {
  struct Case {
    const char* name;
    graph::Operator op;
    Dimensions x;
    Attributes a;
    Dimensions out;
  };
  Attributes include = window({3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1});
  include[attr::count_include_pad] = int64_t(1);
  const Case cases[] = {
      {"max", op::MaxPool, {1, 3, 8, 9}, window({3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}), {}},
      {"max, ceil",
       op::MaxPool,
       {1, 3, 8, 8},
       window({3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}),
       {1, 3, 4, 4}},
      {"average", op::AveragePool, {1, 3, 8, 9}, window({3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}), {}},
      {"average, ceil",
       op::AveragePool,
       {1, 3, 8, 8},
       window({3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}),
       {1, 3, 4, 4}},
      {"average counting pads", op::AveragePool, {1, 3, 8, 9}, include, {}},
      {"lp", op::LpPool, {1, 3, 8, 9}, window({2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}), {}},
      {"one dimension", op::MaxPool, {2, 3, 9}, window({2}, {2}, {1}, {0, 0}), {}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    GraphBuilder g;
    g.output(g.node(c.op, {g.input("x", c.x)}, c.a, c.out));
    check_cast(g);
    CHECK(g.count("Pool2d") == 1);
  }
}

TEST_CASE("canonicalize: products become Linear where one side is a constant matrix") {
  struct Case {
    const char* name;
    Dimensions a, b;
    bool constant;
    const char* op;
  };
  const Case cases[] = {{"matrix", {4, 6}, {6, 3}, true, "Linear"},
                        {"leading dims kept", {2, 3, 4, 6}, {6, 3}, true, "Linear"},
                        {"constant with leading ones", {2, 4, 6}, {1, 6, 3}, true, "Linear"},
                        {"constant vector", {2, 4, 6}, {6}, true, "Linear"},
                        {"row vector", {6}, {6, 3}, true, "Linear"},
                        {"two activations", {2, 4, 6}, {2, 6, 3}, false, "MatMul"},
                        {"broadcast batch", {2, 1, 4, 6}, {3, 6, 5}, false, "MatMul"},
                        {"activation vector", {2, 4, 6}, {6}, false, "MatMul"},
                        {"row times activation", {6}, {2, 6, 3}, false, "MatMul"},
                        {"constant batch", {2, 4, 6}, {2, 6, 3}, true, "MatMul"}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    GraphBuilder g;
    ValueId a = g.input("a", c.a);
    g.output(g.node(op::MatMul, {a, c.constant ? g.weights(c.b) : g.input("b", c.b)}));
    check_cast(g);
    CHECK(g.count(c.op) == 1);
  }
}

TEST_CASE("canonicalize: Gemm with alpha, beta, transposes and every kind of addend") {
  for (bool trans_a : {false, true})
    for (bool trans_b : {false, true})
      for (bool constant : {false, true})
        for (const Dimensions& addend : {Dimensions{}, Dimensions{3}, Dimensions{1, 3},
                                         Dimensions{4, 1}, Dimensions{4, 3}, Dimensions{9}}) {
          CAPTURE(trans_a);
          CAPTURE(trans_b);
          CAPTURE(constant);
          GraphBuilder g;
          ValueId a = g.input("a", trans_a ? Dimensions{6, 4} : Dimensions{4, 6});
          Dimensions b_dims = trans_b ? Dimensions{3, 6} : Dimensions{6, 3};
          std::vector<ValueId> operands = {a, constant ? g.weights(b_dims) : g.input("b", b_dims)};
          if (addend != Dimensions{9}) operands.push_back(g.weights(addend));
          g.output(g.node(op::Gemm, operands,
                          {{attr::alpha, 0.5},
                           {attr::beta, 2.0},
                           {attr::transA, int64_t(trans_a)},
                           {attr::transB, int64_t(trans_b)}}));
          check_cast(g);
          CHECK(g.count("Linear") == size_t(constant));
        }
}

TEST_CASE("canonicalize: norms in every layout of their parameters") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 6, 5, 4});
  g.output(g.node(op::BatchNormalization,
                  {x, g.weights({6}), g.weights({6}), g.weights({6}), g.positive({6})},
                  {{attr::epsilon, 1e-3}}));
  g.output(g.node(op::InstanceNormalization, {x, g.weights({6}), g.weights({6})},
                  {{attr::epsilon, 1e-3}}));
  g.output(g.node(op::GroupNormalization, {x, g.weights({6}), g.weights({6})},
                  {{attr::epsilon, 1e-3}, {attr::num_groups, int64_t(3)}}));
  g.output(g.node(op::LayerNormalization, {x, g.weights({4}), g.weights({4})},
                  {{attr::epsilon, 1e-3}, {attr::axis, int64_t(3)}}));
  g.output(g.node(op::LayerNormalization, {x, g.weights({5, 4})},
                  {{attr::epsilon, 1e-3}, {attr::axis, int64_t(2)}}));
  g.output(g.node(op::LayerNormalization, {x, g.weights({4}), g.weights({5, 4})},
                  {{attr::epsilon, 1e-3}, {attr::axis, int64_t(2)}}));
  g.output(g.node(op::RMSNormalization, {x, g.weights({4})},
                  {{attr::epsilon, 1e-3}, {attr::axis, int64_t(3)}}));
  check_cast(g);
  CHECK(g.count("Normalize") == 6);
}

TEST_CASE("canonicalize: reductions keep or drop their dimensions") {
  for (const graph::Operator op :
       {op::ReduceSum, op::ReduceMean, op::ReduceMax, op::ReduceMin, op::ReduceProd, op::ReduceL1,
        op::ReduceL2, op::ReduceSumSquare, op::ReduceLogSumExp})
    for (int64_t keep : {0, 1}) {
      CAPTURE(op);
      GraphBuilder g;
      g.output(g.node(op, {g.input("x", {2, 3, 4})},
                      {{attr::axes, Integers{0, 2}}, {attr::keepdims, keep}}));
      check_cast(g);
    }
  for (const graph::Operator op : {op::ArgMax, op::ArgMin})
    for (int64_t keep : {0, 1}) {
      GraphBuilder g;
      g.output(g.node(
          op, {g.input("x", {2, 3, 4})},
          {{attr::axis, int64_t(1)}, {attr::keepdims, keep}, {attr::select_last_index, int64_t(0)}},
          {}, DType::kI64));
      check_cast(g);
    }
}

TEST_CASE("canonicalize: elementwise operators one by one") {
  for (const graph::Operator op :
       {op::Abs,  op::Ceil,     op::Cos,        op::Erf,  op::Exp,   op::Floor,   op::HardSwish,
        op::Mish, op::Neg,      op::Reciprocal, op::Relu, op::Round, op::Sigmoid, op::Sign,
        op::Sin,  op::Softplus, op::Softsign,   op::Tanh, op::Tan,   op::Atan}) {
    CAPTURE(op);
    GraphBuilder g;
    g.output(g.node(op, {g.input("x", {2, 3})}));
    check_cast(g);
  }
  for (const graph::Operator op : {op::Add, op::Sub, op::Mul, op::Div, op::Min, op::Max, op::Mod}) {
    CAPTURE(op);
    GraphBuilder g;
    g.output(g.node(op, {g.input("a", {2, 1, 4}), g.input("b", {3, 1})}));
    check_cast(g, 1e-4);
  }
  for (const graph::Operator op :
       {op::Equal, op::Greater, op::GreaterOrEqual, op::Less, op::LessOrEqual}) {
    GraphBuilder g;
    g.output(g.node(op, {g.input("a", {2, 4}), g.input("b", {4})}, {}, {}, DType::kBool));
    check_cast(g);
  }
}

TEST_CASE("canonicalize: operators with numbers, choices and conversions") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 3}), y = g.input("y", {3});
  g.output(g.node(op::LeakyRelu, {x}, {{attr::alpha, 0.1}}));
  g.output(g.node(op::Elu, {x}, {{attr::alpha, 0.7}}));
  g.output(g.node(op::HardSigmoid, {x}, {{attr::alpha, 0.3}, {attr::beta, 0.4}}));
  g.output(g.node(op::Clip, {x}, {{attr::min, -0.25}, {attr::max, 0.5}}));
  g.output(g.node(op::Clip, {x}, {{attr::min, 0.0}}));
  g.output(g.node(op::Clip, {x}, {{attr::max, 0.5}}));
  g.output(g.node(op::Swish, {x}, {{attr::alpha, 1.7}}));
  g.output(g.node(op::Gelu, {x}, {{attr::approximate, Text("none")}}));
  g.output(g.node(op::Gelu, {x}, {{attr::approximate, Text("tanh")}}));
  g.output(g.node(op::PRelu, {x, g.weights({3})}));
  g.output(g.node(op::PRelu, {x, g.number(0.2)}));
  ValueId truth = g.node(op::Greater, {x, y}, {}, {}, DType::kBool);
  g.output(g.node(op::Where, {truth, x, y}, {}, {}, DType::kF32));
  g.output(g.node(op::Cast, {truth}, {{attr::to, int64_t(DType::kF32)}}, {}, DType::kF32));
  g.output(g.node(op::Cast, {x}, {{attr::to, int64_t(DType::kBool)}}, {}, DType::kBool));
  ValueId whole = g.node(op::Cast, {g.node(op::Mul, {x, g.number(9)})},
                         {{attr::to, int64_t(DType::kI64)}}, {}, DType::kI64);
  g.output(g.node(op::Div, {whole, g.indices({1}, {2})}));
  g.output(g.node(op::Expand, {y}, {}, {4, 2, 3}));
  g.output(g.node(op::Softmax, {x}, {{attr::axis, int64_t(0)}}));
  g.output(g.node(op::LogSoftmax, {x}, {{attr::axis, int64_t(1)}}));
  check_cast(g);
}

TEST_CASE("canonicalize: movement, sorting and gathering") {
  GraphBuilder g;
  ValueId x = g.input("x", {2, 6, 5});
  for (ValueId piece :
       g.nodes(op::Split, {x}, {{attr::axis, int64_t(1)}}, {{2, 1, 5}, {2, 3, 5}, {2, 2, 5}}))
    g.output(piece);
  g.output(g.node(op::Gather, {x, g.indices({2, 2}, {4, 0, -1, 2})}, {{attr::axis, int64_t(1)}}));
  g.output(g.node(op::Gather, {x, g.indices({}, {-2})}, {{attr::axis, int64_t(2)}}));
  g.output(g.node(op::Gather, {x, g.indices({3}, {1, 2, 3})}, {{attr::axis, int64_t(1)}}));
  g.output(g.node(op::Gather, {x, g.indices({3}, {3, 2, 1})}, {{attr::axis, int64_t(1)}}));
  g.output(g.node(op::GatherElements, {x, g.indices({1, 2, 2}, {4, 0, -1, 2})},
                  {{attr::axis, int64_t(1)}}));
  for (ValueId piece :
       g.nodes(op::TopK, {x},
               {{attr::axis, int64_t(1)}, {attr::largest, int64_t(1)}, {attr::sorted, int64_t(1)}},
               {{2, 3, 5}, {2, 3, 5}}))
    g.output(piece);
  g.output(g.node(
      op::CumSum, {x},
      {{attr::axis, int64_t(1)}, {attr::exclusive, int64_t(1)}, {attr::reverse, int64_t(1)}}));
  g.output(g.node(op::Tile, {x}, {}, {4, 6, 10}));
  g.output(g.node(op::Slice, {x},
                  {{attr::starts, graph::Dims{1, 5, 0}}, {attr::steps, Integers{1, -2, 2}}},
                  {1, 3, 3}));
  g.output(g.node(
      op::Pad, {x},
      {{attr::mode, Text("reflect")}, {attr::before, graph::Dims{0, 1, 2}}, {attr::value, 0.0}},
      {2, 8, 8}));
  check_cast(g);
  CHECK(g.count("Gather") == 2);  // the runs going up by one became slices
}

TEST_CASE("canonicalize: recurrent cells, biases summed where they may be") {
  for (const graph::Operator op : {op::LSTM, op::GRU, op::RNN})
    for (const char* direction : {"forward", "reverse", "bidirectional"})
      for (int64_t layout : {0, 1})
        for (int64_t apart : {0, 1}) {
          CAPTURE(op);
          CAPTURE(direction);
          CAPTURE(layout);
          int64_t d = direction == Text("bidirectional") ? 2 : 1, gates = op == op::LSTM  ? 4
                                                                          : op == op::GRU ? 3
                                                                                          : 1;
          if (apart && op != op::GRU) continue;
          GraphBuilder g;
          Dimensions x = layout ? Dimensions{2, 5, 3} : Dimensions{5, 2, 3},
                     h = layout ? Dimensions{2, d, 4} : Dimensions{d, 2, 4};
          std::vector<ValueId> operands = {g.input("x", x),
                                           g.weights({d, gates * 4, 3}),
                                           g.weights({d, gates * 4, 4}),
                                           g.weights({d, 2 * gates * 4}),
                                           graph::kAbsent,
                                           g.input("h", h)};
          if (gates == 4) operands.push_back(g.input("c", h));
          Attributes a = {{attr::direction, Text(direction)},
                          {attr::hidden_size, int64_t(4)},
                          {attr::layout, layout},
                          {attr::linear_before_reset, apart}};
          Dimensions y = layout ? Dimensions{2, 5, d, 4} : Dimensions{5, d, 2, 4};
          std::vector<Dimensions> outs = {y, h};
          if (gates == 4) outs.push_back(h);
          for (ValueId out : g.nodes(op, operands, a, outs)) g.output(out);
          check_cast(g);
          CHECK(g.find("Recurrent")->integer(attr::batch_first, 0) == layout);
        }
}

TEST_CASE("canonicalize: convolutions with computed weights are products of slices") {
  for (int64_t groups : {1, 2}) {
    GraphBuilder g;
    ValueId x = g.input("x", {2, 4, 5, 6}),
            w = g.node(op::Neg, {g.input("w", {6, 4 / groups, 3, 2})});
    Attributes a = window({3, 2}, {2, 1}, {1, 2}, {1, 0, 0, 1});
    a[attr::group] = groups;
    g.output(g.node(op::Conv, {x, w, g.weights({6})}, a, {2, 6, 2, 5}));
    check_cast(g);
    CHECK(g.count("MatMul") == 1);
  }
}

TEST_CASE("canonicalize: normalization by computed statistics is one chain") {
  GraphBuilder g;
  std::vector<ValueId> operands = {g.input("x", {2, 3, 4, 5})};
  for (const char* name : {"scale", "b", "mean"})
    operands.push_back(g.node(op::Neg, {g.input(name, {3})}));
  operands.push_back(g.node(op::Exp, {g.input("var", {3})}));
  g.output(g.node(op::BatchNormalization, operands, {{attr::epsilon, 1e-3}}));
  check_cast(g);
}

TEST_CASE("canonicalize: sequence lengths and peepholes stay operands of the cell") {
  GraphBuilder g;
  ValueId lens = g.input("lens", {2});
  g.model.values[size_t(lens)].dtype = DType::kI32;
  ValueId peepholes = g.weights({1, 12});
  std::vector<ValueId> operands = {g.input("x", {5, 2, 3}),
                                   g.weights({1, 16, 3}),
                                   g.weights({1, 16, 4}),
                                   graph::kAbsent,
                                   lens,
                                   graph::kAbsent,
                                   graph::kAbsent,
                                   peepholes};
  for (ValueId out : g.nodes(op::LSTM, operands, {{attr::hidden_size, int64_t(4)}},
                             {{5, 1, 2, 4}, {1, 2, 4}, {1, 2, 4}}))
    g.output(out);
  passes::run_passes(g.model);
  const graph::Node* cell = g.find("Recurrent");
  REQUIRE(cell->inputs.size() == 8);
  CHECK(cell->inputs[6] == lens);
  CHECK(cell->inputs[7] == peepholes);
}

TEST_CASE("canonicalize: what cannot be converted is listed whole, with node and output") {
  GraphBuilder g;
  ValueId x = g.input("x", {1, 2, 4, 4});
  ValueId w = g.node(op::Neg, {g.input("w", {2, 3, 1, 1})});
  ValueId a =
      g.node(op::ConvTranspose, {x, w}, window({1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}), {1, 3, 4, 4});
  g.output(a);
  g.output(g.node(op::Relu, {x}));
  g.model.graph.nodes.back().op = op::Optional;
  try {
    passes::run_passes(g.model);
    FAIL("was converted");
  } catch (const graph::ConversionError& error) {
    CHECK(error.exit_code == 4);
    REQUIRE(error.unsupported.size() == 2);
    CHECK(error.unsupported[0].op == "ConvTranspose");
    CHECK(error.unsupported[0].attribute == "W");
    CHECK(error.unsupported[1].op == "Optional");
    CHECK(error.unsupported[1].output != "");
  }
}
