// SPDX-License-Identifier: Apache-2.0
// Floats to bytes by what they hold: every kind of range, groups, rows apart, tails, teams that
// share a group, numbers that are none, and what the contract refuses.
#include "runtime/op/dynamic_quantize.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
using Attributes = DynamicQuantizeAttributes;
constexpr DynamicRange kRanges[] = {DynamicRange::kFull, DynamicRange::kSymmetric,
                                    DynamicRange::kAsymmetric};

Case quantization(const Attributes& t, const Tensor& x, int64_t y_padding = 0) {
  const TensorView& v = x.view();
  int64_t groups = 1;
  for (uint32_t i = 0; i < t.axis; i++) groups *= v.dims[i];
  Case c{"dynamic_quantize", OpCode::kDynamicQuantize, &t, {x}, {}, {0, 0}};
  c.outputs = {Tensor(DType::kU8, Dims(v.dims, v.dims + v.rank), y_padding),
               Tensor(DType::kF32, {groups, 2})};
  return c;
}

}  // namespace

TEST_CASE("dynamic_quantize: groups, tails, rows apart, groups that a team shares") {
  struct Row {
    Dims dims;
    uint32_t axis;
    int64_t x_padding = 0, y_padding = 0;
  };
  const Row rows[] = {{{}, 0},
                      {{1}, 0},
                      {{67}, 0},
                      {{5, 131}, 0},
                      {{5, 131}, 1},
                      {{5, 131}, 2},
                      {{3, 4, 50}, 1},
                      {{3, 4, 50}, 2, 3, 7},
                      {{9, 30}, 0, 5},
                      {{70, 300}, 0},
                      {{70, 300}, 0, 4},
                      {{2, 90, 101}, 1},
                      {{2, 90, 101}, 1, 0, 9},
                      {{1, 40000}, 1},
                      {{0, 7}, 0},
                      {{0, 7}, 1},
                      {{6, 0}, 1},
                      {{40, 64}, 1},
                      {{3, 1, 1, 129}, 3}};
  uint32_t seed = 1;
  for (const DynamicRange range : kRanges)
    for (const Row& row : rows)
      for (const auto& [low, high] : {std::pair{-3.0, 5.0}, {0.25, 9.0}, {-7.0, -0.5}}) {
        const Attributes t{range, row.axis};
        const Tensor x = Tensor(DType::kF32, row.dims, row.x_padding).random(seed++, low, high);
        run_case(quantization(t, x, row.y_padding));
      }
}

TEST_CASE("dynamic_quantize: ranges that are none, huge, tiny or not numbers") {
  const std::vector<std::vector<double>> all = {
      {0},
      {-0.0, 0},
      {1},
      {-1},
      {1e-40, -3e-41, 1e-45},
      {1.17549435e-38, 0},
      {3e38, -3e38, 1, 5},
      {3.4e38, 0, 1e30},
      {NAN, 1, -2, 0.5},
      {NAN},
      {INFINITY, 1, -1},
      {-INFINITY, 1, -1},
      {-INFINITY, INFINITY, NAN, 2},
      {1e-30, 1e30},
      {-255, 0, -127.5, -0.5, -1.5, -2.5},
      {-127, 127, 0.5, 1.5, -0.5, -2.5, 63.5},
      {-128, 127, 0.5, -0.5, 10.5, -10.5},
  };
  for (const DynamicRange range : kRanges)
    for (const std::vector<double>& numbers : all)
      for (const int64_t n : {1, 6, 40, 9000}) {
        const Attributes t{range, 0};
        run_case(quantization(t, Tensor(DType::kF32, {n}).values(numbers)));
      }
}

TEST_CASE("dynamic_quantize: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Attributes&, Case&);
  };
  using T = Attributes;
  const Wrong wrongs[] = {
      {"dynamic_quantize.range is known", [](T& t, Case&) { t.range = DynamicRange(3); }},
      {"dynamic_quantize.axis is at most the rank", [](T& t, Case&) { t.axis = 3; }},
      {"dynamic_quantize takes f32", [](T&, Case& c) { c.inputs[0].view().dtype = DType::kI32; }},
      {"dynamic_quantize gives u8", [](T&, Case& c) { c.outputs[0].view().dtype = DType::kI8; }},
      {"steps are f32", [](T&, Case& c) { c.outputs[1].view().dtype = DType::kI32; }},
      {"steps are scale and zero point of each group", [](T& t, Case&) { t.axis = 0; }},
      {"steps are scale and zero point of each group",
       [](T&, Case& c) { c.outputs[1] = Tensor(DType::kF32, {4}); }},
      {"same dimensions",
       [](T&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {4, 9});
       }},
      {"enough outputs", [](T&, Case& c) { c.outputs.resize(1); }},
  };
  for (const Wrong& w : wrongs) {
    Attributes t{DynamicRange::kFull, 1};
    Case c = quantization(t, Tensor(DType::kF32, {4, 8}));
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
