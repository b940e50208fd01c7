// SPDX-License-Identifier: Apache-2.0
// Small operators of 16-bit numbers: every number, every tail, rows apart, ties, numbers that are
// none, and what the contracts refuse. Products of them: quantized_products_test.cpp.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/lookup.h"
#include "runtime/op/quantized_elementwise.h"
#include "runtime/op/quantized_pool2d.h"
#include "runtime/op/quantized_softmax.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
using Binary = QuantizedElementwiseAttributes;

Tensor words(const Dims& dims, uint32_t seed, int64_t padding = 0) {
  return Tensor(DType::kI16, dims, dims.empty() ? 0 : padding).random(seed, -32768, 32767);
}
Tensor every_word(const Dims& dims) {
  Tensor t(DType::kI16, dims);
  for (int64_t i = 0; i < t.view().elements(); i++) t.set(i, double(i % 65536 - 32768));
  return t;
}
Binary binary(int function, RequantMode mode) {
  Binary t;
  t.function = QuantizedFunction(function), t.requant = mode;
  t.a_zero = t.b_zero = t.y_zero = 32768, t.high = 65535;
  return t;
}
const std::vector<RequantMode> kModes = {RequantMode::kFixedUp, RequantMode::kFixedAway,
                                         RequantMode::kFixedOnce};

}  // namespace

TEST_CASE("quantized_elementwise of i16: every number beside those at the ends") {
  for (const RequantMode mode : kModes)
    for (int function = 0; function < 3; function++)
      for (const int32_t y_shift : {-1, 0, 3, 17}) {
        Binary t = binary(function, mode);
        t.a_multiplier = 1518500250, t.a_shift = 1, t.b_multiplier = 1073741824, t.b_shift = 2;
        t.y_multiplier = 1825361101, t.y_shift = y_shift, t.low = 100, t.high = 65000;
        Case c{"every number", OpCode::kQuantizedElementwise, &t, {}, {}, {0, 0}};
        c.inputs = {every_word({65536, 1}),
                    Tensor(DType::kI16, {7}).values({-32768, -32767, -1, 0, 1, 12345, 32767})};
        c.outputs = {Tensor(DType::kI16, {65536, 7})};
        run_case(c);
      }
}

TEST_CASE("quantized_elementwise of i16: broadcasts, tails, rows apart") {
  struct Shape {
    Dims a, b, y;
  };
  const Shape shapes[] = {{{}, {}, {}},
                          {{3, 5}, {3, 5}, {3, 5}},
                          {{2, 7, 67}, {67}, {2, 7, 67}},
                          {{2, 3, 4, 9}, {2, 1, 1, 9}, {2, 3, 4, 9}},
                          {{131}, {1}, {131}},
                          {{1, 31}, {40, 1}, {40, 31}},
                          {{4, 0}, {4, 1}, {4, 0}},
                          {{5000}, {5000}, {5000}},
                          {{70, 90}, {70, 1}, {70, 90}}};
  uint32_t seed = 0;
  for (const Shape& shape : shapes)
    for (const RequantMode mode : kModes)
      for (int function = 0; function < 3; function++)
        for (const int paddings : {0, 3, 5, 6}) {
          Binary t = binary(function, mode);
          t.a_multiplier = t.b_multiplier = 1717986918, t.a_shift = t.b_shift = 1;
          t.y_multiplier = 2040109465, t.y_shift = function == 2 ? 14 : 15;
          Case c{"broadcasts", OpCode::kQuantizedElementwise, &t, {}, {}, {0, 0}};
          c.inputs = {words(shape.a, seed, paddings & 1 ? 3 : 0),
                      words(shape.b, seed + 1, paddings & 2 ? 2 : 0)};
          c.outputs = {Tensor(DType::kI16, shape.y, !shape.y.empty() && paddings & 4 ? 3 : 0)};
          run_case(c);
          seed += 2;
        }
}

TEST_CASE("quantized_elementwise of i16: the contract refuses") {
  const auto rule = [](void (*spoil)(Binary&, Case&)) {
    Binary t = binary(0, RequantMode::kFixedAway);
    Case c{"", OpCode::kQuantizedElementwise, &t};
    c.inputs = {Tensor(DType::kI16, {4}), Tensor(DType::kI16, {4})};
    c.outputs = {Tensor(DType::kI16, {4})};
    spoil(t, c);
    return refusal(c);
  };
  CHECK(rule([](Binary& t, Case&) { t.a_zero = 0; }) == "a_zero is a byte, or 32768 of i16");
  CHECK(rule([](Binary& t, Case&) { t.y_zero = 5; }) == "y_zero of i16 is 32768");
  CHECK(rule([](Binary& t, Case&) { t.high = 65536; }) == "high is a number of y");
  CHECK(rule([](Binary& t, Case&) { t.requant = RequantMode::kFloatEven; }) ==
        "16-bit numbers are requantized in fixed point");
  CHECK(rule([](Binary&, Case& c) { c.inputs[1].view().dtype = DType::kU8; }) ==
        "quantized_elementwise takes u8 or i16");
  CHECK(rule([](Binary&, Case& c) { c.outputs[0].view().dtype = DType::kU8; }) == "same dtype");
}

TEST_CASE("lookup of i16: all 65,536 numbers, tails, rows apart") {
  const LookupAttributes t;
  for (const int kind : {0, 1}) {
    Tensor table = words({65536}, 3);
    if (kind == 1)
      for (int64_t i = 0; i < 65536; i++) table.set(i, double(32767 - i));
    Case c{"lookup of i16", OpCode::kLookup, &t, {}, {}, {0, 0}};
    c.inputs = {every_word({65536}), table};
    c.outputs = {Tensor(DType::kI16, {65536})};
    run_case(c);
    for (int64_t n = 0; n <= 40; n++) {
      c.inputs[0] = words({n}, uint32_t(n)), c.outputs[0] = Tensor(DType::kI16, {n});
      run_case(c);
    }
    c.inputs[0] = words({7, 5, 67}, 9, 3), c.outputs[0] = Tensor(DType::kI16, {7, 5, 67}, 2);
    run_case(c);
  }
  Case c{"", OpCode::kLookup, &t};
  c.inputs = {Tensor(DType::kI16, {4}), Tensor(DType::kI16, {256})};
  c.outputs = {Tensor(DType::kI16, {4})};
  CHECK(refusal(c) == "lookup's table has an element for each number of x");
}

TEST_CASE("quantized_pool2d of i16: windows, channels, ties, rows apart") {
  uint32_t seed = 0;
  for (const int kind : {0, 1})
    for (const int64_t channels : {1, 3, 16, 63, 64, 65, 130})
      for (const uint32_t kernel : {1u, 2u, 3u, 5u})
        for (const int64_t padding : {0, 3}) {
          QuantizedPool2dAttributes t;
          t.kind = PoolKind(kind), t.kernel_h = kernel, t.kernel_w = kernel + 1, t.stride_w = 2;
          t.pad_top = t.pad_left = kernel - 1, t.pad_bottom = t.pad_right = kernel;
          t.offset = 32768, t.low = 200, t.high = 65000;
          const int64_t oh = 6 + 2 * kernel - 1 - kernel + 1,
                        ow = (7 + 2 * kernel - 1 - kernel - 1) / 2 + 1;
          Case c{"pool of i16", OpCode::kQuantizedPool2d, &t, {}, {}, {0, 0}};
          c.inputs = {words({2, 6, 7, channels}, seed++, padding)};
          c.outputs = {Tensor(DType::kI16, {2, oh, ow, channels}, padding)};
          run_case(c);
        }
  for (const double fill : {32767.0, -32768.0}) {
    QuantizedPool2dAttributes t;
    t.kind = PoolKind::kAverage, t.kernel_h = t.kernel_w = 128, t.high = 65535;
    Case c{"the largest window", OpCode::kQuantizedPool2d, &t, {}, {}, {0, 0}};
    c.inputs = {Tensor(DType::kI16, {1, 128, 128, 3}).values({fill})};
    c.outputs = {Tensor(DType::kI16, {1, 1, 1, 3})};
    run_case(c);
    t.kernel_h = 129;
    CHECK(refusal(c) == "a window has at most 2^22 taps, of i16 2^14");
  }
}

TEST_CASE("quantized_softmax of i16: lengths, tables, rows apart, sums that saturate") {
  Tensor table(DType::kI16, {kInt16Exponentials + kInt16Reciprocals});
  uint32_t seed = 0;
  for (const double step : {0.0001, 0.003, 0.2, -1.0})
    for (const Dims& dims : {Dims{1, 1}, Dims{5, 2}, Dims{3, 4, 17}, Dims{4, 300}, Dims{2, 2000},
                             Dims{4, 0}, Dims{0, 4}})
      for (const int64_t padding : {0, 3}) {
        for (int64_t i = 0; i < kInt16Exponentials; i++)
          table.set(i, std::round(32767 * std::exp(step * double(i - 65535))));
        for (int64_t i = 0; i < kInt16Reciprocals; i++)
          table.set(kInt16Exponentials + i, std::min(32767.0, 32768 / (1 + double(i) / 512)));
        if (step < 0) table.random(seed, -32768, 32767);  // means nothing
        QuantizedSoftmaxAttributes t;
        Case c{"softmax of i16", OpCode::kQuantizedSoftmax, &t, {}, {}, {0, 0}};
        c.inputs = {words(dims, seed++, padding), table};
        if (seed % 3 == 0) c.inputs[0].random(seed, -20, 20);
        c.outputs = {Tensor(DType::kI16, dims, padding)};
        run_case(c);
      }
  QuantizedSoftmaxAttributes t;
  Case c{"", OpCode::kQuantizedSoftmax, &t};
  c.inputs = {Tensor(DType::kI16, {2, 4}), table};
  c.outputs = {Tensor(DType::kI16, {2, 4})};
  t.y_zero = 1;
  CHECK(refusal(c) == "quantized_softmax of i16 gives i16 without a zero point");
  t.y_zero = 0, c.inputs[1] = Tensor(DType::kI16, {65536});
  CHECK(refusal(c) == "quantized_softmax's table has 256 elements, of i16 65536 + 513");
  c.inputs[1] = Tensor(DType::kI32, {65536 + 513});
  CHECK(refusal(c) == "quantized_softmax's table is f32 or i32, of i16 i16");
}
