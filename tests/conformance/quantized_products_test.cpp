// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers of bytes and of 16-bit numbers: every tail, method, window, way of
// requantization and zero point; sums that wrap; numbers of channels that mean nothing.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/conformance/quantized_products_case.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Sums of about 100 * sqrt(k) give most of the 256 steps.
void add_channels(Case* c, RequantMode mode, int64_t o, int64_t k, uint32_t seed) {
  const bool fixed = mode != RequantMode::kFloatEven, wide = mode == RequantMode::kFixedWide;
  const double gain = 40 / (6000 * std::sqrt(double(k + 1)));
  Tensor bias = Tensor(DType::kI32, {o}).random(seed, -4000, 4000),
         multipliers(fixed ? DType::kI32 : DType::kF32, {o}), shifts(DType::kI32, {o});
  for (int64_t i = 0; i < o; i++) {
    const double m = gain * (0.5 + double((uint64_t(i) * 2654435761u + seed) % 1000) / 500);
    int exponent;
    const double mantissa = std::frexp(m, &exponent);
    const double unit = wide ? 32768 : 2147483648.0;
    multipliers.set(i, fixed ? std::round(mantissa * unit) - (mantissa == 1) : m);
    shifts.set(i, -exponent);
  }
  if (mode == RequantMode::kDoubleAway)
    for (int64_t i = 0; i < o; i++) {
      const double m = std::ldexp(multipliers.at(i), -int(shifts.at(i)) - 31);
      uint64_t bits;
      std::memcpy(&bits, &m, sizeof m);
      multipliers.set(i, int32_t(uint32_t(bits))), shifts.set(i, int32_t(bits >> 32));
    }
  std::vector<Tensor> rows = {bias, multipliers};
  if (fixed) rows.push_back(shifts);
  if (is_wide(mode)) rows.push_back(Tensor(DType::kI32, {o}).random(seed + 3, -2, 1));
  add_channels(c, rows, o);
}

const std::vector<RequantMode> kModes = {RequantMode::kFloatEven, RequantMode::kFixedUp,
                                         RequantMode::kFixedAway, RequantMode::kFixedOnce};
/// Of 16-bit numbers, as many.
const std::vector<RequantMode> kInt16Modes = {RequantMode::kFixedWide, RequantMode::kFixedUp,
                                              RequantMode::kFixedAway, RequantMode::kDoubleAway};

Tensor random_numbers(DType type, const Dims& dims, uint32_t seed, int64_t padding = 0) {
  const bool is_int16 = type == DType::kI16;
  return Tensor(type, dims, padding).random(seed, is_int16 ? -32768 : 0, is_int16 ? 32767 : 255);
}

/// False where the window does not fit.
bool conv_case(const QuantizedConv2dAttributes& t, DType type, const Dims& x, int64_t o,
               uint32_t seed, int64_t padding, Case* c) {
  const int64_t tall = int64_t(t.dilation_h) * (t.kernel_h - 1) + 1,
                wide = int64_t(t.dilation_w) * (t.kernel_w - 1) + 1;
  const int64_t oh = x[1] + t.pad_top + t.pad_bottom - tall,
                ow = x[2] + t.pad_left + t.pad_right - wide;
  if (oh < 0 || ow < 0) return false;
  const Tensor image = random_numbers(type, x, seed, padding),
               dense = Tensor(DType::kI8, {o, t.kernel_h, t.kernel_w, x[3] / t.groups})
                           .random(seed + 1, -128, 127);
  const int64_t k = int64_t(t.kernel_h) * t.kernel_w * x[3] / t.groups;
  *c = {"quantized_conv2d", OpCode::kQuantizedConv2d, &t, {}, {}, {0, 0}};
  c->inputs = {image, packed_conv_weights(t, dense)};
  c->oracle_inputs = {image, dense};
  add_channels(c, t.requant, o, k, seed);
  c->outputs = {Tensor(type, {x[0], oh / t.stride_h + 1, ow / t.stride_w + 1, o}, padding)};
  return true;
}

}  // namespace

TEST_CASE("quantized_conv2d: the product of its attributes") {
  Combinations all("quantized_conv2d", 2500, 2, 25);
  const Axis<Dims> x = all.axis<Dims>("x", {{1, 7, 9, 16},
                                            {2, 5, 6, 3},
                                            {1, 14, 31, 8},
                                            {1, 1, 40, 20},
                                            {3, 4, 3, 33},
                                            {1, 9, 1, 12},
                                            {1, 20, 18, 64}});
  const Axis<int> o = all.axis<int>("outputs", {1, 5, 16, 24, 33, 70});
  const Axis<Dims> kernel = all.axis<Dims>("kernel", {{1, 1}, {3, 3}, {1, 4}, {5, 2}, {7, 7}});
  const Axis<Dims> stride = all.axis<Dims>("stride", {{1, 1}, {2, 2}, {1, 3}});
  const Axis<Dims> dilation = all.axis<Dims>("dilation", {{1, 1}, {2, 2}, {1, 3}});
  const Axis<Dims> pads = all.axis<Dims>("pads", {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 3}});
  const Axis<int> method = all.axis<int>("method", {0, 2, 3});
  const Axis<DType> type = all.axis<DType>("type", {DType::kU8, DType::kI16});
  const Axis<int> mode = all.axis<int>("requant", {0, 1, 2, 3});
  const Axis<int> w_zero = all.axis<int>("w_zero", {0, -37, 255});
  const Axis<Dims> limits = all.axis<Dims>("limits", {{128, 0, 255}, {0, 0, 255}, {255, 30, 250}});
  const Axis<int> padding = all.axis<int>("padding", {0, 5});
  QuantizedConv2dAttributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    t = {};
    Dims image = x();
    int64_t outputs = o();
    t.method = ConvMethod(method());
    if (t.method == ConvMethod::kDepthwise) outputs = image[3], t.groups = uint32_t(outputs);
    if (t.method == ConvMethod::kGrouped) {
      t.groups = image[3] % 4 == 0 ? 4 : 3;
      outputs = (outputs + t.groups - 1) / t.groups * t.groups;
    }
    t.kernel_h = uint32_t(kernel()[0]), t.kernel_w = uint32_t(kernel()[1]);
    t.stride_h = uint32_t(stride()[0]), t.stride_w = uint32_t(stride()[1]);
    t.dilation_h = uint32_t(dilation()[0]), t.dilation_w = uint32_t(dilation()[1]);
    t.pad_top = uint32_t(pads()[0]), t.pad_left = uint32_t(pads()[1]);
    t.pad_bottom = uint32_t(pads()[2]), t.pad_right = uint32_t(pads()[3]);
    const bool is_int16 = type() == DType::kI16;
    const uint32_t unit = is_int16 ? 257 : 1;
    t.requant = (is_int16 ? kInt16Modes : kModes)[size_t(mode())];
    t.w_zero = is_int16 ? 0 : w_zero(), t.x_zero = seed % 256 * unit;
    t.y_zero = uint32_t(limits()[0]) * unit, t.low = uint32_t(limits()[1]) * unit;
    t.high = uint32_t(limits()[2]) * unit;
    seed += 3;
    return conv_case(t, type(), image, outputs, seed, padding(), &c);
  });
}

TEST_CASE("quantized_conv2d: several bands, whole tiles, no channels, empty batches") {
  struct Row {
    Dims x;
    int64_t o;
    uint32_t kernel, stride, pad;
    int method;
  };
  const Row rows[] = {
      {{1, 70, 40, 80}, 5, 3, 1, 1, 0},   {{1, 96, 96, 3}, 8, 3, 2, 1, 0},
      {{2, 56, 56, 24}, 144, 1, 1, 0, 0}, {{1, 1, 4001, 64}, 3, 1, 1, 0, 0},
      {{1, 66, 64, 52}, 52, 3, 1, 1, 2},  {{1, 25, 5, 64}, 64, 3, 1, 1, 2},
      {{1, 48, 48, 16}, 16, 3, 2, 1, 2},  {{1, 3, 3, 0}, 9, 1, 1, 0, 0},
      {{0, 3, 3, 4}, 9, 3, 1, 1, 0},      {{1, 3, 3, 4}, 0, 1, 1, 0, 0},
      {{1, 20, 20, 64}, 64, 5, 1, 2, 3},
  };
  for (const Row& row : rows)
    for (const RequantMode mode :
         {RequantMode::kFloatEven, RequantMode::kFixedUp, RequantMode::kFixedWide}) {
      if (is_left_out()) continue;
      QuantizedConv2dAttributes t;
      t.kernel_h = t.kernel_w = row.kernel, t.stride_h = t.stride_w = row.stride;
      t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = row.pad;
      t.method = ConvMethod(row.method), t.requant = mode, t.x_zero = 100, t.y_zero = 128;
      if (t.method == ConvMethod::kDepthwise) t.groups = uint32_t(row.o);
      if (t.method == ConvMethod::kGrouped) t.groups = 2;
      Case c;
      const bool is_int16 = mode == RequantMode::kFixedWide;
      if (is_int16) t.x_zero = 32768, t.y_zero = 32768, t.high = 65535;
      REQUIRE(conv_case(t, is_int16 ? DType::kI16 : DType::kU8, row.x, row.o, 77, 0, &c));
      run_case(c);
    }
}

TEST_CASE("quantized_conv2d: as many products as tiles of matrices are worth") {
  Combinations all("quantized_conv2d in tiles", 120, 2, 0);
  const Axis<Dims> x = all.axis<Dims>(
      "x", {{1, 7, 7, 64}, {2, 14, 14, 32}, {1, 5, 33, 96}, {1, 9, 16, 28}, {3, 4, 47, 80}});
  const Axis<int> o = all.axis<int>("outputs", {70, 128, 193});
  const Axis<Dims> kernel = all.axis<Dims>("kernel", {{1, 1}, {3, 3}, {1, 5}});
  const Axis<int> stride = all.axis<int>("stride", {1, 2});
  const Axis<int> dilation = all.axis<int>("dilation", {1, 2});
  const Axis<int> pad = all.axis<int>("pad", {0, 1});
  const Axis<int> groups = all.axis<int>("groups", {1, 2});
  const Axis<int> mode = all.axis<int>("requant", {0, 0, 1, 2, 3});
  const Axis<int> w_zero = all.axis<int>("w_zero", {0, -37});
  const Axis<int> padding = all.axis<int>("padding", {0, 5});
  QuantizedConv2dAttributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    t = {};
    t.kernel_h = uint32_t(kernel()[0]), t.kernel_w = uint32_t(kernel()[1]);
    t.stride_h = t.stride_w = uint32_t(stride()),
    t.dilation_h = t.dilation_w = uint32_t(dilation());
    t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = uint32_t(pad());
    t.groups = uint32_t(groups());
    if (t.groups > 1) t.method = ConvMethod::kGrouped;
    t.requant = kModes[size_t(mode())], t.w_zero = w_zero(), t.x_zero = seed % 256;
    t.y_zero = 128, t.low = 3, t.high = 250;
    seed += 3;
    return conv_case(t, DType::kU8, x(), round_up(o(), int64_t{t.groups}), seed, padding(), &c);
  });
}

TEST_CASE("quantized_linear: rows, tails, batches, ways of requantization") {
  struct Row {
    Dims x;
    int64_t o, x_padding = 0, y_padding = 0;
  };
  const Row rows[] = {{{1, 640}, 128},     {{1, 300}, 1000}, {{40}, 21},
                      {{2, 50}, 260},      {{2, 9, 33}, 48}, {{131, 20}, 30},
                      {{7, 11}, 17, 5, 3}, {{5, 1}, 16},     {{4, 0}, 18},
                      {{0, 8}, 18},        {{3, 8}, 0},      {{90, 5000}, 18},
                      {{3, 130, 36}, 200}, {{35, 96}, 160},  {{3, 11, 128}, 130, 0, 7},
                      {{70, 130}, 60}};
  uint32_t seed = 1;
  // the second time with a zero point of the weights, the third with 16-bit numbers
  for (const Row& row : rows)
    for (size_t i = 0; i < kModes.size(); i++)
      for (const int kind : {0, 1, 2}) {
        if (is_left_out()) continue;
        const DType type = kind == 2 ? DType::kI16 : DType::kU8;
        const RequantMode mode = (kind == 2 ? kInt16Modes : kModes)[i];
        QuantizedLinearAttributes t;
        t.requant = mode, t.w_zero = kind == 1 ? 91 : 0, t.y_zero = 90, t.low = 3, t.high = 251;
        if (kind == 2) t.y_zero = 32768, t.low = 300, t.high = 65000;
        const int64_t k = row.x.back();
        const Tensor x = random_numbers(type, row.x, seed, row.x_padding),
                     dense = Tensor(DType::kI8, {row.o, k}).random(seed + 1, -128, 127);
        Case c{"quantized_linear", OpCode::kQuantizedLinear, &t, {}, {}, {0, 0}};
        c.inputs = {x, packed_linear_weights(dense)};
        c.oracle_inputs = {x, dense};
        add_channels(&c, mode, row.o, k, seed);
        Dims y = row.x;
        y.back() = row.o;
        c.outputs = {Tensor(type, y, row.y_padding)};
        run_case(c);
        seed += 5;
      }
}

TEST_CASE("quantized_linear: numbers of channels that mean nothing have a result all the same") {
  const int64_t o = 37, k = 8;
  const std::vector<double> strange = {INFINITY, -INFINITY, NAN, 0, -1, 1e30, -1e30, 1e-40, 0.5, 3};
  const std::vector<double> numbers = {2147483647, -2147483648.0, 0, 1, -1, 1073741824, 40, 31, 30,
                                       -31,        -2147483648.0, 62};
  for (size_t i = 0; i < 2 * kModes.size(); i++) {
    const DType type = i < kModes.size() ? DType::kU8 : DType::kI16;
    const RequantMode mode = (type == DType::kU8 ? kModes : kInt16Modes)[i % kModes.size()];
    QuantizedLinearAttributes t;
    t.requant = mode, t.y_zero = 7, t.low = 1, t.high = 254;
    const bool fixed = mode != RequantMode::kFloatEven;
    const Tensor dense = Tensor(DType::kI8, {o, k}).random(5, -128, 127);
    Case c{"quantized_linear", OpCode::kQuantizedLinear, &t, {}, {}, {0, 0}};
    c.inputs = {random_numbers(type, {5, k}, 3), packed_linear_weights(dense)};
    c.oracle_inputs = {c.inputs[0], dense};
    std::vector<Tensor> rows = {
        Tensor(DType::kI32, {o}).values({2147483647, -2147483648.0, 0, 5, 2147480000}),
        fixed ? Tensor(DType::kI32, {o}).values(numbers)
              : Tensor(DType::kF32, {o}).values(strange)};
    if (fixed)
      rows.push_back(Tensor(DType::kI32, {o})
                         .values({40, -40, 2147483647, -2147483648.0, 0, 31, -31, 32, -30, 1, 7}));
    if (is_wide(mode))
      rows.push_back(
          Tensor(DType::kI32, {o}).values({2147483647, -2147483648.0, 0, -1, 1, 65535, -40000}));
    add_channels(&c, rows, o);
    c.outputs = {Tensor(type, {5, o})};
    run_case(c);
  }
}

TEST_CASE("quantized_conv2d: the oracle too may write over its input") {
  QuantizedConv2dAttributes t;
  t.kernel_h = t.kernel_w = 3, t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = 1;
  t.method = ConvMethod::kDepthwise, t.groups = 8, t.x_zero = 130, t.y_zero = 100;
  Case c;
  REQUIRE(conv_case(t, DType::kU8, {1, 9, 7, 8}, 8, 3, 0, &c));
  Tensor overwritten = c.oracle_inputs[0];
  TensorView inputs[3], y = c.outputs[0].view(), same = overwritten.view();
  for (int i = 0; i < 3; i++) inputs[i] = c.oracle_inputs[size_t(i)].view();
  const KernelEntry* const oracle = find_kernel(*oracle_kernels(), c.op, {&t, inputs, &y, 3, 1});
  REQUIRE(oracle != nullptr);
  CHECK(oracle->run({&t, inputs, &y, 3, 1}, {}).ok());
  inputs[0] = same;
  CHECK(oracle->run({&t, inputs, &same, 3, 1}, {}).ok());
  CHECK(std::memcmp(y.data, same.data, size_t(y.elements())) == 0);
}

TEST_CASE("quantized products: the contracts refuse") {
  struct Wrong {
    const char* rule;
    void (*spoil)(QuantizedConv2dAttributes&, Case&);
  };
  using T = QuantizedConv2dAttributes;
  static constexpr auto as_words = [](T&, Case& c) {
    c.inputs[0].view().dtype = c.outputs[0].view().dtype = DType::kI16;
  };
  const Wrong wrongs[] = {
      {"quantized x is u8 or i16", [](T&, Case& c) { c.inputs[0].view().dtype = DType::kI8; }},
      {"quantized weights are i8", [](T&, Case& c) { c.inputs[1].view().dtype = DType::kU8; }},
      {"quantized y has the type of x",
       [](T&, Case& c) { c.outputs[0].view().dtype = DType::kBool; }},
      {"requant is known", [](T& t, Case&) { t.requant = RequantMode(7); }},
      {"sums of 64 bits are of 16-bit numbers",
       [](T& t, Case&) { t.requant = RequantMode::kFixedWide; }},
      {"16-bit numbers are requantized in fixed point", as_words},
      {"weights beside 16-bit numbers have no zero point",
       [](T& t, Case& c) {
         as_words(t, c);
         t.requant = RequantMode::kFixedAway, t.w_zero = 1;
       }},
      {"y_zero is a number of y",
       [](T& t, Case& c) {
         as_words(t, c);
         t.requant = RequantMode::kFixedAway, t.y_zero = 65536;
       }},
      {"x_zero is a number of x",
       [](T& t, Case& c) {
         as_words(t, c);
         t.requant = RequantMode::kFixedAway, t.x_zero = 65536;
       }},
      {"y_zero is a number of y", [](T& t, Case&) { t.y_zero = 256; }},
      {"high is a number of y", [](T& t, Case&) { t.high = 256; }},
      {"low is at most high", [](T& t, Case&) { t.low = 9, t.high = 8; }},
      {"w_zero is at most 255", [](T& t, Case&) { t.w_zero = -256; }},
      {"x_zero is a number of x", [](T& t, Case&) { t.x_zero = 256; }},
      {"quantized_conv2d.method is direct, depthwise or grouped",
       [](T& t, Case&) { t.method = ConvMethod::kWinogradF43; }},
      {"direct convolutions have one group", [](T& t, Case&) { t.groups = 2; }},
      {"depthwise has a group a channel", [](T& t, Case&) { t.method = ConvMethod::kDepthwise; }},
      {"quantized_conv2d.groups divides the channels",
       [](T& t, Case&) { t.method = ConvMethod::kGrouped, t.groups = 3; }},
      {"kernel, stride and dilation are 1 to 2^20", [](T& t, Case&) { t.stride_w = 0; }},
      {"pads are at most 2^20", [](T& t, Case&) { t.pad_left = (1u << 20) + 1; }},
      {"the window fits the padded image", [](T& t, Case&) { t.dilation_h = 5; }},
      {"weights' dims agree with attributes and operands",
       [](T&, Case& c) { c.inputs[1].view().dims[3] = c.inputs[1].view().row_stride = 15; }},
      {"weights have the packing of their method",
       [](T&, Case& c) { c.inputs[1].view().packing = Packing::kPanels16; }},
      {"quantized_conv2d's x is a batch of images",
       [](T&, Case& c) {
         c.inputs[0] = Tensor(DType::kU8, {8, 8, 16});
       }},
      {"quantized_conv2d's y is [N,OH,OW,O]",
       [](T&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {1, 6, 5, 20});
       }},
      {"required input is present", [](T&, Case& c) { c.inputs[2] = Tensor(); }},
      {"biases, multipliers and, of fixed point, shifts are there",
       [](T& t, Case&) { t.requant = RequantMode::kFixedUp; }},
      {"biases, multipliers and, of fixed point, shifts are there",
       [](T&, Case& c) {
         c.inputs[2] = Tensor(DType::kI32, {3, 32});
       }},
      {"numbers of channels are i32",
       [](T&, Case& c) {
         c.inputs[2] = Tensor(DType::kF32, {2, 32});
       }},
      {"numbers of channels are rows",
       [](T&, Case& c) { c.inputs[2] = Tensor(DType::kI32, {64}); }},
      {"a row has a number an output, rounded up to 16",
       [](T&, Case& c) {
         c.inputs[2] = Tensor(DType::kI32, {2, 20});
       }},
      {"enough inputs", [](T&, Case& c) { c.inputs.resize(2); }},
  };
  for (const Wrong& w : wrongs) {
    QuantizedConv2dAttributes t;
    t.kernel_h = t.kernel_w = 3;
    Case c{w.rule, OpCode::kQuantizedConv2d, &t};
    c.inputs = {Tensor(DType::kU8, {1, 8, 8, 16}),
                Tensor(DType::kI8, {20, 3, 3, 16}, 0, Packing::kPanels16x4),
                Tensor(DType::kI32, {2, 32})};
    c.outputs = {Tensor(DType::kU8, {1, 6, 6, 20})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
  QuantizedLinearAttributes t;
  Case c{"", OpCode::kQuantizedLinear, &t};
  c.inputs = {Tensor(DType::kU8, {1, 65794}),
              Tensor(DType::kI8, {1, 65794}, 0, Packing::kPanels16x4),
              Tensor(DType::kI32, {2, 16})};
  c.outputs = {Tensor(DType::kU8, {1, 1})};
  CHECK(refusal(c) == "a sum of products of bytes fits 32 bits");
  c.inputs[0] = Tensor(DType::kU8, {});
  CHECK(refusal(c) == "quantized_linear's x has a last dimension");
  c.inputs[0] = Tensor(DType::kU8, {2, 65794});
  c.inputs[1] = Tensor(DType::kI8, {1, 1, 65794});
  CHECK(refusal(c) == "quantized_linear's weights are [O, K]");
}
