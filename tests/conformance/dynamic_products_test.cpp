// SPDX-License-Identifier: Apache-2.0
// Products of bytes whose scale and zero point are operands, to f32 and to whole sums: groups of
// rows and images, zero points of weights, every method, tails, sums that wrap.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/quantized_products_case.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Rows of numbers of channels. With `zeros` those of weights lie on both sides of their range.
void add_float_channels(Case* c, int64_t o, bool zeros, uint32_t seed) {
  std::vector<Tensor> rows = {Tensor(DType::kI32, {o}).random(seed, -4000, 4000),
                              Tensor(DType::kF32, {o}).random(seed + 1, 1e-4, 2e-2),
                              Tensor(DType::kF32, {o}).random(seed + 2, -2, 2)};
  if (zeros) rows.push_back(Tensor(DType::kI32, {o}).random(seed + 3, -300, 300));
  add_channels(c, rows, o);
}

/// Scale and zero point of each group; the second group has none that a byte could be.
Tensor steps_of(int64_t groups, uint32_t seed) {
  Tensor steps(DType::kF32, {groups, 2});
  steps.random(seed, 0.001, 0.1);
  for (int64_t g = 0; g < groups; g++) steps.set(2 * g + 1, double((g * 37 + seed) % 256));
  if (groups > 1) steps.set(3, seed % 2 ? NAN : 1e9);
  return steps;
}

}  // namespace

TEST_CASE("quantized_linear to f32 and i32: groups of rows, zero points of weights, tails") {
  struct Row {
    Dims x;
    int64_t o, groups, x_padding = 0, y_padding = 0;
  };
  const Row rows[] = {
      {{1, 640}, 128, 1},     {{1, 300}, 1000, 1}, {{40}, 21, 1},          {{2, 50}, 260, 2},
      {{2, 9, 33}, 48, 18},   {{2, 9, 33}, 48, 2}, {{131, 20}, 30, 1},     {{131, 20}, 30, 131},
      {{7, 11}, 17, 7, 5, 3}, {{5, 1}, 16, 5},     {{4, 0}, 18, 1},        {{0, 8}, 18, 0},
      {{3, 8}, 0, 1},         {{90, 5000}, 18, 1}, {{3, 130, 36}, 200, 3}, {{5, 14, 96}, 150, 5}};
  uint32_t seed = 1;
  for (const Row& row : rows)
    for (const DType to : {DType::kF32, DType::kI32})
      for (const bool zeros : {false, true}) {
        if (is_left_out()) continue;
        QuantizedLinearAttributes t;
        t.requant = RequantMode::kToFloat;
        const Tensor x = Tensor(DType::kU8, row.x, row.x_padding).random(seed, 0, 255),
                     dense = Tensor(DType::kI8, {row.o, row.x.back()}).random(seed + 1, -128, 127);
        Case c{"quantized_linear", OpCode::kQuantizedLinear, &t, {}, {}, {0, 0}};
        c.inputs = {x, packed_linear_weights(dense)};
        c.oracle_inputs = {x, dense};
        add_float_channels(&c, row.o, zeros, seed + 2);
        c.inputs.push_back(steps_of(row.groups, seed));
        c.oracle_inputs.push_back(c.inputs.back());
        Dims y = row.x;
        y.back() = row.o;
        c.outputs = {Tensor(to, y, row.y_padding)};
        run_case(c);
        seed += 5;
      }
}

TEST_CASE("quantized_conv2d to f32 and i32: methods, borders, groups of images") {
  struct Row {
    Dims x;
    int64_t o;
    uint32_t kernel_h, kernel_w, stride, dilation, pad;
    ConvMethod method;
    int64_t padding = 0;
  };
  constexpr ConvMethod kDirect = ConvMethod::kDirect, kDepthwise = ConvMethod::kDepthwise,
                       kGrouped = ConvMethod::kGrouped;
  const Row rows[] = {
      {{2, 9, 7, 16}, 33, 3, 3, 1, 1, 1, kDirect},
      {{2, 9, 7, 3}, 5, 3, 3, 2, 1, 1, kDirect},
      {{2, 6, 6, 20}, 40, 1, 1, 1, 1, 0, kDirect},
      {{1, 1, 40, 8}, 17, 1, 5, 1, 2, 2, kDirect, 5},
      {{2, 14, 12, 64}, 64, 3, 3, 1, 1, 1, kDepthwise},
      {{2, 9, 9, 21}, 21, 3, 3, 2, 1, 1, kDepthwise},
      {{1, 7, 8, 33}, 33, 5, 2, 1, 2, 3, kDepthwise, 7},
      {{2, 8, 8, 16}, 24, 3, 3, 1, 1, 1, kGrouped},
      {{2, 70, 40, 80}, 5, 3, 3, 1, 1, 1, kDirect},
      {{0, 3, 3, 4}, 9, 3, 3, 1, 1, 1, kDirect},
      {{2, 5, 19, 64}, 70, 3, 3, 1, 1, 1, kDirect, 3},
      {{2, 7, 7, 96}, 96, 1, 1, 1, 1, 0, kDirect},
  };
  uint32_t seed = 1;
  for (const Row& row : rows)
    for (const DType to : {DType::kF32, DType::kI32})
      for (const bool zeros : {false, true})
        for (const bool each : {false, true}) {
          if (is_left_out()) continue;
          // several bands: once, the emulator multiplies 20 million bytes a variant
          if (row.x[1] == 70 && !(to == DType::kF32 && zeros && each)) continue;
          QuantizedConv2dAttributes t;
          t.kernel_h = row.kernel_h, t.kernel_w = row.kernel_w;
          t.stride_h = t.stride_w = row.stride, t.dilation_h = t.dilation_w = row.dilation;
          t.pad_top = t.pad_bottom = t.pad_left = t.pad_right = row.pad;
          t.method = row.method, t.requant = RequantMode::kToFloat;
          t.groups = row.method == kDepthwise ? uint32_t(row.o) : row.method == kGrouped ? 4 : 1;
          const auto extent = [&](int64_t in, uint32_t kernel) {
            return (in + 2 * int64_t(row.pad) - int64_t(row.dilation) * (kernel - 1) - 1) /
                       row.stride +
                   1;
          };
          const Tensor image = Tensor(DType::kU8, row.x, row.padding).random(seed, 0, 255),
                       dense = Tensor(DType::kI8,
                                      {row.o, row.kernel_h, row.kernel_w, row.x[3] / t.groups})
                                   .random(seed + 1, -128, 127);
          Case c{"quantized_conv2d", OpCode::kQuantizedConv2d, &t, {}, {}, {0, 0}};
          c.inputs = {image, packed_conv_weights(t, dense)};
          c.oracle_inputs = {image, dense};
          add_float_channels(&c, row.o, zeros, seed + 2);
          c.inputs.push_back(steps_of(each ? row.x[0] : 1, seed));
          c.oracle_inputs.push_back(c.inputs.back());
          c.outputs = {Tensor(
              to, {row.x[0], extent(row.x[1], row.kernel_h), extent(row.x[2], row.kernel_w), row.o},
              row.padding)};
          run_case(c);
          seed += 7;
        }
}

TEST_CASE("quantized products to f32: the contracts refuse") {
  struct Wrong {
    const char* rule;
    void (*spoil)(QuantizedLinearAttributes&, Case&);
  };
  using T = QuantizedLinearAttributes;
  const Wrong wrongs[] = {
      {"x has steps with to_float", [](T&, Case& c) { c.inputs.resize(3); }},
      {"steps are an operand of to_float alone",
       [](T& t, Case& c) {
         t.requant = RequantMode::kFloatEven;
         c.inputs[2] = Tensor(DType::kI32, {2, 16});
         c.outputs[0] = Tensor(DType::kU8, {6, 16});
       }},
      {"steps are f32", [](T&, Case& c) { c.inputs[3].view().dtype = DType::kI32; }},
      {"steps are scale and zero point of each group",
       [](T&, Case& c) {
         c.inputs[3] = Tensor(DType::kF32, {2, 3});
       }},
      {"groups of steps divide the rows",
       [](T&, Case& c) {
         c.inputs[3] = Tensor(DType::kF32, {4, 2});
       }},
      {"groups of steps divide the rows",
       [](T&, Case& c) {
         c.inputs[3] = Tensor(DType::kF32, {0, 2});
       }},
      {"w_zero is 0 with to_float", [](T& t, Case&) { t.w_zero = 3; }},
      {"y of to_float is f32 or i32", [](T&, Case& c) { c.outputs[0].view().dtype = DType::kU8; }},
      {"sums, scales, biases and perhaps zero points of weights are there",
       [](T&, Case& c) {
         c.inputs[2] = Tensor(DType::kI32, {2, 16});
       }},
  };
  for (const Wrong& w : wrongs) {
    QuantizedLinearAttributes t;
    t.requant = RequantMode::kToFloat;
    Case c{w.rule, OpCode::kQuantizedLinear, &t};
    c.inputs = {Tensor(DType::kU8, {6, 8}), Tensor(DType::kI8, {16, 8}, 0, Packing::kPanels16x4),
                Tensor(DType::kI32, {3, 16}), Tensor(DType::kF32, {3, 2})};
    c.outputs = {Tensor(DType::kF32, {6, 16})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
