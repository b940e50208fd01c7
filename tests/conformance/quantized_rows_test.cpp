// SPDX-License-Identifier: Apache-2.0
// Pooling and softmax of bytes: every tail of a window and of channels, tables, ties, rows apart,
// and what the contracts refuse.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/quantized_pool2d.h"
#include "runtime/op/quantized_softmax.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
using Pool = QuantizedPool2dAttributes;
using Softmax = QuantizedSoftmaxAttributes;

/// exp(step * (i - 255)), as f32 or in Q0.31.
Tensor exponentials(DType dtype, double step) {
  Tensor t(dtype, {256});
  for (int i = 0; i < 256; i++) {
    const double e = std::exp(step * (i - 255));
    t.set(i, dtype == DType::kF32 ? double(float(e))
                                  : std::min(2147483647.0, std::round(e * 2147483648.0)));
  }
  return t;
}

}  // namespace

TEST_CASE("quantized_pool2d: the product of its attributes") {
  Combinations all("quantized_pool2d", 2500, 2, 0);
  const Axis<Dims> x = all.axis<Dims>("x", {{1, 7, 9, 16},
                                            {2, 5, 6, 3},
                                            {1, 6, 5, 67},
                                            {1, 1, 40, 20},
                                            {1, 8, 8, 1},
                                            {3, 4, 3, 130},
                                            {1, 9, 1, 64},
                                            {0, 4, 4, 4}});
  const Axis<Dims> kernel =
      all.axis<Dims>("kernel", {{1, 1}, {2, 2}, {3, 3}, {1, 4}, {5, 2}, {7, 7}, {4, 3}});
  const Axis<Dims> stride = all.axis<Dims>("stride", {{1, 1}, {2, 2}, {1, 3}});
  const Axis<Dims> dilation = all.axis<Dims>("dilation", {{1, 1}, {2, 2}, {1, 3}});
  const Axis<Dims> pads =
      all.axis<Dims>("pads", {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 3}, {4, 4, 4, 4}});
  const Axis<int> kind = all.axis("kind", 2);
  const Axis<int> offset = all.axis<int>("offset", {0, 128, 255});
  const Axis<Dims> limits = all.axis<Dims>("limits", {{0, 255}, {128, 255}, {30, 200}});
  const Axis<int> padding = all.axis<int>("padding", {0, 5});
  Pool t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    t = {};
    t.kind = PoolKind(kind());
    t.kernel_h = uint32_t(kernel()[0]), t.kernel_w = uint32_t(kernel()[1]);
    t.stride_h = uint32_t(stride()[0]), t.stride_w = uint32_t(stride()[1]);
    t.dilation_h = uint32_t(dilation()[0]), t.dilation_w = uint32_t(dilation()[1]);
    t.pad_top = uint32_t(pads()[0]), t.pad_left = uint32_t(pads()[1]);
    t.pad_bottom = uint32_t(pads()[2]), t.pad_right = uint32_t(pads()[3]);
    t.offset = uint32_t(offset()), t.low = uint32_t(limits()[0]), t.high = uint32_t(limits()[1]);
    const int64_t oh = x()[1] + pads()[0] + pads()[2] - dilation()[0] * (kernel()[0] - 1) - 1,
                  ow = x()[2] + pads()[1] + pads()[3] - dilation()[1] * (kernel()[1] - 1) - 1;
    if (oh < 0 || ow < 0) return false;
    c = {"quantized_pool2d", OpCode::kQuantizedPool2d, &t, {}, {}, {0, 0}};
    c.inputs = {Tensor(DType::kU8, x(), padding()).random(seed++, 0, 255)};
    c.outputs = {Tensor(DType::kU8, {x()[0], oh / stride()[0] + 1, ow / stride()[1] + 1, x()[3]},
                        padding())};
    return true;
  });
}

TEST_CASE("quantized_pool2d: every tail of channels, ties of every sum, large windows") {
  for (const int kind : {0, 1})
    for (int64_t channels = 1; channels <= 140; channels++) {
      Pool t;
      t.kind = PoolKind(kind), t.kernel_h = 2, t.kernel_w = 3, t.offset = 128;
      Case c{"tails", OpCode::kQuantizedPool2d, &t, {}, {}, {0, 0}};
      c.inputs = {Tensor(DType::kU8, {1, 3, 4, channels}).random(uint32_t(channels), 0, 255)};
      c.outputs = {Tensor(DType::kU8, {1, 2, 2, channels})};
      run_case(c);
    }
  // n taps whose sums are one apart: all of 127 n .. 129 n and the ends
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 49, 64})
    for (const uint32_t offset : {0u, 128u}) {
      Pool t;
      t.kind = PoolKind::kAverage, t.kernel_w = uint32_t(n), t.offset = offset;
      const int64_t channels = 2 * n + 3;
      Tensor x(DType::kU8, {1, 1, n, channels});
      for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < n; i++)
          x.set(i * channels + c, c == 2 * n + 1   ? 0
                                  : c == 2 * n + 2 ? 255
                                                   : double(127 + (c > i) + (c > i + n)));
      Case c{"ties", OpCode::kQuantizedPool2d, &t, {x}, {}, {0, 0}};
      c.outputs = {Tensor(DType::kU8, {1, 1, 1, channels})};
      run_case(c);
    }
  for (const Dims& image : {Dims{256, 256}, Dims{256, 257}, Dims{300, 301}})
    for (const double fill : {255.0, 0.0, 1.0, -1.0}) {
      Pool t;
      t.kind = PoolKind::kAverage, t.offset = 128;
      t.kernel_h = uint32_t(image[0]), t.kernel_w = uint32_t(image[1]);
      Case c{"large", OpCode::kQuantizedPool2d, &t, {}, {}, {0, 0}};
      c.inputs = {Tensor(DType::kU8, {1, image[0], image[1], 3}).values({fill})};
      if (fill < 0) c.inputs[0].random(7, 0, 255);
      c.outputs = {Tensor(DType::kU8, {1, 1, 1, 3})};
      run_case(c);
    }
}

TEST_CASE("quantized_pool2d: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Pool&, Case&);
  };
  const Wrong wrongs[] = {
      {"quantized_pool2d takes u8 or i16",
       [](Pool&, Case& c) { c.inputs[0].view().dtype = DType::kI8; }},
      {"same dtype", [](Pool&, Case& c) { c.outputs[0].view().dtype = DType::kI8; }},
      {"quantized_pool2d.kind is max or average",
       [](Pool& t, Case&) { t.kind = PoolKind::kAverageIncludePad; }},
      {"quantized_pool2d.offset is a number of x", [](Pool& t, Case&) { t.offset = 256; }},
      {"high is a number of y", [](Pool& t, Case&) { t.high = 256; }},
      {"low is at most high", [](Pool& t, Case&) { t.low = 9, t.high = 8; }},
      {"kernel, stride and dilation are 1 to 2^20", [](Pool& t, Case&) { t.stride_w = 0; }},
      {"pads are at most 2^20", [](Pool& t, Case&) { t.pad_bottom = 1u << 31; }},
      {"a window has at most 2^22 taps, of i16 2^14",
       [](Pool& t, Case&) { t.kernel_h = 1 << 12, t.kernel_w = (1 << 10) + 1; }},
      {"the window fits the padded image", [](Pool& t, Case&) { t.kernel_h = 5; }},
      {"quantized_pool2d's x is a batch of images",
       [](Pool&, Case& c) {
         c.inputs[0] = Tensor(DType::kU8, {4, 4, 3});
       }},
      {"quantized_pool2d's y is [N,OH,OW,C]",
       [](Pool&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {1, 2, 6});
       }},
      {"quantized_pool2d's y is [N,OH,OW,C]",
       [](Pool&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {1, 2, 2, 4});
       }},
  };
  for (const Wrong& w : wrongs) {
    Pool t;
    t.kernel_h = t.kernel_w = t.stride_h = t.stride_w = 2;
    Case c{w.rule, OpCode::kQuantizedPool2d, &t};
    c.inputs = {Tensor(DType::kU8, {1, 4, 4, 3})};
    c.outputs = {Tensor(DType::kU8, {1, 2, 2, 3})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}

TEST_CASE("quantized_softmax: lengths, tables, types, ways of rounding") {
  Combinations all("quantized_softmax", 2500, 2, 25);
  const Axis<int> length =
      all.axis<int>("length", {1, 2, 3, 4, 7, 10, 12, 16, 17, 33, 64, 65, 100, 257, 1001});
  const Axis<Dims> rows = all.axis<Dims>("rows", {{}, {1}, {5}, {2, 3}, {40}});
  const Axis<double> step = all.axis<double>("step", {0.1, 0.0039, 1.5, 0.03});
  const Axis<DType> table = all.axis<DType>("table", {DType::kF32, DType::kI32});
  const Axis<DType> type = all.axis<DType>("y", {DType::kU8, DType::kI16});
  const Axis<bool> add_half = all.axis<bool>("add_half", {false, true});
  const Axis<int> zero = all.axis("zero", 3);
  const Axis<int> spread = all.axis<int>("spread", {255, 9, 0});
  const Axis<int> padding = all.axis<int>("padding", {0, 5});
  Softmax t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    const bool bytes = type() == DType::kU8;
    t = {};
    t.scale = bytes ? 1.0f / 256 : 1.0f / 65536, t.add_half = add_half();
    t.y_zero = zero() == 0 ? (bytes ? 0 : -32768) : zero() == 1 ? 77 : bytes ? 255 : 32767;
    Dims dims = rows();
    dims.push_back(length());
    c = {"quantized_softmax", OpCode::kQuantizedSoftmax, &t, {}, {}, {0, 0}};
    const int low = spread() == 255 ? 0 : int(seed % 240);
    c.inputs = {Tensor(DType::kU8, dims, padding()).random(seed, low, low + spread()),
                exponentials(table(), step())};
    c.outputs = {Tensor(type(), dims, padding())};
    seed++;
    return true;
  });
}

TEST_CASE("quantized_softmax: sums that saturate, tables that mean nothing") {
  for (const DType table : {DType::kF32, DType::kI32})
    for (const DType type : {DType::kU8, DType::kI16})
      for (int kind = 0; kind < 5; kind++) {
        Softmax t;
        t.scale = kind == 3 ? 1.17549435e-38f : kind == 4 ? 3e38f : 1.0f / 256;
        Case c{"strange", OpCode::kQuantizedSoftmax, &t, {}, {}, {0, 0}};
        c.inputs = {Tensor(DType::kU8, {3, 5000}).random(7, 0, 255), exponentials(table, 0.001)};
        if (kind == 1) c.inputs[1].values({0});
        if (kind == 2 && table == DType::kF32)
          c.inputs[1].values({INFINITY, -INFINITY, NAN, -1, 3e38, -3e38, 1, 0});
        if (kind == 2 && table == DType::kI32)
          c.inputs[1].values({2147483647, -2147483648.0, -1, 0, 1, 4096, 2048, 2047});
        c.outputs = {Tensor(type, {3, 5000})};
        run_case(c);
        c.inputs[0] = Tensor(DType::kU8, {40, 8}).random(8, 0, 255);
        c.outputs = {Tensor(type, {40, 8})};
        run_case(c);
      }
  Softmax t;
  Case c{"empty", OpCode::kQuantizedSoftmax, &t, {}, {}, {0, 0}};
  for (const Dims& dims : {Dims{4, 0}, Dims{0, 4}}) {
    c.inputs = {Tensor(DType::kU8, dims), exponentials(DType::kF32, 0.1)};
    c.outputs = {Tensor(DType::kU8, dims)};
    run_case(c);
  }
}

TEST_CASE("quantized_softmax: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Softmax&, Case&);
  };
  const char* const scale = "a scale is a positive normal number";
  const char* const zero = "a zero point is one of the type's numbers";
  const Wrong wrongs[] = {
      {"quantized_softmax takes u8 or i16",
       [](Softmax&, Case& c) { c.inputs[0].view().dtype = DType::kI8; }},
      {"quantized_softmax's x has a last dimension",
       [](Softmax&, Case& c) { c.inputs[0] = Tensor(DType::kU8, {}); }},
      {"quantized_softmax's table is f32 or i32, of i16 i16",
       [](Softmax&, Case& c) { c.inputs[1].view().dtype = DType::kU32; }},
      {"quantized_softmax's table has 256 elements, of i16 65536 + 513",
       [](Softmax&, Case& c) { c.inputs[1] = Tensor(DType::kF32, {255}); }},
      {"quantized_softmax gives u8 or i16",
       [](Softmax&, Case& c) { c.outputs[0].view().dtype = DType::kI8; }},
      {scale, [](Softmax& t, Case&) { t.scale = 0; }},
      {scale, [](Softmax& t, Case&) { t.scale = INFINITY; }},
      {zero, [](Softmax& t, Case&) { t.y_zero = 256; }},
      {zero, [](Softmax& t, Case&) { t.y_zero = -1; }},
      {zero,
       [](Softmax& t, Case& c) {
         t.y_zero = -32769, c.outputs[0] = Tensor(DType::kI16, {2, 4});
       }},
      {"same dimensions",
       [](Softmax&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {2, 5});
       }},
      {"enough inputs", [](Softmax&, Case& c) { c.inputs.resize(1); }},
  };
  for (const Wrong& w : wrongs) {
    Softmax t;
    Case c{w.rule, OpCode::kQuantizedSoftmax, &t};
    c.inputs = {Tensor(DType::kU8, {2, 4}), Tensor(DType::kF32, {256})};
    c.outputs = {Tensor(DType::kU8, {2, 4})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
