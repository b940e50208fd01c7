// SPDX-License-Identifier: Apache-2.0
// Pairs of DequantizeLinear and QuantizeLinear that become integer arithmetic: which nodes come
// out, and that no number moves by more than a step.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"
#include "tools/compile/passes/pipeline.h"

using namespace ingot;
using namespace ingot::test;
using Numbers = std::vector<int64_t>;

namespace {

constexpr double kStep = 1.0 / 32;

/// A graph of bytes: each value with the scale and zero point of its own.
struct ByteBuilder : GraphBuilder {
  template <class T>
  ValueId known(DType dtype, const Dimensions& dims, const std::vector<T>& all) {
    const ValueId id = model.add_constant("k" + std::to_string(model.values.size()),
                                          graph::make_constant(dtype, dims, all.data()));
    graph::Value& value = model.values[size_t(id)];
    value.dtype = dtype, value.shape_known = true;
    value.dims = graph::Dims(dims.begin(), dims.end());
    return id;
  }
  ValueId zero(DType dtype, int64_t n) {
    return dtype == DType::kI8 ? known<int8_t>(dtype, {}, {int8_t(n)})
                               : known<uint8_t>(dtype, {}, {uint8_t(n)});
  }
  ValueId quantize(ValueId x, double scale, int64_t at, DType dtype = DType::kU8) {
    return node(op::QuantizeLinear, {x, number(scale), zero(dtype, at)}, {}, {}, dtype);
  }
  ValueId dequantize(ValueId q, double scale, int64_t at, DType dtype = DType::kU8) {
    return node(op::DequantizeLinear, {q, number(scale), zero(dtype, at)}, {}, {}, DType::kF32);
  }
  /// Through bytes and back.
  ValueId stepped(ValueId x, double scale, int64_t at, DType dtype = DType::kU8) {
    return dequantize(quantize(x, scale, at, dtype), scale, at, dtype);
  }
  ValueId image(const std::string& name, const Dimensions& dims, DType dtype = DType::kU8) {
    return stepped(input(name, dims), 1.0 / 128, dtype == DType::kI8 ? -3 : 125, dtype);
  }
  ValueId result(ValueId x, DType dtype = DType::kU8) {
    return stepped(x, kStep, dtype == DType::kI8 ? -8 : 120, dtype);
  }
  /// Weights of int8 with a scale for each output of `axis`.
  ValueId quantized_weights(const Dimensions& dims, int64_t axis) {
    std::vector<int8_t> all;
    int64_t count = 1;
    for (const int64_t d : dims) count *= d;
    for (int64_t i = 0; i < count; i++) all.push_back(int8_t(i * 37 % 255 - 127));
    const int64_t outputs = dims[size_t(axis)];
    std::vector<float> scales;
    for (int64_t i = 0; i < outputs; i++) scales.push_back(0.001f * float(i % 5 + 1));
    return node(op::DequantizeLinear,
                {known(DType::kI8, dims, all), known(DType::kF32, {outputs}, scales),
                 known(DType::kI8, {outputs}, std::vector<int8_t>(size_t(outputs), 0))},
                {{attr::axis, axis}}, {}, DType::kF32);
  }
  ValueId quantized_bias(int64_t outputs) {
    std::vector<int32_t> all;
    std::vector<float> scales;
    for (int64_t i = 0; i < outputs; i++) {
      all.push_back(int32_t(i * 1111 - 3000));
      scales.push_back(1.0f / 128 * 0.001f * float(i % 5 + 1));
    }
    return node(op::DequantizeLinear,
                {known(DType::kI32, {outputs}, all), known(DType::kF32, {outputs}, scales),
                 known(DType::kI32, {outputs}, std::vector<int32_t>(size_t(outputs), 0))},
                {{attr::axis, int64_t(0)}}, {}, DType::kF32);
  }
};

passes::Attributes window(Numbers kernel, int64_t group = 1, int64_t pad = 0) {
  const Numbers ones(kernel.size(), 1), pads(kernel.size() * 2, pad);
  return {{attr::kernel_shape, kernel},
          {attr::strides, ones},
          {attr::dilations, ones},
          {attr::pads, pads},
          {attr::group, group}};
}

/// Converts, and compares with floating point: within `allowed`.
void check(ByteBuilder& g, double allowed, const std::string& op, size_t count = 1) {
  double worst = 1;
  const auto records = convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst <= allowed * 1.01);
  CHECK(g.count(op) == count);
}

}  // namespace

TEST_CASE("convolutions of bytes: dense, grouped, depthwise, of one dimension") {
  struct Case {
    Dimensions x, w, y;
    int64_t group;
    const char* method;
  };
  const std::vector<Case> all = {{{1, 4, 5, 6}, {8, 4, 3, 3}, {1, 8, 5, 6}, 1, "direct"},
                                 {{2, 4, 5, 5}, {6, 2, 3, 3}, {2, 6, 5, 5}, 2, "grouped"},
                                 {{1, 4, 5, 5}, {4, 1, 3, 3}, {1, 4, 5, 5}, 4, "depthwise"},
                                 {{1, 4, 9}, {8, 4, 3}, {1, 8, 9}, 1, "direct"}};
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    for (const Case& c : all) {
      ByteBuilder g;
      const Numbers kernel(c.x.size() - 2, 3);
      const ValueId y =
          g.node(op::Conv,
                 {g.image("x", c.x, dtype), g.quantized_weights(c.w, 0), g.quantized_bias(c.w[0])},
                 window(kernel, c.group, 1), c.y);
      g.output(g.result(y, dtype));
      check(g, kStep, "QuantizedConv2d");
      CHECK(g.find("QuantizedConv2d")->text(attr::method, "direct") == c.method);
      CHECK(g.count("Conv2d") == 0);
    }
  }
}

TEST_CASE("limits and movement between a convolution and its bytes are part of it") {
  ByteBuilder g;
  ValueId y = g.node(op::Conv, {g.image("x", {1, 4, 6, 6}), g.quantized_weights({8, 4, 3, 3}, 0)},
                     window({3, 3}, 1, 1), {1, 8, 6, 6});
  y = g.node(op::Clip, {y}, {{attr::min, 0.0}, {attr::max, 3.0}});
  y = g.node(op::MaxPool, {y}, window({2, 2}), {1, 8, 5, 5});
  g.output(g.result(y));
  check(g, kStep, "QuantizedConv2d");
  CHECK(g.count("QuantizedPool2d") == 1);
  CHECK(g.find("QuantizedConv2d")->integer(attr::low, 0) == 120);
  CHECK(g.find("QuantizedConv2d")->integer(attr::high, 255) == 120 + 96);
}

TEST_CASE("linear layers of bytes: Gemm, and MatMul with a bias behind it") {
  for (const bool transposed : {false, true}) {
    ByteBuilder g;
    const ValueId w = transposed ? g.quantized_weights({6, 8}, 0) : g.quantized_weights({8, 6}, 1);
    g.output(g.result(g.node(op::Gemm, {g.image("x", {3, 8}), w, g.quantized_bias(6)},
                             {{attr::alpha, 1.0},
                              {attr::beta, 1.0},
                              {attr::transA, int64_t(0)},
                              {attr::transB, int64_t(transposed)}},
                             {3, 6})));
    check(g, kStep, "QuantizedLinear");
  }
  ByteBuilder g;
  const ValueId w = g.node(op::Transpose, {g.quantized_weights({6, 8}, 0)},
                           {{attr::perm, Numbers{1, 0}}}, {8, 6});
  const ValueId y = g.node(op::MatMul, {g.image("x", {2, 3, 8}), w}, {}, {2, 3, 6});
  g.output(g.result(g.node(op::Add, {g.quantized_bias(6), y}, {}, {2, 3, 6})));
  check(g, kStep, "QuantizedLinear");
  CHECK(g.count("Linear") == 0);
}

TEST_CASE("products of two tensors of bytes, of which one may lie transposed") {
  ByteBuilder g;
  g.output(g.result(g.node(
      op::MatMul, {g.image("a", {2, 3, 8}), g.image("b", {2, 8, 5}, DType::kI8)}, {}, {2, 3, 5})));
  check(g, kStep, "QuantizedMatMul");
  ByteBuilder h;  // keys of attention
  const ValueId keys = h.node(op::Transpose, {h.image("k", {2, 5, 3, 8})},
                              {{attr::perm, Numbers{0, 2, 3, 1}}}, {2, 3, 8, 5});
  h.output(h.result(h.node(op::MatMul, {h.image("q", {2, 3, 4, 8}), keys}, {}, {2, 3, 4, 5})));
  check(h, kStep, "QuantizedMatMul");
  CHECK(h.find("QuantizedMatMul")->integer(attr::trans_b, 0) == 1);
  ByteBuilder f;  // matrices that are repeated are multiplied in f32
  f.output(f.result(
      f.node(op::MatMul, {f.image("a", {2, 3, 8}), f.image("b", {1, 8, 5})}, {}, {2, 3, 5})));
  check(f, kStep, "QuantizedMatMul", 0);
}

TEST_CASE("sums and products of two tensors of bytes, and of a constant") {
  for (const graph::Operator op : {op::Add, op::Sub, op::Mul}) {
    ByteBuilder g;
    const ValueId a = g.image("a", {2, 3, 4}), b = g.image("b", {3, 1}, DType::kI8);
    g.output(g.result(g.node(op, {a, b}, {}, {2, 3, 4})));
    check(g, kStep, "QuantizedElementwise");
    ByteBuilder h;
    const ValueId c =
        h.dequantize(h.known(DType::kU8, {4}, std::vector<uint8_t>{0, 90, 130, 255}), 0.01, 100);
    h.output(h.result(h.node(op, {h.image("a", {2, 3, 4}), c}, {}, {2, 3, 4})));
    check(h, kStep, "QuantizedElementwise");
  }
}

TEST_CASE("any function of one byte is a table") {
  const auto one = [](graph::Operator op, passes::Attributes attributes) {
    ByteBuilder g;
    g.output(g.result(g.node(op, {g.image("x", {2, 9})}, std::move(attributes), {2, 9})));
    check(g, kStep, "Lookup");
    CHECK(g.count("Elementwise") == 0);
  };
  one(op::Sigmoid, {}), one(op::Tanh, {}), one(op::HardSwish, {}), one(op::Relu, {}),
      one(op::Erf, {});
  one(op::LeakyRelu, {{attr::alpha, 0.1}}),
      one(op::Gelu, {{attr::approximate, std::string("none")}});
  one(op::Elu, {{attr::alpha, 1.0}}), one(op::HardSigmoid, {{attr::alpha, 0.2}, {attr::beta, 0.5}});
  one(op::Clip, {{attr::min, -0.25}, {attr::max, 0.5}}), one(op::Swish, {{attr::alpha, 1.0}});
  ByteBuilder g;  // x * sigmoid(1.7 x) / 2
  const ValueId x = g.image("x", {2, 9});
  const ValueId gate = g.node(op::Sigmoid, {g.node(op::Mul, {x, g.number(1.7)}, {}, {2, 9})}, {});
  g.output(
      g.result(g.node(op::Div, {g.node(op::Mul, {gate, x}, {}, {2, 9}), g.number(2)}, {}, {2, 9})));
  check(g, kStep, "Lookup");
  CHECK(g.count("Elementwise") == 0);
}

TEST_CASE("what moves bytes moves bytes, and another scale is a table") {
  ByteBuilder g;
  const ValueId x = g.image("x", {1, 4, 3, 3});
  const ValueId turned =
      g.node(op::Transpose, {x}, {{attr::perm, Numbers{0, 2, 3, 1}}}, {1, 3, 3, 4});
  const ValueId padded = g.node(op::Pad, {turned},
                                {{attr::mode, std::string("constant")},
                                 {attr::before, graph::Dims{0, 1, 1, 0}},
                                 {attr::value, 0.0}},
                                {1, 5, 5, 4});
  g.output(g.stepped(padded, 1.0 / 128, 125));
  check(g, 0, "Lookup", 0);
  ByteBuilder h;
  const ValueId a = h.image("a", {1, 2, 3}), b = h.stepped(h.input("b", {1, 4, 3}), 0.02, 7);
  h.output(h.result(h.node(op::Concat, {a, b}, {{attr::axis, int64_t(1)}}, {1, 6, 3})));
  check(h, kStep, "Lookup", 2);
}

TEST_CASE("signed bytes that move between two operators stay as those operators have them") {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    ByteBuilder g;
    ValueId q = g.quantize(g.input("x", {1, 4, 6, 6}), 1.0 / 64, 3, dtype);
    q = g.node(op::MaxPool, {q}, window({2, 2}), {1, 4, 5, 5}, dtype);
    q = g.node(op::Transpose, {q}, {{attr::perm, Numbers{0, 2, 3, 1}}}, {1, 5, 5, 4}, dtype);
    const std::vector<ValueId> parts =
        g.nodes(op::Split, {q}, {{attr::axis, int64_t(1)}}, {{1, 2, 5, 4}, {1, 3, 5, 4}}, dtype);
    for (const ValueId part : parts)
      g.output(g.result(g.node(op::Tanh, {g.dequantize(part, 1.0 / 64, 3, dtype)}, {})));
    check(g, kStep, "QuantizedPool2d");
    CHECK(g.count("Elementwise") == 0);
    CHECK(g.count("Lookup") == 2);
  }
}

TEST_CASE("averages and softmax of bytes") {
  ByteBuilder g;
  g.output(
      g.stepped(g.node(op::ReduceMean, {g.image("x", {2, 5, 4, 4})},
                       {{attr::axes, Numbers{2, 3}}, {attr::keepdims, int64_t(1)}}, {2, 5, 1, 1}),
                1.0 / 256, 128));
  check(g, 1.0 / 256, "QuantizedConv2d");
  ByteBuilder h;
  passes::Attributes taps = window({2, 2});
  h.output(h.stepped(
      h.node(op::AveragePool, {h.image("x", {1, 3, 6, 6}, DType::kI8)}, taps, {1, 3, 5, 5}),
      1.0 / 256, 0, DType::kI8));
  check(h, 1.0 / 256, "QuantizedConv2d");
  ByteBuilder k;
  k.output(k.stepped(
      k.node(op::Softmax, {k.image("x", {2, 6, 3})}, {{attr::axis, int64_t(1)}}, {2, 6, 3}),
      1.0 / 256, 0));
  check(k, 1.0 / 256, "QuantizedSoftmax");
}

TEST_CASE("averages over any dimensions are products with ones") {
  struct Case {
    Numbers axes;
    Dimensions y;
  };
  for (const Case& c :
       {Case{{1}, {2, 1, 4, 3}}, Case{{3}, {2, 5, 4, 1}}, Case{{0, 2}, {1, 5, 1, 3}}}) {
    ByteBuilder g;
    g.output(g.stepped(g.node(op::ReduceMean, {g.image("x", {2, 5, 4, 3}, DType::kI8)},
                              {{attr::axes, c.axes}, {attr::keepdims, int64_t(1)}}, c.y),
                       1.0 / 256, 128));
    check(g, 1.0 / 256, "QuantizedLinear");
  }
}

TEST_CASE("transposed convolutions are convolutions over images with zero points in between") {
  struct Case {
    Dimensions x, w, y;
    Numbers stride, pads;
    int64_t group;
    const char* method;
  };
  // out = stride * (in - 1) + kernel - pads, and what is added at the end
  const std::vector<Case> all = {
      {{1, 4, 5, 6}, {4, 6, 3, 3}, {1, 6, 11, 8}, {2, 1}, {0, 0, 0, 0}, 1, "direct"},
      {{2, 4, 4, 3}, {4, 3, 2, 3}, {2, 3, 7, 8}, {2, 3}, {1, 0, 0, 2}, 1, "direct"},
      {{1, 4, 5, 5}, {4, 1, 3, 3}, {1, 4, 10, 10}, {2, 2}, {1, 1, 1, 1}, 4, "depthwise"},
      {{1, 4, 5, 5}, {4, 3, 1, 1}, {1, 6, 3, 3}, {1, 1}, {1, 1, 1, 1}, 2, "grouped"},
      {{1, 4, 7}, {4, 5, 3}, {1, 5, 13}, {2}, {1, 1}, 1, "direct"}};
  for (const Case& c : all) {
    ByteBuilder g;
    passes::Attributes attributes = window(Numbers(c.w.begin() + 2, c.w.end()), c.group);
    attributes[attr::strides] = c.stride, attributes[attr::pads] = c.pads;
    ValueId w = g.quantized_weights(c.w, 1);
    if (c.group > 1)
      w = g.dequantize(
          g.known(DType::kU8, c.w,
                  std::vector<uint8_t>(4 * size_t(c.w[1]) * size_t(c.w[2] * c.w[3]), 131)),
          0.004, 128);
    g.output(g.result(g.node(op::ConvTranspose, {g.image("x", c.x), w}, attributes, c.y)));
    check(g, kStep, "QuantizedConv2d");
    CHECK(g.find("QuantizedConv2d")->text(attr::method, "direct") == c.method);
    CHECK(g.count("ConvTranspose2d") == 0);
  }
}

TEST_CASE("functions that differ from channel to channel are convolutions of one pixel") {
  const auto slopes = [](ByteBuilder& g) { return g.constant({3, 1, 1}, {0.5, -1.25, 0}); };
  for (const graph::Operator op : {op::Mul, op::Add, op::Sub, op::Div}) {
    ByteBuilder g;
    const ValueId by = op == op::Div ? g.constant({3, 1, 1}, {0.5, -1.25, 3}) : slopes(g);
    g.output(g.result(g.node(op, {g.image("x", {2, 3, 4, 5}), by}, {}, {2, 3, 4, 5})));
    check(g, kStep, "QuantizedConv2d");
    CHECK(g.count("Elementwise") == 0);
  }
  ByteBuilder rows;  // channels at the end, two functions of them one behind the other
  const ValueId scaled = rows.node(
      op::Mul, {rows.constant({4}, {1, -2, 0.25, 3}), rows.image("x", {2, 5, 4}, DType::kI8)}, {},
      {2, 5, 4});
  rows.output(rows.result(
      rows.node(op::Add, {scaled, rows.constant({4}, {1, 0, -1, 0.5})}, {}, {2, 5, 4})));
  check(rows, kStep, "QuantizedConv2d");
  ByteBuilder normal;
  normal.output(normal.result(
      normal.node(op::BatchNormalization,
                  {normal.image("x", {2, 3, 4, 5}), normal.constant({3}, {1, -0.5, 2}),
                   normal.constant({3}, {0, 1, -1}), normal.constant({3}, {0.25, 0, -0.5}),
                   normal.constant({3}, {1, 0.5, 2})},
                  {{attr::epsilon, 1e-5}}, {2, 3, 4, 5})));
  check(normal, kStep, "QuantizedConv2d");
  ByteBuilder bent;
  bent.output(bent.result(
      bent.node(op::PRelu, {bent.image("x", {2, 3, 4, 5}), slopes(bent)}, {}, {2, 3, 4, 5})));
  check(bent, kStep, "QuantizedConv2d");
  CHECK(bent.count("QuantizedElementwise") == 1);
  ByteBuilder mixed;  // of two dimensions: no function of a channel
  mixed.output(mixed.result(
      mixed.node(op::Mul, {mixed.image("x", {1, 2, 2, 1}), mixed.constant({2, 2, 1}, {1, 2, 3, 4})},
                 {}, {1, 2, 2, 1})));
  check(mixed, kStep, "QuantizedConv2d", 0);
}

TEST_CASE("products of bytes whose numbers are read as such") {
  ByteBuilder g;  // read twice: by bytes, and by a sum
  const ValueId y =
      g.node(op::Conv,
             {g.image("x", {1, 4, 6, 6}, DType::kI8), g.quantized_weights({8, 4, 3, 3}, 0),
              g.constant({8}, {0, 1, 2, 3, -1, -2, -3, 0.5})},
             window({3, 3}, 1, 1), {1, 8, 6, 6});
  g.output(g.node(op::Add, {y, g.result(y)}, {}, {1, 8, 6, 6}));
  check(g, kStep, "QuantizedConv2d");
  CHECK(g.count("Conv2d") == 0);
  CHECK(g.model.notes.empty());
  ByteBuilder h;
  h.output(h.node(op::Gemm,
                  {h.image("x", {3, 8}), h.quantized_weights({6, 8}, 0), h.quantized_bias(6)},
                  {{attr::alpha, 1.0},
                   {attr::beta, 1.0},
                   {attr::transA, int64_t(0)},
                   {attr::transB, int64_t(1)}},
                  {3, 6}));
  check(h, 1e-5, "QuantizedLinear");
  CHECK(h.count("Linear") == 0);
}

TEST_CASE("choices among bytes: the larger, the smaller, what a condition says") {
  for (const graph::Operator op : {op::Max, op::Min}) {
    ByteBuilder g;
    const ValueId a = g.image("a", {2, 3, 4}), b = g.image("b", {3, 1}, DType::kI8);
    g.output(g.result(g.node(op, {a, b}, {}, {2, 3, 4})));
    check(g, kStep, "Lookup", 2);
    CHECK(g.count("Dequantize") == 1);  // of the output
  }
  for (const graph::Operator op : {op::ReduceMax, op::ReduceMin}) {
    ByteBuilder g;
    g.output(g.result(g.node(op, {g.image("x", {2, 3, 4, 5})},
                             {{attr::axes, Numbers{2, 3}}, {attr::keepdims, int64_t(1)}},
                             {2, 3, 1, 1})));
    check(g, kStep, "Lookup");
    CHECK(g.count("Dequantize") == 1);
  }
}

TEST_CASE("what has no integer kernels stays in floating point, and is noted") {
  ByteBuilder g;
  const ValueId x = g.image("x", {1, 4, 3, 3});
  const ValueId y =
      g.node(op::Conv, {x, g.quantized_weights({8, 4, 3, 3}, 0)}, window({3, 3}), {1, 8, 1, 1});
  const ValueId z = g.node(op::Div, {g.result(y), g.image("z", {1, 8, 1, 1})}, {}, {1, 8, 1, 1});
  g.output(g.result(z));
  double worst = 1;
  convert_and_compare(g, worst);
  CHECK(g.count("QuantizedConv2d") == 1);
  REQUIRE(g.model.notes.size() == 1);
  CHECK(g.model.notes[0] == "computed in f32 between dequantization and quantization: Div*1");
}

TEST_CASE("for a GPU the same graph is in integers, what a run quantizes apart") {
  ByteBuilder g;
  const ValueId y = g.node(op::Conv,
                           {g.image("x", {1, 4, 6, 6}, DType::kI8),
                            g.quantized_weights({8, 4, 3, 3}, 0), g.quantized_bias(8)},
                           window({3, 3}), {1, 8, 4, 4});
  g.output(g.result(y, DType::kI8));
  passes::PassOptions options;
  options.dynamic_integers = false;
  double worst = 1;
  convert_and_compare(g, worst, options);
  CHECK(worst <= kStep * 1.01);
  CHECK(g.count("QuantizedConv2d") == 1);
  CHECK(g.count("Conv2d") == 0);
}

TEST_CASE(
    "a bias that leaves the sums is added to floats; scales of a wrong axis and weights of a run "
    "stay as they are") {
  {
    ByteBuilder g;
    const ValueId y = g.node(op::Conv,
                             {g.image("x", {1, 2, 3, 3}), g.quantized_weights({2, 2, 1, 1}, 0),
                              g.constant({2}, {0, 1e9})},
                             window({1, 1}), {1, 2, 3, 3});
    g.output(g.result(y));
    check(g, kStep, "QuantizedConv2d");  // sums in floating point, which hold it
    CHECK(g.find("QuantizedConv2d")->text(attr::requant, "") == "to_float");
  }
  {
    ByteBuilder g;
    const ValueId y =
        g.node(op::MatMul, {g.image("x", {3, 4}), g.quantized_weights({4, 5}, 0)}, {}, {3, 5});
    g.output(g.result(y));
    check(g, kStep, "QuantizedLinear", 0);
  }
  {
    ByteBuilder g;
    const ValueId y = g.node(op::MatMul, {g.image("x", {3, 4}), g.image("w", {4, 5})}, {}, {3, 5});
    g.output(g.result(y));
    check(g, kStep, "QuantizedLinear", 0);
  }
}

TEST_CASE("a long sum of integers that becomes f32 at once is one product") {
  for (const bool is_read : {false, true}) {
    ByteBuilder g;
    const ValueId x = g.node(op::Cast, {g.input("x", {3, 300}, DType::kU8)},
                             {{attr::to, int64_t(DType::kF32)}}, {3, 300}, DType::kF32);
    const ValueId w = g.constant({300, 4}, std::vector<double>(1200, -3)), sixteen = g.number(16);
    const auto whole = [&](ValueId part) {
      return g.node(op::Cast, {g.node(op::MatMul, {part, w}, {}, {3, 4})},
                    {{attr::to, int64_t(DType::kI32)}}, {3, 4}, DType::kI32);
    };
    const ValueId upper = g.node(op::Floor, {g.node(op::Div, {x, sixteen})});
    const ValueId lower = g.node(op::Sub, {x, g.node(op::Mul, {upper, sixteen})});
    const ValueId shifted =
        g.node(op::Mul, {whole(upper), g.known<int32_t>(DType::kI32, {}, {16})});
    const ValueId sum = g.node(op::Add, {shifted, whole(lower)});
    g.output(g.node(op::Cast, {sum}, {{attr::to, int64_t(DType::kF32)}}, {3, 4}, DType::kF32));
    if (is_read) g.output(sum);
    check(g, 1e-5, "Linear", is_read ? 2 : 1);
  }
}
