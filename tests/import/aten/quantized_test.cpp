// SPDX-License-Identifier: Apache-2.0
// tests/import/aten/quantized_test.cpp - quantized tensors of PyTorch: the numbers on their steps,
// which operators keep the steps, and what is refused.
#include <limits>

#include "tests/import/aten/program.h"
#include "tools/import/aten/quantized_tensor.h"

using namespace ingot;
using namespace ingot::test;
using aten::Value;

namespace {

/// Builds the graph of a call on an input and gives the operators that stand in it.
struct Followed {
  Program program;
  Value q;
  explicit Followed(DType integers = DType::kU8) {
    q = program.input("x", DType::kF32, {graph::Dim(2), graph::Dim(3)});
    aten::Builder::set_quantization(q.tensor, {integers, 0.5, 10});
  }
  const aten::TensorQuantization* steps(const Value& value) const {
    return aten::Builder::quantization(value.tensor);
  }
  int count(const std::string& op) const {
    int found = 0;
    for (const graph::Node& node : program.model.graph.nodes) found += graph::text(node.op) == op;
    return found;
  }
};

}  // namespace

TEST_CASE("quantized tensors: movement keeps the steps, and nothing is rounded") {
  Followed f;
  const Value y = f.program.call("t", {f.q});
  REQUIRE(f.steps(y));
  CHECK(f.steps(y)->scale == 0.5);
  CHECK(f.steps(y)->zero_point == 10);
  CHECK(f.count("QuantizeLinear") == 0);
}

TEST_CASE("quantized tensors: functions with a known range have steps of their own") {
  struct Case {
    const char* op;
    DType integers;
    double scale;
    int64_t zero_point;
  };
  for (const Case& c :
       {Case{"sigmoid", DType::kU8, 1.0 / 256, 0}, Case{"sigmoid", DType::kI8, 1.0 / 256, -128},
        Case{"tanh", DType::kU8, 1.0 / 128, 128}, Case{"tanh", DType::kI8, 1.0 / 128, 0},
        Case{"mean", DType::kU8, 0.5, 10}}) {
    CAPTURE(c.op);
    Followed f(c.integers);
    const Value y = f.program.call(c.op, {f.q});
    REQUIRE(f.steps(y));
    CHECK(f.steps(y)->scale == c.scale);
    CHECK(f.steps(y)->zero_point == c.zero_point);
    CHECK(f.count("QuantizeLinear") == 1);
  }
}

TEST_CASE("quantized tensors: sums and products with a number move zero point and scale") {
  struct Case {
    const char* op;
    double number, scale;
    int64_t zero_point;
  };
  for (const Case& c :
       {Case{"quantized::add_scalar", 2, 0.5, 6},
        Case{"quantized::add_scalar", 10, 0.5 * 265 / 255, 0},
        Case{"quantized::add_scalar", -200, 0.5 * 410 / 255, 255},
        Case{"quantized::mul_scalar", 3, 1.5, 10}, Case{"quantized::mul_scalar", -2, 1, 245},
        Case{"quantized::mul_scalar", 0, 1, 0}}) {
    CAPTURE(c.op);
    CAPTURE(c.number);
    Followed f;
    const Value y = f.program.call(c.op, {f.q, real(c.number)});
    REQUIRE(f.steps(y));
    CHECK(f.steps(y)->scale == doctest::Approx(c.scale));
    CHECK(f.steps(y)->zero_point == c.zero_point);
  }
}

TEST_CASE("quantized tensors: what PyTorch has no operator for is refused by name") {
  Followed f;
  (void)f.program.call("cumsum", {f.q, whole(0)});
  CHECK(f.program.refusals().find("aten::cumsum||") == 0);
  CHECK(f.program.refusals().find("of a quantized tensor is not supported") != std::string::npos);
  Followed none;
  (void)none.program.call("int_repr", {none.program.call("dequantize", {none.q})});
  CHECK(none.program.refusals().find("aten::int_repr|self|") == 0);
  Followed wide;
  (void)wide.program.call("quantize_per_tensor", {none.q, real(0.5), whole(0), whole(14)});
  CHECK(wide.program.refusals().find("quantization to i32") != std::string::npos);
}

TEST_CASE("quantized tensors: scales and zero points that cannot be") {
  const auto code = [](double scale, int64_t zero) -> int {
    Followed f;
    try {
      (void)f.program.call("quantize_per_tensor", {f.q, real(scale), whole(zero), whole(13)});
    } catch (const graph::ConversionError& error) {
      return error.exit_code;
    }
    return 0;
  };
  CHECK(code(0.5, 255) == 0);
  CHECK(code(0.5, 256) == 2);
  CHECK(code(0.5, -1) == 2);
  CHECK(code(0, 3) == 2);
  CHECK(code(-0.5, 3) == 2);
  CHECK(code(1e-45, 3) == 2);
  CHECK(code(std::numeric_limits<double>::quiet_NaN(), 3) == 2);
  CHECK(code(std::numeric_limits<double>::infinity(), 3) == 2);
}

TEST_CASE("quantize_per_tensor of a program: a range that the type has not is refused") {
  const auto why = [](int64_t low, int64_t high, int64_t type) {
    Followed f;
    (void)f.program.call("quantized_decomposed::quantize_per_tensor",
                         {f.q, real(0.5), whole(3), whole(low), whole(high), whole(type)});
    return f.program.refusals();
  };
  CHECK(why(0, 255, 0) == "");
  CHECK(why(0, 127, 0) == "");
  CHECK(why(-128, 127, 1) == "");
  CHECK(why(0, 256, 0).find("|quant_min|") != std::string::npos);
  CHECK(why(-1, 255, 0).find("|quant_min|") != std::string::npos);
  CHECK(why(5, 5, 0).find("|quant_min|") != std::string::npos);
  CHECK(why(0, 255, 6).find("|dtype|") != std::string::npos);
}

TEST_CASE("quantized tensors: a convolution of no image is refused") {
  Program p;
  const Value weight = p.floats({1, 1, 1, 1}, {1}), none = Value::none();
  Value q = p.input("x", DType::kF32, {});
  aten::Builder::set_quantization(q.tensor, {DType::kU8, 0.5, 10});
  CHECK_THROWS_AS(p.call("quantized::conv1d", {q, weight, none, list({1}), list({0}), list({1}),
                                               whole(1), Value::of(0.5), whole(0)}),
                  graph::ConversionError);
}
