// SPDX-License-Identifier: Apache-2.0
// Small operators of bytes: every byte, every pair of bytes, every tail, rows apart, numbers that
// are none, and what the contracts refuse.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "runtime/op/elementwise.h"
#include "runtime/op/lookup.h"
#include "runtime/op/quantize.h"
#include "runtime/op/quantized_elementwise.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

const std::vector<RequantMode> kModes = {RequantMode::kFloatEven, RequantMode::kFixedUp,
                                         RequantMode::kFixedAway, RequantMode::kFixedOnce};

/// 0 .. n - 1, each `repeat` times.
std::vector<double> counted(int n, int repeat = 1) {
  std::vector<double> out;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < repeat; k++) out.push_back(i);
  return out;
}

/// A multiplier of 31 bits and a shift to the right for m, as TFLite splits it.
void split(double m, int32_t* multiplier, int32_t* shift) {
  int exponent;
  int64_t q = std::llround(std::frexp(m, &exponent) * 2147483648.0);
  if (q == int64_t{1} << 31) q /= 2, exponent++;
  *multiplier = int32_t(q), *shift = -exponent;
}

using Binary = QuantizedElementwiseAttributes;

/// Scales of a, b and y as the source has them.
Binary binary_of(QuantizedFunction function, RequantMode mode, double a, double b, double y) {
  Binary t;
  t.function = function, t.requant = mode;
  if (mode == RequantMode::kFloatEven) {
    const double most = std::max(a / y, b / y);
    t.y_shift = 20 - int32_t(std::floor(std::log2(most)));
    t.a_multiplier = int32_t(std::lround(std::ldexp(a / y, t.y_shift)));
    t.b_multiplier = int32_t(std::lround(std::ldexp(b / y, t.y_shift)));
    t.scale = float(a) * float(b) / float(y);
    return t;
  }
  const bool product = function == QuantizedFunction::kMul;
  const double twice = 2 * std::max(a, b);
  split(a / twice, &t.a_multiplier, &t.a_shift);
  split(b / twice, &t.b_multiplier, &t.b_shift);
  split(product ? a * b / y : twice / (1048576 * y), &t.y_multiplier, &t.y_shift);
  return t;
}

}  // namespace

TEST_CASE("quantized_elementwise: all pairs of bytes") {
  struct Quantization {
    double a, b, y;
    uint32_t a_zero, b_zero, y_zero, low, high;
  };
  const Quantization all[] = {
      {0.1, 0.1, 0.2, 128, 128, 128, 0, 255},  {0.0235, 0.0171, 0.0401, 3, 250, 128, 0, 255},
      {1, 0.002, 0.9, 0, 0, 0, 0, 255},        {0.5, 0.5, 0.5, 255, 7, 130, 130, 255},
      {0.01, 0.02, 5, 128, 128, 100, 20, 200}, {7, 5, 0.03, 100, 140, 128, 0, 255},
  };
  for (const Quantization& q : all)
    for (const RequantMode mode : kModes)
      for (int function = 0; function < 3; function++) {
        Binary t = binary_of(QuantizedFunction(function), mode, q.a, q.b, q.y);
        t.a_zero = q.a_zero, t.b_zero = q.b_zero, t.y_zero = q.y_zero;
        t.low = q.low, t.high = q.high;
        Case c{"pairs", OpCode::kQuantizedElementwise, &t, {}, {}, {0, 0}};
        c.inputs = {Tensor(DType::kU8, {256, 1}).values(counted(256)),
                    Tensor(DType::kU8, {256}).values(counted(256))};
        c.outputs = {Tensor(DType::kU8, {256, 256})};
        run_case(c);
        c.name = "pairs, both along rows";
        c.inputs = {Tensor(DType::kU8, {256, 256}).values(counted(256, 256)),
                    Tensor(DType::kU8, {256, 256}).values(counted(256))};
        run_case(c);
      }
}

TEST_CASE("quantized_elementwise: broadcasts, tails, rows apart") {
  Combinations all("quantized_elementwise", 1500, 2, 0);
  struct Shape {
    Dims a, b, y;
  };
  const Axis<Shape> shape = all.axis<Shape>("shape", {{{1}, {1}, {1}},
                                                      {{}, {}, {}},
                                                      {{3, 5}, {3, 5}, {3, 5}},
                                                      {{2, 7, 67}, {67}, {2, 7, 67}},
                                                      {{2, 3, 4, 9}, {2, 1, 1, 9}, {2, 3, 4, 9}},
                                                      {{131}, {1}, {131}},
                                                      {{1, 31}, {40, 1}, {40, 31}},
                                                      {{1}, {1, 1}, {5, 33}},
                                                      {{4, 0}, {4, 1}, {4, 0}},
                                                      {{5, 1}, {5, 1}, {5, 1}},
                                                      {{5000}, {5000}, {5000}},
                                                      {{70, 90}, {70, 1}, {70, 90}}});
  const Axis<int> paddings = all.axis("padding", 8);
  const Axis<int> function = all.axis("function", 3);
  const Axis<RequantMode> mode = all.axis<RequantMode>("requant", kModes);
  const Axis<Dims> limits = all.axis<Dims>("limits", {{128, 0, 255}, {0, 0, 255}, {255, 30, 250}});
  Binary t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    t = binary_of(QuantizedFunction(function()), mode(), 0.3, 0.11, 0.27);
    t.a_zero = 128, t.b_zero = seed % 256;
    t.y_zero = uint32_t(limits()[0]), t.low = uint32_t(limits()[1]), t.high = uint32_t(limits()[2]);
    const auto tensor = [&](const Dims& dims, int bit) {
      return Tensor(DType::kU8, dims, dims.empty() || !(paddings() >> bit & 1) ? 0 : 3)
          .random(seed++, 0, 255);
    };
    c = {"quantized_elementwise", OpCode::kQuantizedElementwise, &t, {}, {}, {0, 0}};
    c.inputs = {tensor(shape().a, 0), tensor(shape().b, 1)};
    c.outputs = {tensor(shape().y, 2)};
    return true;
  });
}

TEST_CASE("quantized_elementwise: the largest numbers that the contract lets through") {
  for (const RequantMode mode : kModes)
    for (int function = 0; function < 3; function++)
      for (const int32_t shift : {-30, -1, 0, 1, 30, 31})
        for (const int32_t multiplier : {0, 1, 1 << 30, 2147483647}) {
          const bool fixed = mode != RequantMode::kFloatEven;
          Binary t;
          t.function = QuantizedFunction(function), t.requant = mode;
          t.a_multiplier = fixed ? multiplier : -kMaxSumMultiplier;
          t.b_multiplier = fixed            ? multiplier
                           : multiplier % 2 ? -kMaxSumMultiplier
                                            : kMaxSumMultiplier;
          t.y_multiplier = multiplier;
          t.a_shift = shift < 0 ? 31 : shift, t.b_shift = 0;
          t.y_shift = fixed ? shift : std::max(1, std::min(30, shift));
          t.a_zero = 255, t.b_zero = 0, t.y_zero = 255;
          t.scale = multiplier > 1 ? 16384.0f : 1.17549435e-38f;
          Case c{"largest", OpCode::kQuantizedElementwise, &t, {}, {}, {0, 0}};
          c.inputs = {Tensor(DType::kU8, {256, 1}).values(counted(256)),
                      Tensor(DType::kU8, {5}).values({0, 1, 128, 254, 255})};
          c.outputs = {Tensor(DType::kU8, {256, 5})};
          run_case(c);
        }
}

TEST_CASE("quantized_elementwise: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Binary&, Case&);
  };
  using T = Binary;
  const Wrong wrongs[] = {
      {"quantized_elementwise takes u8 or i16",
       [](T&, Case& c) { c.inputs[0].view().dtype = DType::kI8; }},
      {"quantized_elementwise takes u8 or i16",
       [](T&, Case& c) { c.inputs[1].view().dtype = DType::kI8; }},
      {"same dtype", [](T&, Case& c) { c.outputs[0].view().dtype = DType::kI8; }},
      {"operands broadcast to the output",
       [](T&, Case& c) { c.inputs[1] = Tensor(DType::kU8, {3}); }},
      {"quantized_elementwise.function is known",
       [](T& t, Case&) { t.function = QuantizedFunction(3); }},
      {"requant is known", [](T& t, Case&) { t.requant = RequantMode(7); }},
      {"quantized_elementwise gives bytes", [](T& t, Case&) { t.requant = RequantMode::kToFloat; }},
      {"quantized_elementwise has no sums of 64 bits",
       [](T& t, Case&) { t.requant = RequantMode::kFixedWide; }},
      {"a_zero is a byte, or 32768 of i16", [](T& t, Case&) { t.a_zero = 256; }},
      {"b_zero is a byte, or 32768 of i16", [](T& t, Case&) { t.b_zero = 256; }},
      {"y_zero is a number of y", [](T& t, Case&) { t.y_zero = 256; }},
      {"high is a number of y", [](T& t, Case&) { t.high = 256; }},
      {"low is at most high", [](T& t, Case&) { t.low = 9, t.high = 8; }},
      {"a_multiplier is at most 2^21", [](T& t, Case&) { t.a_multiplier = (1 << 21) + 1; }},
      {"b_multiplier is at most 2^21", [](T& t, Case&) { t.b_multiplier = -(1 << 21) - 1; }},
      {"y_shift is 1 .. 30", [](T& t, Case&) { t.y_shift = 0; }},
      {"y_shift is 1 .. 30", [](T& t, Case&) { t.y_shift = 31; }},
      {"a multiplier of fixed point is not negative",
       [](T& t, Case&) { t.requant = RequantMode::kFixedUp, t.b_multiplier = -1; }},
      {"a shift of fixed point is in its range",
       [](T& t, Case&) { t.requant = RequantMode::kFixedUp, t.a_shift = -1; }},
      {"a shift of fixed point is in its range",
       [](T& t, Case&) { t.requant = RequantMode::kFixedOnce, t.y_shift = -31; }},
      {"a shift of fixed point is in its range",
       [](T& t, Case&) { t.requant = RequantMode::kFixedAway, t.y_shift = 32; }},
      {"quantized_elementwise.scale is positive, normal and at most 2^14",
       [](T& t, Case&) { t.function = QuantizedFunction::kMul, t.scale = NAN; }},
      {"quantized_elementwise.scale is positive, normal and at most 2^14",
       [](T& t, Case&) { t.function = QuantizedFunction::kMul, t.scale = 16385.0f; }},
      {"quantized_elementwise.scale is positive, normal and at most 2^14",
       [](T& t, Case&) { t.function = QuantizedFunction::kMul, t.scale = 1e-40f; }},
      {"enough inputs", [](T&, Case& c) { c.inputs.resize(1); }},
  };
  for (const Wrong& w : wrongs) {
    T t;
    t.y_shift = 20;
    Case c{w.rule, OpCode::kQuantizedElementwise, &t};
    c.inputs = {Tensor(DType::kU8, {2, 4}), Tensor(DType::kU8, {4})};
    c.outputs = {Tensor(DType::kU8, {2, 4})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}

TEST_CASE("lookup: every byte, tails, rows apart") {
  const LookupAttributes t;
  for (const int kind : {0, 1, 2}) {
    Tensor table = Tensor(DType::kU8, {256}).random(uint32_t(kind), 0, 255);
    if (kind == 1) table.values(counted(256));
    if (kind == 2)
      for (int i = 0; i < 256; i++) table.set(i, 255 - i);
    Case c{"lookup", OpCode::kLookup, &t, {}, {}, {0, 0}};
    c.inputs = {Tensor(DType::kU8, {2, 256}).values(counted(256)), table};
    c.outputs = {Tensor(DType::kU8, {2, 256})};
    run_case(c);
    for (int64_t n = 0; n <= 140; n++) {
      c.inputs[0] = Tensor(DType::kU8, {n}).random(uint32_t(n), 0, 255);
      c.outputs[0] = Tensor(DType::kU8, {n});
      run_case(c);
    }
    for (const int64_t padding : {0, 3}) {
      c.inputs[0] = Tensor(DType::kU8, {7, 5, 67}, padding).random(9, 0, 255);
      c.outputs[0] = Tensor(DType::kU8, {7, 5, 67}, 3 - padding);
      run_case(c);
      c.inputs[0] = Tensor(DType::kU8, {3, 5000}, padding).random(9, 0, 255);
      c.outputs[0] = Tensor(DType::kU8, {3, 5000}, padding);
      run_case(c);
    }
    c.inputs[0] = Tensor(DType::kU8, {}).values({200});
    c.outputs[0] = Tensor(DType::kU8, {});
    run_case(c);
  }
  struct Wrong {
    const char* rule;
    void (*spoil)(Case&);
  };
  const Wrong wrongs[] = {
      {"lookup takes u8 or i16", [](Case& c) { c.inputs[0].view().dtype = DType::kI8; }},
      {"lookup's table has an element for each number of x",
       [](Case& c) { c.inputs[1] = Tensor(DType::kU8, {255}); }},
      {"lookup's table has an element for each number of x",
       [](Case& c) {
         c.inputs[1] = Tensor(DType::kU8, {16, 16});
       }},
      {"same dtype", [](Case& c) { c.inputs[1].view().dtype = DType::kI8; }},
      {"same dtype", [](Case& c) { c.outputs[0].view().dtype = DType::kI8; }},
      {"same dimensions", [](Case& c) { c.outputs[0] = Tensor(DType::kU8, {5}); }},
      {"enough inputs", [](Case& c) { c.inputs.resize(1); }},
  };
  for (const Wrong& w : wrongs) {
    Case c{w.rule, OpCode::kLookup, &t};
    c.inputs = {Tensor(DType::kU8, {4}), Tensor(DType::kU8, {256})};
    c.outputs = {Tensor(DType::kU8, {4})};
    w.spoil(c);
    CHECK(refusal(c) == w.rule);
  }
}

TEST_CASE("elementwise: bits of bytes turned over") {
  for (const DType from : {DType::kI8, DType::kU8, DType::kI16})
    for (const DType to : {DType::kU8, DType::kI8, DType::kBool})
      for (const double alpha : {128.0, 255.0, 0.0, -1.0, 300.0})
        for (const int64_t n : {1, 15, 64, 67, 256, 40001}) {
          ElementwiseAttributes t;
          t.step_count = 1, t.compute = ComputeType::kI64;
          t.steps[0].op = ElementwiseOp::kBitwiseXor;
          t.steps[0].a = 0, t.steps[0].b = kConstantRegister, t.steps[0].alpha = float(alpha);
          Case c{"flip", OpCode::kElementwise, &t, {}, {}, {0, 0}};
          c.inputs = {Tensor(from, {n}).values(counted(100))};
          if (from == DType::kU8) c.inputs[0].values(counted(256));
          c.outputs = {Tensor(to, {n})};
          run_case(c);
          c.inputs[0] = Tensor(from, {3, n}, 2).random(uint32_t(n), -100, 100);
          if (from == DType::kU8) c.inputs[0].random(uint32_t(n), 0, 255);
          c.outputs = {Tensor(to, {3, n}, 1)};
          run_case(c);
        }
}

TEST_CASE("quantize and dequantize: types, ties, numbers that are none, tails") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> strange = {
      0,          -0.0,        0.5,   -0.5,         1.5,           -1.5,     2.5,       -2.5,
      0.49999997, -0.49999997, 127.5, 128.5,        -128,          -129,     1e9,       -1e9,
      3e38,       -3e38,       1e-40, -1e-45,       inf,           -inf,     nan,       255.5,
      256,        1e5,         -1e5,  2147483648.0, -2147483648.0, 16777217, 254.49998, 0.25,
      8388608.5,  32767.5};
  struct Type {
    DType dtype;
    Dims zeros;
  };
  const Type types[] = {{DType::kU8, {0, 128, 255, 3}},
                        {DType::kI8, {0, -128, 127, 5}},
                        {DType::kI16, {0, -32768, 32767}},
                        {DType::kU16, {0, 32768, 65535}},
                        {DType::kI32, {0}}};
  for (const Type& type : types)
    for (const int64_t zero : type.zeros)
      for (const float scale : {1.0f, 0.1f, 0.0078125f, 1.17549435e-38f, 3e38f}) {
        for (int kind = 0; kind < 4; kind++) {
          QuantizeAttributes t;
          t.scale = scale, t.zero_point = int32_t(zero);
          t.rounding = QuantizeRounding(kind % 2), t.reciprocal = kind / 2 != 0;
          Case c{"quantize", OpCode::kQuantize, &t, {}, {}, {0, 0}};
          c.inputs = {Tensor(DType::kF32, {int64_t(strange.size())}).values(strange)};
          c.outputs = {Tensor(type.dtype, {int64_t(strange.size())})};
          run_case(c);
          std::vector<double> steps;  // ties, next to them, and what is between
          for (int i = -700; i < 700; i++) steps.push_back(double(float(i) * 0.5f * scale));
          c.inputs = {Tensor(DType::kF32, {1400}).values(steps)};
          c.outputs = {Tensor(type.dtype, {1400})};
          run_case(c);
        }
        DequantizeAttributes t;
        t.scale = scale, t.zero_point = int32_t(zero);
        Case c{"dequantize", OpCode::kDequantize, &t, {}, {}, {0, 0}};
        const bool is_signed = type.dtype == DType::kI8 || type.dtype == DType::kI16;
        std::vector<double> all = counted(is_signed ? 128 : 256);
        if (is_signed)
          for (int i = 1; i <= 128; i++) all.push_back(-i);
        if (type.dtype == DType::kI32)
          all = {0, 1, -1, 16777217, -16777217, 2147483647, -2147483648.0, 33554435, 5};
        c.inputs = {Tensor(type.dtype, {int64_t(all.size())}).values(all)};
        c.outputs = {Tensor(DType::kF32, {int64_t(all.size())})};
        run_case(c);
      }
}

TEST_CASE("quantize and dequantize: tails and rows apart") {
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kI16, DType::kU16, DType::kI32}) {
    const QuantizeAttributes t{0.37f, 0, QuantizeRounding::kEven, true};
    const DequantizeAttributes back{0.37f, 0};
    Dims lengths = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129};
    for (const int64_t n : lengths)
      for (const int64_t padding : {0, 3}) {
        Case c{"quantize", OpCode::kQuantize, &t, {}, {}, {0, 0}};
        c.inputs = {Tensor(DType::kF32, {5, n}, padding).random(3, -60, 60)};
        c.outputs = {Tensor(dtype, {5, n}, padding ? 1 : 0)};
        run_case(c);
        c.name = "dequantize", c.op = OpCode::kDequantize, c.attributes = &back;
        c.inputs = {Tensor(dtype, {5, n}, padding).random(4, 0, 120)};
        c.outputs = {Tensor(DType::kF32, {5, n}, padding ? 1 : 0)};
        run_case(c);
      }
    Case c{"quantize, long", OpCode::kQuantize, &t, {}, {}, {0, 0}};
    c.inputs = {Tensor(DType::kF32, {3, 7001}).random(3, -60, 60)};
    c.outputs = {Tensor(dtype, {3, 7001})};
    run_case(c);
  }
}

TEST_CASE("quantize and dequantize: the contracts refuse") {
  struct Wrong {
    const char* rule;
    void (*spoil)(QuantizeAttributes&, Case&);
  };
  using T = QuantizeAttributes;
  const char* const scales = "a scale is a positive normal number";
  const char* const zeros = "a zero point is one of the type's numbers, 0 of i32";
  const char* const types = "quantized elements are u8, i8, u16, i16 or i32";
  const Wrong wrongs[] = {
      {scales, [](T& t, Case&) { t.scale = 0; }},
      {scales, [](T& t, Case&) { t.scale = -1; }},
      {scales, [](T& t, Case&) { t.scale = NAN; }},
      {scales, [](T& t, Case&) { t.scale = INFINITY; }},
      {scales, [](T& t, Case&) { t.scale = 1e-40f; }},
      {zeros, [](T& t, Case&) { t.zero_point = 256; }},
      {zeros, [](T& t, Case&) { t.zero_point = -1; }},
      {zeros, [](T& t, Case& c) { t.zero_point = 1, c.outputs[0].view().dtype = DType::kI32; }},
      {types, [](T&, Case& c) { c.outputs[0] = Tensor(DType::kI64, {4}); }},
      {types, [](T&, Case& c) { c.outputs[0] = Tensor(DType::kBool, {4}); }},
      {"quantize takes f32", [](T&, Case& c) { c.inputs[0] = Tensor(DType::kF16, {4}); }},
      {"quantize.rounding is known", [](T& t, Case&) { t.rounding = QuantizeRounding(2); }},
      {"same rank",
       [](T&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {2, 2});
       }},
  };
  for (const Wrong& w : wrongs) {
    T t;
    Case c{w.rule, OpCode::kQuantize, &t};
    c.inputs = {Tensor(DType::kF32, {4})};
    c.outputs = {Tensor(DType::kU8, {4})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
  DequantizeAttributes t;
  Case c{"", OpCode::kDequantize, &t};
  c.inputs = {Tensor(DType::kU8, {4})};
  c.outputs = {Tensor(DType::kF16, {4})};
  CHECK(refusal(c) == "dequantize gives f32");
  c.outputs = {Tensor(DType::kF32, {4})};
  t.scale = -1;
  CHECK(refusal(c) == scales);
  t.scale = 1, t.zero_point = 256;
  CHECK(refusal(c) == zeros);
  t.zero_point = 0, c.inputs = {Tensor(DType::kF32, {4})};
  CHECK(refusal(c) == types);
  c.inputs = {Tensor(DType::kU8, {5})};
  CHECK(refusal(c) == "same dimensions");
}
