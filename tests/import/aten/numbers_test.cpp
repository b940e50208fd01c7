// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/numbers_test.cpp - single numbers on which PyTorch's operators differ from
// their plain formulas: what is not finite, quotients that round to a whole number, parts of
// different ranks. The expected numbers are those of eager PyTorch.
#include <algorithm>
#include <cmath>

#include "tests/import/aten/program.h"
#include "tools/import/aten/promotion.h"

using namespace ingot;
using namespace ingot::test;
using aten::Value;
using Numbers = std::vector<double>;

namespace {

constexpr double kInf = INFINITY, kNan = NAN;

/// Equal, where NaN equals NaN; a relative error of a few bits of f32 is allowed.
bool same(const Numbers& got, const Numbers& expected) {
  bool all = got.size() == expected.size();
  for (size_t i = 0; all && i < got.size(); i++)
    all = std::isnan(expected[i]) ? std::isnan(got[i])
          : std::isinf(expected[i])
              ? got[i] == expected[i]
              : std::abs(got[i] - expected[i]) <= 1e-6 * std::abs(expected[i]);
  for (size_t i = 0; !all && i < got.size(); i++) MESSAGE("element " << i << ": " << got[i]);
  return all;
}

}  // namespace

TEST_CASE("NaN goes through activations and extremes of two") {
  Program p;
  const Value x = p.floats({4}, {kNan, 2, -0.25, kNan}), y = p.floats({4}, {1, kNan, 3, kNan});
  CHECK(same(p.numbers(p.call("maximum", {x, y})), {kNan, kNan, 3, kNan}));
  CHECK(same(p.numbers(p.call("minimum", {x, y})), {kNan, kNan, -0.25, kNan}));
  CHECK(same(p.numbers(p.call("fmax", {x, y})), {1, 2, 3, kNan}));
  CHECK(same(p.numbers(p.call("fmin", {x, y})), {1, 2, -0.25, kNan}));
  CHECK(same(p.numbers(p.call("clamp", {x, y, Value::none()})), {kNan, kNan, 3, kNan}));
  CHECK(same(p.numbers(p.call("hardshrink", {x, real(0.5)})), {kNan, 2, 0, kNan}));
  CHECK(same(p.numbers(p.call("threshold", {x, real(0.1), real(20)})), {kNan, 2, 20, kNan}));
  CHECK(same(p.numbers(p.call("relu", {x})), {kNan, 2, 0, kNan}));
  CHECK(same(p.numbers(p.call("sign", {x})), {0, 1, -1, 0}));
  CHECK(same(p.numbers(p.call("atan2", {x, y})), {kNan, kNan, std::atan2(-0.25, 3), kNan}));
  CHECK(p.refusals() == "");
}

TEST_CASE("quotients and remainders of fractions are those of the exact numbers") {
  Program p;
  const Value a = p.floats({6}, {1, -1, 7, -5, kInf, 3}),
              b = p.floats({6}, {0.1, 0.1, 0.1, kInf, 2, 0});
  CHECK(same(p.numbers(p.call("floor_divide", {a, b})), {9, -10, 69, -1, kNan, kInf}));
  CHECK(same(p.numbers(p.call("floor_divide", {a, real(-2)})), {-1, 0, -4, 2, kNan, -2}));
  CHECK(same(p.numbers(p.call("remainder", {p.floats({4}, {5.5, -5.5, -5, 5}),
                                            p.floats({4}, {2, 2, kInf, -kInf})})),
             {1.5, 0.5, kInf, -kInf}));
  CHECK(p.refusals() == "");
}

TEST_CASE("angles of points on the axes and at infinity") {
  Program p;
  const Value y = p.floats({5}, {0, -0.0, kInf, -kInf, 2}),
              x = p.floats({5}, {-1, -1, kInf, -kInf, 0});
  const double pi = 3.14159265358979323846;
  CHECK(same(p.numbers(p.call("atan2", {y, x})), {pi, -pi, pi / 4, -3 * pi / 4, pi / 2}));
  CHECK(p.dtype(p.call("atan2", {p.tensor(DType::kI64, {1}, {1}),
                                 p.tensor(DType::kI64, {1}, {1})})) == DType::kF32);
}

TEST_CASE("any of nothing is false, all of nothing is true") {
  Program p;
  const Value none = p.tensor(DType::kBool, {2, 0}, {});
  CHECK(p.numbers(p.call("any", {none, whole(1)})) == Numbers{0, 0});
  CHECK(p.numbers(p.call("all", {none, whole(1)})) == Numbers{1, 1});
  const Value some = p.floats({2, 2}, {0, kNan, 0, 0});
  CHECK(p.numbers(p.call("any", {some, whole(1)})) == Numbers{1, 0});
}

TEST_CASE("parts of different ranks are brought to one first") {
  Program p;
  const Value x = p.floats({1, 2, 2}, {3, 4, 6, 8}), y = p.floats({2, 1}, {1, 0});
  const Value along = p.call("cosine_similarity", {x, y, whole(1)});  // of the whole: 0 of y
  CHECK(p.shape(along) == "[1, 2]");
  CHECK(same(p.numbers(along), {3 / std::sqrt(45.0), 4 / std::sqrt(80.0)}));
  CHECK(p.shape(p.call("cosine_similarity", {x, y, whole(-1)})) == "[1, 2]");
  CHECK(p.shape(p.call("adjoint", {p.floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})})) == "[1, 1, 3, 2]");
  CHECK(p.refusals() == "");
}

TEST_CASE("no dimensions are none, but for sums and their like, where they are all") {
  Program p;
  const Value x = p.floats({2, 2}, {1, 0, 0, 4}), none = list({});
  CHECK(p.numbers(p.call("flip", {x, none})) == Numbers{1, 0, 0, 4});
  CHECK(p.numbers(p.call("any", {x, none}, "dims")) == Numbers{1, 0, 0, 1});
  CHECK(p.shape(p.call("all", {x, none}, "dims")) == "[2, 2]");
  CHECK(p.numbers(p.call("sum", {x, none})) == Numbers{5});
  CHECK(p.numbers(p.call("amax", {x, none})) == Numbers{4});
  CHECK(p.numbers(p.call("fft_fftshift", {x})) == Numbers{4, 0, 0, 1});
  CHECK(p.numbers(p.call("fft_fftshift", {x, none})) == Numbers{1, 0, 0, 4});
  const Value same_x = p.call("real", {p.call("fft_fftn", {x, Value::none(), none})});
  REQUIRE(p.refusals() == "");
  CHECK(p.numbers(same_x) == Numbers{1, 0, 0, 4});
  CHECK_THROWS_AS(p.call("fft_rfftn", {x, Value::none(), none}), graph::ConversionError);
  CHECK(p.refusals() == "");
}

TEST_CASE("distances come from products where PyTorch has them so") {
  const auto has_product = [](const char* name, const std::vector<Value>& behind) {
    Program p;
    const Value x = p.input("x", DType::kF32, {1100, 4});
    std::vector<Value> arguments = {x};
    arguments.insert(arguments.end(), behind.begin(), behind.end());
    if (!behind.empty()) arguments[1] = x;
    (void)p.call(name, arguments);
    CHECK(p.refusals() == "");
    const auto& nodes = p.model.graph.nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const graph::Node& node) { return node.op == graph::Operator::MatMul; });
  };
  CHECK(!has_product("pdist", {}));
  CHECK(has_product("cdist", {Value::none(), real(2), Value::none()}));
  CHECK(!has_product("cdist", {Value::none(), real(2), whole(2)}));
}

TEST_CASE("differences of neighbours") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 4, 9, 2, 0, 5});
  CHECK(p.numbers(p.call("diff", {x})) == Numbers{3, 5, -2, 5});
  CHECK(p.numbers(p.call("diff", {x, whole(2)})) == Numbers{2, 7});
  CHECK(p.numbers(p.call("diff", {x, whole(1), whole(0)})) == Numbers{1, -4, -4});
  CHECK(p.numbers(p.call("diff", {x, whole(1), whole(0), x})) ==
        Numbers{1, -4, -4, -1, 4, 4, 1, -4, -4});
  CHECK(p.numbers(p.call("diff", {p.tensor(DType::kBool, {3}, {1, 0, 0})})) == Numbers{1, 0});
  CHECK(p.shape(p.call("diff", {x, whole(int64_t(1) << 40)})) == "[2, 0]");
  CHECK_THROWS_AS(p.call("repeat_interleave", {p.floats({}, {1}), whole(2), whole(0)}),
                  graph::ConversionError);
  CHECK(p.refusals() == "");
}

TEST_CASE("a number that a trace keeps as a tensor does not widen types") {
  Program p;
  Value two = p.tensor(DType::kF64, {}, {2});
  const Value ints = p.tensor(DType::kI32, {2}, {3, 4});
  CHECK(p.dtype(p.call("mul", {ints, two})) == DType::kF64);  // as a tensor of the program would
  two.wrapped = true;
  CHECK(p.dtype(p.call("mul", {ints, two})) == DType::kF32);
  CHECK(p.numbers(p.call("mul", {ints, two})) == Numbers{6, 8});
}

TEST_CASE("windows of an image as columns, and columns added up into an image") {
  Program p;
  const Value image = p.floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, kInf, 9});
  const Value columns =
      p.call("im2col", {image, list({2, 2}), list({1, 1}), list({0, 0}), list({1, 1})});
  CHECK(p.shape(columns) == "[1, 4, 4]");
  CHECK(same(p.numbers(columns), {1, 2, 4, 5, 2, 3, 5, 6, 4, 5, 7, kInf, 5, 6, kInf, 9}));
  const Value apart =
      p.call("im2col", {image, list({2, 1}), list({1, 1}), list({1, 0}), list({2, 2})});
  CHECK(same(p.numbers(apart), {0, 0, 4, 6, 1, 3, 7, 9}));
  const Value back = p.call(
      "col2im", {columns, list({3, 3}), list({2, 2}), list({1, 1}), list({0, 0}), list({1, 1})});
  CHECK(p.shape(back) == "[1, 1, 3, 3]");
  CHECK(same(p.numbers(back), {1, 4, 3, 8, 20, 12, 7, kInf, 9}));
  const Value rows = p.call(
      "col2im", {apart, list({3, 3}), list({2, 1}), list({1, 1}), list({1, 0}), list({2, 2})});
  CHECK(same(p.numbers(rows), {1, 0, 3, 4, 0, 6, 7, 0, 9}));
  CHECK(p.refusals() == "");
}

TEST_CASE("repeat_interleave by a tensor of known numbers") {
  Program p;
  const Value x = p.floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const Value counts = p.tensor(DType::kI64, {3}, {2, 0, 1});
  CHECK(p.numbers(p.call("repeat_interleave", {x, counts, whole(0)}, "self_Tensor")) ==
        Numbers{1, 2, 1, 2, 5, 6});
  const Value each = p.tensor(DType::kI64, {1}, {2});
  CHECK(p.numbers(p.call("repeat_interleave", {x, each, whole(1)}, "self_Tensor")) ==
        Numbers{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  CHECK(p.refusals() == "");
  p.call("repeat_interleave", {x, p.input("n", DType::kI64, {aten::Dim(3)}), whole(0)});
  CHECK(p.refusals().find("only the data tells") != std::string::npos);
}

TEST_CASE("compositions where their parts are not finite, zero or equal") {
  Program p;
  const Value x = p.floats({5}, {1, -kInf, kInf, kNan, 0});
  CHECK(same(p.numbers(p.call("heaviside", {x, p.floats({}, {0.5})})), {1, 0, 1, 0, 0.5}));
  const Value y = p.floats({5}, {1, -kInf, kInf, 2, kInf});
  CHECK(same(p.numbers(p.call("logaddexp", {x, y})), {1 + std::log(2.0), -kInf, kInf, kNan, kInf}));
  CHECK(same(p.numbers(p.call("logit", {p.floats({3}, {0.5, 0, 2}), real(0.25)})),
             {0, -std::log(3), std::log(3)}));
  CHECK(same(p.numbers(p.call("frac", {p.floats({3}, {1.25, -1.25, 0})})), {0.25, -0.25, 0}));
  CHECK(p.refusals() == "");
}

TEST_CASE("distances, few and many") {
  Program p;
  const Value x = p.floats({2, 2}, {0, 0, 3, 4}), y = p.floats({1, 2}, {3, 4});
  CHECK(same(p.numbers(p.call("cdist", {x, y, real(2)})), {5, 0}));
  CHECK(same(p.numbers(p.call("cdist", {x, y, real(kInf)})), {4, 0}));
  CHECK(same(p.numbers(p.call("pairwise_distance", {x, y, real(1), real(0)})), {7, 0}));
  CHECK(p.refusals() == "");
}

TEST_CASE("joins of stacks and changes by index") {
  Program p;
  const Value a = p.floats({2}, {1, 2}), b = p.floats({2}, {3, 4});
  const auto joined = [&](const char* name) { return p.call(name, {Value::list({a, b})}); };
  CHECK(p.numbers(joined("hstack")) == Numbers{1, 2, 3, 4});
  CHECK(p.shape(joined("vstack")) == "[2, 2]");
  CHECK(p.shape(joined("dstack")) == "[1, 2, 2]");
  CHECK(p.numbers(joined("column_stack")) == Numbers{1, 3, 2, 4});
  const Value x = p.floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const Value last = p.tensor(DType::kI64, {1}, {1});
  CHECK(p.numbers(p.call("index_fill", {x, whole(1), last, whole(7)})) ==
        Numbers{1, 7, 3, 7, 5, 7});
  p.call("index_fill_", {x, whole(0), last, real(0)});
  CHECK(p.numbers(x) == Numbers{1, 2, 0, 0, 5, 6});
  CHECK(p.refusals() == "");
}
