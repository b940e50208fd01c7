// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/lower_test.cpp - what calls mean: types, overloads, refusals.
#include <cmath>

#include "tests/import/aten/program.h"
#include "tools/import/aten/promotion.h"
#include "tools/import/aten/schema.h"

using namespace ingot;
using namespace ingot::test;
using aten::Value;
using Numbers = std::vector<double>;

TEST_CASE("types are promoted as PyTorch promotes them") {
  CHECK(aten::promoted(DType::kU8, DType::kI8) == DType::kI16);
  CHECK(aten::promoted(DType::kF16, DType::kBF16) == DType::kF32);
  CHECK(aten::promoted(DType::kI64, DType::kF16) == DType::kF16);
  CHECK(aten::promoted(DType::kBool, DType::kU8) == DType::kU8);
  CHECK(aten::promoted(DType::kI32, DType::kI64) == DType::kI64);
  Program p;
  const Value half = p.tensor(DType::kF16, {2}, {1, 2}), point = p.tensor(DType::kF32, {}, {3}),
              ints = p.tensor(DType::kI32, {2}, {7, -7});
  CHECK(p.dtype(p.call("add", {half, point})) == DType::kF16);      // of rank 0 counts less
  CHECK(p.dtype(p.call("add", {ints, real(0.5)})) == DType::kF32);  // a fraction beside integers
  CHECK(p.dtype(p.call("add", {ints, whole(1)})) == DType::kI32);
  CHECK(p.dtype(p.call("div", {ints, whole(2)})) == DType::kF32);
  CHECK(p.numbers(p.call("div", {ints, whole(2)})) == Numbers{3.5, -3.5});
  CHECK(p.numbers(p.call("floor_divide", {ints, whole(2)})) == Numbers{3, -4});
  CHECK(p.numbers(p.call_with("div", {ints, whole(2)},
                              {{"rounding_mode", Value::of(std::string("trunc"))}})) ==
        Numbers{3, -3});
  CHECK(p.numbers(p.call("remainder", {ints, whole(4)})) == Numbers{3, 1});
  // alpha
  CHECK(p.numbers(p.call_with("add", {ints, ints}, {{"alpha", whole(2)}})) == Numbers{21, -21});
  CHECK(p.numbers(p.call("rsub", {ints, whole(10)})) == Numbers{3, 17});
  CHECK(p.dtype(p.call("gt", {ints, real(0.5)})) == DType::kBool);
  CHECK(p.numbers(p.call("clamp", {ints, whole(-3), Value::none()})) == Numbers{7, -3});
  CHECK(p.dtype(p.call("sum", {p.call("gt", {ints, whole(0)})})) == DType::kI64);
  CHECK(p.refusals() == "");
}

TEST_CASE("sizes are numbers, symbolic where a dimension is free") {
  Program p;
  const Value x = p.input("x", DType::kF32, {aten::Dim::symbol("N"), aten::Dim(6)});
  const Value n = p.call("size", {x, whole(0)}, "int");
  CHECK(n.integer.text() == "N");
  CHECK(p.shape(p.call("view", {x, Value::list({n, whole(2), whole(-1)})})) == "[N, 2, 3]");
  CHECK(p.shape(p.call("reshape", {x, list({-1})})) == "[6*N]");
  CHECK(p.shape(p.call("slice", {x, whole(0), whole(1), whole(INT64_MAX)})) ==
        p.shape(p.call("slice", {x, whole(0), whole(1)})));
  CHECK(p.shape(p.call("arange", {n})) == "[N]");
  CHECK(p.shape(p.call("cat", {Value::tensors({x.tensor, x.tensor}), whole(0)})) == "[2*N, 6]");
  CHECK(p.shape(p.call("zeros", {Value::list({n, n})})) == "[N, N]");
  const std::vector<Value> chunks = *p.call("chunk", {x, whole(4), whole(1)}).items;
  CHECK(chunks.size() == 3);  // of 2: as PyTorch counts
  CHECK(p.call("chunk", {x, whole(2), whole(0)}).is(Value::Kind::kUnknown));
  CHECK(p.refusals().find("splits a symbolic dimension") != std::string::npos);
}

TEST_CASE("the arguments choose the overload where the source names none") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 5, 2, 9, 4, 7});
  CHECK(p.numbers(p.call("max", {x})) == Numbers{9});
  const std::vector<Value> both = p.results("max", {x, whole(1), Value::of(false)});
  REQUIRE(both.size() == 2);
  CHECK(p.numbers(both[0]) == Numbers{5, 9});
  CHECK(p.numbers(p.call("max", {x, p.floats({}, {4})})) == Numbers{4, 5, 4, 9, 4, 7});
  CHECK(p.numbers(p.call("mean", {x, list({0}), Value::of(true)})) == Numbers{5, 4.5, 4.5});
  CHECK(p.dtype(p.call("to", {x, whole(4), Value::of(false), Value::of(false), Value::none()})) ==
        DType::kI64);
  CHECK(p.dtype(p.call("to", {x, Value::of(std::string("cpu")), whole(5)})) == DType::kF16);
  CHECK(p.numbers(p.call("pow", {x, whole(2)})) == Numbers{1, 25, 4, 81, 16, 49});
  CHECK(p.numbers(p.call("index_select", {x, whole(1), p.tensor(DType::kI64, {2}, {2, 0})})) ==
        Numbers{2, 1, 7, 9});
  CHECK(p.numbers(p.call("arange", {whole(2), whole(9), whole(3)})) == Numbers{2, 5, 8});
  CHECK(p.numbers(p.call("flip", {x, list({1})})) == Numbers{2, 5, 1, 7, 4, 9});
  const Value rows = p.floats({2, 2}, {1, 2, 3, 4}), last = p.tensor(DType::kI64, {1, 1}, {1});
  CHECK(p.numbers(p.call("take_along_dim", {rows, last, whole(0)})) == Numbers{3, 4});
  CHECK(p.shape(p.call("adjoint", {p.floats({1, 2, 3}, {1, 2, 3, 4, 5, 6})})) == "[1, 3, 2]");
  CHECK(p.numbers(p.call("roll", {x, list({1}), list({1})})) == Numbers{2, 1, 5, 7, 9, 4});
  CHECK(p.refusals() == "");
}

TEST_CASE("everything that is refused is gathered, each cause once") {
  Program p;
  const Value x = p.floats({2, 2}, {1, 2, 3, 4});
  const Value lost = p.call("svd_of_dreams", {x});
  CHECK(lost.is(Value::Kind::kUnknown));
  CHECK(p.call("relu", {lost}).is(Value::Kind::kUnknown));  // no second report
  CHECK(p.call_with("gelu", {x}, {{"approximate", Value::of(std::string("cubic"))}})
            .is(Value::Kind::kUnknown));
  CHECK(p.call("conv2d", {x}).is(Value::Kind::kUnknown));
  const std::vector<Value> dropped = p.results("native_dropout", {x, real(0.5), Value::of(false)});
  REQUIRE(dropped.size() == 2);
  CHECK(p.refusals().find("mask") == std::string::npos);  // nobody reads it
  p.call("add", {dropped[1], whole(1)});
  const std::string said = p.refusals();
  CAPTURE(said);
  CHECK(p.builder.unsupported.size() == 4);
  CHECK(said.find("aten::svd_of_dreams||svd_of_dreams_1|the operator is not supported") !=
        std::string::npos);
  CHECK(said.find("aten::gelu|approximate|gelu_3|'cubic' is not known") != std::string::npos);
  CHECK(said.find("the argument 'weight' is missing") != std::string::npos);
  CHECK(said.find("the mask of a dropout is not made") != std::string::npos);
  const graph::ConversionError error = graph::refusal("net.pt2", p.builder.unsupported);
  CHECK(error.exit_code == 4);
  CHECK(error.unsupported.size() == 4);
  CHECK(error.message.find("net.pt2: 4 things are not supported") == 0);
}

TEST_CASE("a program that contradicts itself is an error of the file") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_THROWS_AS(p.call("matmul", {x, x}), graph::ConversionError);
  CHECK_THROWS_AS(p.call("view", {x, list({4, 2})}), graph::ConversionError);
  CHECK_THROWS_AS(p.call("select", {x, whole(5), whole(0)}), graph::ConversionError);
  CHECK_THROWS_AS(p.call("select", {x, whole(0), whole(2)}), graph::ConversionError);
  CHECK_THROWS_AS(p.call("arange", {whole(0), whole(4), whole(0)}), graph::ConversionError);
  const Value w = p.floats({1, 1, 5, 5}, std::vector<double>(25));
  CHECK_THROWS_AS(p.call("conv2d", {w, w, aten::Value::none(), list({1, 1}),
                                    aten::Value::of(std::string("same")), list({INT64_MAX, 1})}),
                  graph::ConversionError);
}

TEST_CASE("every entry of the table parses, and none stands twice") {
  size_t forms = 0;
  for (const auto& entry : aten::operator_table().all()) {
    const auto& name = entry.first;
    const auto& schemas = entry.second;
    for (size_t i = 0; i < schemas.size(); i++) {
      forms++;
      for (size_t k = 0; k < i; k++)
        CHECK_MESSAGE(schemas[i].overload != schemas[k].overload,
                      name << "." << schemas[i].overload);
    }
  }
  CHECK(forms > 300);
}

TEST_CASE("an argument behind * has no place: a number there is the next overload's") {
  Program p;
  const Value x = p.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(p.numbers(p.call("prod", {x, whole(0)})) == Numbers{4, 10, 18});
  CHECK(p.numbers(p.call("prod", {x, whole(1), Value::of(true)})) == Numbers{6, 120});
  CHECK(p.numbers(p.call("prod", {x})) == Numbers{720});
  CHECK(p.dtype(p.call_with("prod", {x}, {{"dtype", whole(4)}})) == DType::kI64);
  CHECK(p.refusals() == "");
  CHECK(p.call("cumsum", {x, whole(0), whole(4)}).is(Value::Kind::kUnknown));
}

TEST_CASE("upsample_nearest has the arithmetic of PyTorch") {
  const auto node_of = [](const std::string& op, const std::vector<Value>& arguments) {
    Program p;
    std::vector<Value> all = {p.input("x", DType::kF32, {1, 1, 5})};
    all.insert(all.end(), arguments.begin(), arguments.end());
    CHECK(p.shape(p.call(op, all)) != "");
    CHECK(p.refusals() == "");
    return p.model.graph.nodes.back();
  };
  const graph::Node by_size = node_of("upsample_nearest1d", {list({7})});
  CHECK(by_size.text(attr::coordinate_transformation_mode, "") == "asymmetric_multiplied");
  CHECK(by_size.text(attr::nearest_mode, "") == "floor");
  const graph::Node exact = node_of("_upsample_nearest_exact1d", {list({7})});
  CHECK(exact.text(attr::coordinate_transformation_mode, "") == "tf_half_pixel_multiplied");
  CHECK(exact.text(attr::nearest_mode, "") == "floor");
  // the stated scale is what counts, but where the extent doubles
  CHECK(node_of("upsample_nearest1d", {list({7}), real(1.5)}).numbers(attr::scales)[2] == 1.5);
  CHECK(node_of("upsample_nearest1d", {list({10}), real(2.1)}).numbers(attr::scales)[2] == 2);
  CHECK(node_of("_upsample_nearest_exact1d", {list({10}), real(2.1)}).numbers(attr::scales)[2] ==
        2.1);
}

TEST_CASE("a scale that no extent follows is refused") {
  Program p;
  const Value x = p.input("x", DType::kF32, {1, 1, 9, 9});
  const Value sizes = list({int64_t(1) << 62, 9});
  CHECK_THROWS_AS(p.call("_upsample_bicubic2d_aa", {x, sizes, Value::of(true)}),
                  graph::ConversionError);
}

TEST_CASE("an LSTM with one state, or three, is refused by name") {
  for (const size_t count : {0, 1, 2, 3}) {
    CAPTURE(count);
    Program p;
    const std::vector<Value> states(count, p.floats({1, 1, 2}, {1, 2}));
    const std::vector<Value> params = {p.floats({8, 3}, std::vector<double>(24, 0.5)),
                                       p.floats({8, 2}, std::vector<double>(16, 0.5))};
    const auto call = [&] {
      (void)p.results("lstm",
                      {p.floats({2, 1, 3}, {1, 2, 3, 4, 5, 6}), Value::list(states),
                       Value::list(params), Value::of(false), whole(1), real(0), Value::of(false),
                       Value::of(false), Value::of(false)},
                      "input");
    };
    if (count == 2)
      CHECK_NOTHROW(call());
    else
      CHECK_THROWS_AS(call(), graph::ConversionError);
  }
}
