// SPDX-License-Identifier: Apache-2.0
// Products of integers whose scales a run finds: which nodes come out with integer kernels and
// without, and that no number moves.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"
#include "tools/compile/passes/pipeline.h"

using namespace ingot;
using namespace ingot::test;
using Numbers = std::vector<int64_t>;

namespace {

constexpr double kRounding = 1e-5;  // f32, where the evaluator has doubles

struct IntegerBuilder : GraphBuilder {
  struct Bytes {
    ValueId y, scale, zero;
  };
  Bytes dynamic(ValueId x, const Dimensions& dims) {
    const std::vector<ValueId> made =
        nodes(op::DynamicQuantizeLinear, {x}, {}, {dims, {}, {}}, DType::kU8);
    model.values[size_t(made[1])].dtype = DType::kF32;
    return {made[0], made[1], made[2]};
  }
  ValueId known(DType dtype, const Dimensions& dims, int64_t first) {
    int64_t count = 1;
    for (const int64_t d : dims) count *= d;
    std::vector<uint8_t> all;
    for (int64_t i = 0; i < count; i++) all.push_back(uint8_t(first + i * 37));
    const ValueId id = model.add_constant("k" + std::to_string(model.values.size()),
                                          graph::make_constant(dtype, dims, all.data()));
    graph::Value& value = model.values[size_t(id)];
    value.dtype = dtype, value.shape_known = true;
    value.dims = graph::Dims(dims.begin(), dims.end());
    return id;
  }
  ValueId as_floats(ValueId sums, const Dimensions& dims) {
    return node(op::Cast, {sums}, {{attr::to, int64_t(DType::kF32)}}, dims, DType::kF32);
  }
};

/// Integer operators come out, and their numbers are those of the source; as do those in f32.
void check_product(const std::function<void(IntegerBuilder&)>& build, const std::string& op,
                   const char* floats) {
  IntegerBuilder g, f;
  build(g), build(f);
  double worst = 1;
  convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst <= kRounding);
  CHECK(g.count(op) == 1);
  passes::PassOptions options;
  options.dynamic_integers = false;
  convert_and_compare(f, worst, options);
  CAPTURE(f.listing());
  CHECK(worst <= kRounding);
  CHECK(f.count(op) == (std::string(floats) == op ? 1 : 0));
  CHECK(f.count("DynamicQuantize") == 0);
  CHECK(f.count(floats) >= 1);
}

passes::Attributes integer_window(const Numbers& kernel, int64_t group, int64_t pad) {
  return {{attr::kernel_shape, kernel},
          {attr::strides, Numbers(kernel.size(), 1)},
          {attr::dilations, Numbers(kernel.size(), 1)},
          {attr::pads, Numbers(kernel.size() * 2, pad)},
          {attr::group, group}};
}

}  // namespace

TEST_CASE("a product takes both scales and the bias behind it") {
  for (const DType dtype : {DType::kI8, DType::kU8})
    for (const bool each : {false, true})
      check_product(
          [=](IntegerBuilder& g) {
            const IntegerBuilder::Bytes x = g.dynamic(g.input("x", {2, 3, 8}), {2, 3, 8});
            const Dimensions y = {2, 3, 5}, outputs = each ? Dimensions{5} : Dimensions{};
            const ValueId sums =
                g.node(op::MatMulInteger,
                       {x.y, g.known(dtype, {8, 5}, 3), x.zero, g.known(dtype, outputs, 7)}, {}, y,
                       DType::kI32);
            const ValueId scales = g.node(op::Mul, {x.scale, g.positive(outputs)}, {}, outputs);
            const ValueId scaled = g.node(op::Mul, {g.as_floats(sums, y), scales}, {}, y);
            g.output(g.node(op::Add, {g.weights({5}), scaled}, {}, y));
          },
          "QuantizedLinear", "Linear");
}

TEST_CASE("what does not fit into a product stays behind it") {
  // a product with the scale alone, a bias of each row, sums that are an output
  check_product(
      [](IntegerBuilder& g) {
        const IntegerBuilder::Bytes x = g.dynamic(g.input("x", {3, 8}), {3, 8});
        const ValueId sums =
            g.node(op::MatMulInteger, {x.y, g.known(DType::kI8, {8, 5}, 3), x.zero}, {}, {3, 5},
                   DType::kI32);
        const ValueId scaled = g.node(op::Mul, {x.scale, g.as_floats(sums, {3, 5})}, {}, {3, 5});
        g.output(g.node(op::Add, {scaled, g.weights({3, 1})}, {}, {3, 5}));
        g.output(sums), g.output(x.scale), g.output(x.zero);
      },
      "QuantizedLinear", "Linear");
  // a scale that is another's, and a zero point that is an input
  check_product(
      [](IntegerBuilder& g) {
        const ValueId bytes = g.input("x", {3, 8}, DType::kI8), zero = g.input("z", {}, DType::kI8);
        const ValueId sums =
            g.node(op::MatMulInteger, {bytes, g.known(DType::kI8, {8, 5}, 3), zero}, {}, {3, 5},
                   DType::kI32);
        g.output(g.node(op::Mul, {g.as_floats(sums, {3, 5}), g.input("s", {})}, {}, {3, 5}));
      },
      "QuantizedLinear", "Linear");
}

TEST_CASE("long sums are whole where they are computed in f32") {
  check_product(
      [](IntegerBuilder& g) {
        const ValueId bytes = g.input("x", {2, 700}, DType::kI8);
        g.output(g.node(op::MatMulInteger, {bytes, g.known(DType::kI8, {700, 3}, 3)}, {}, {2, 3},
                        DType::kI32));
      },
      "QuantizedLinear", "Linear");
}

TEST_CASE("convolutions: dense, grouped, depthwise, of one dimension") {
  struct Case {
    Dimensions x, w, y;
    int64_t group;
    const char* method;
  };
  const std::vector<Case> all = {{{1, 4, 5, 6}, {8, 4, 3, 3}, {1, 8, 5, 6}, 1, "direct"},
                                 {{2, 4, 5, 5}, {6, 2, 3, 3}, {2, 6, 5, 5}, 2, "grouped"},
                                 {{1, 4, 5, 5}, {4, 1, 3, 3}, {1, 4, 5, 5}, 4, "depthwise"},
                                 {{1, 4, 9}, {8, 4, 3}, {1, 8, 9}, 1, "direct"}};
  for (const Case& c : all)
    check_product(
        [&](IntegerBuilder& g) {
          const IntegerBuilder::Bytes x = g.dynamic(g.input("x", c.x), c.x);
          Dimensions along(c.w.size(), 1);
          along[1] = c.w[0];
          const ValueId sums =
              g.node(op::ConvInteger, {x.y, g.known(DType::kI8, c.w, 3), x.zero},
                     integer_window(Numbers(c.x.size() - 2, 3), c.group, 1), c.y, DType::kI32);
          const ValueId scales = g.node(op::Mul, {x.scale, g.positive(along)}, {}, along);
          const ValueId scaled = g.node(op::Mul, {g.as_floats(sums, c.y), scales}, {}, c.y);
          g.output(g.node(op::Add, {scaled, g.weights(along)}, {}, c.y));
        },
        "QuantizedConv2d", "Conv2d");
}

namespace {

/// Numbers made of u8 or i8: (f32(bytes) - zero) * scale, the scale and the zero point of each row
/// or one for all, inputs of the graph.
ValueId on_run_time_steps(IntegerBuilder& g, DType dtype, const Dimensions& dims, bool in_rows,
                          bool has_zero) {
  Dimensions one = dims;
  one.back() = 1;
  if (!in_rows) one.clear();
  const ValueId bytes = g.input("x", dims, dtype), scale = g.input("scale", one);
  ValueId numbers = g.as_floats(bytes, dims);
  if (has_zero)
    numbers = g.node(op::Sub, {numbers, g.as_floats(g.input("zero", one, dtype), one)}, {}, dims);
  return g.node(op::Mul, {numbers, scale}, {}, dims);
}
/// i8 [outputs, products] with a scale of each output.
ValueId integer_weights(IntegerBuilder& g, int64_t outputs, int64_t products) {
  return g.node(op::DequantizeLinear,
                {g.known(DType::kI8, {outputs, products}, 3), g.positive({outputs}),
                 g.known(DType::kI8, {outputs}, 0)},
                {{attr::axis, int64_t(0)}}, {outputs, products}, DType::kF32);
}

}  // namespace

TEST_CASE("numbers on steps that the run computes are multiplied as bytes") {
  for (const DType dtype : {DType::kU8, DType::kI8})
    for (const bool in_rows : {false, true})
      for (const bool has_zero : {false, true})
        check_product(
            [=](IntegerBuilder& g) {
              const ValueId x = on_run_time_steps(g, dtype, {3, 8}, in_rows, has_zero);
              g.output(g.node(op::Gemm, {x, integer_weights(g, 5, 8), g.weights({5})},
                              {{attr::transA, int64_t(0)},
                               {attr::transB, int64_t(1)},
                               {attr::alpha, 1.0},
                               {attr::beta, 1.0}},
                              {3, 5}));
            },
            "QuantizedLinear", "QuantizedLinear");
}
TEST_CASE("scales along columns leave a product in floating point") {
  IntegerBuilder g;
  const ValueId bytes = g.input("x", {3, 8}, DType::kU8), scale = g.input("scale", {1, 8});
  const ValueId x = g.node(op::Mul, {g.as_floats(bytes, {3, 8}), scale}, {}, {3, 8});
  g.output(g.node(op::Gemm, {x, integer_weights(g, 5, 8)},
                  {{attr::transA, int64_t(0)},
                   {attr::transB, int64_t(1)},
                   {attr::alpha, 1.0},
                   {attr::beta, 1.0}},
                  {3, 5}));
  double worst = 1;
  convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst <= kRounding);
  CHECK(g.count("QuantizedLinear") == 0);
}
