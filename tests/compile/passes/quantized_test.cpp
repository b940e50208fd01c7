// SPDX-License-Identifier: Apache-2.0
// Operators on bytes that stand for numbers: in core form from the importer on, and what passes may
// do around them.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"
#include "tools/compile/passes/pipeline.h"

using namespace ingot;
using namespace ingot::test;
using Numbers = std::vector<int64_t>;

namespace {

template <class T>
ValueId constant_of(GraphBuilder& g, DType dtype, const Dimensions& dims, std::vector<T> values) {
  const ValueId id = g.model.add_constant("k" + std::to_string(g.model.values.size()),
                                          graph::make_constant(dtype, dims, values.data()));
  graph::Value& value = g.model.values[size_t(id)];
  value.dtype = dtype, value.shape_known = true;
  value.dims = graph::Dims(dims.begin(), dims.end());
  return id;
}
/// 255 - x.
ValueId turned_bytes(GraphBuilder& g) {
  std::vector<uint8_t> table(256);
  for (size_t i = 0; i < 256; i++) table[i] = uint8_t(255 - i);
  return constant_of(g, DType::kU8, {256}, table);
}
ValueId bytes_of(GraphBuilder& g, ValueId x, const Dimensions& dims, int64_t zero = 100) {
  return g.node(op::Quantize, {x}, {{attr::scale, 1.0 / 64}, {attr::zero_point, zero}}, dims,
                DType::kU8);
}
ValueId numbers_of(GraphBuilder& g, ValueId x, const Dimensions& dims) {
  return g.node(op::Dequantize, {x}, {{attr::scale, 0.5}, {attr::zero_point, int64_t(90)}}, dims,
                DType::kF32);
}
passes::Attributes turned(Numbers perm) { return {{attr::perm, std::move(perm)}}; }

}  // namespace

TEST_CASE("what works on single bytes works on any order of them") {
  GraphBuilder g;
  const Dimensions nchw = {1, 3, 4, 5}, nhwc = {1, 4, 5, 3};
  const ValueId x = g.node(op::Transpose, {g.input("x", nchw)}, turned({0, 2, 3, 1}), nhwc);
  const ValueId a = bytes_of(g, x, nhwc);
  const ValueId b = g.node(op::Lookup, {a, turned_bytes(g)}, {}, nhwc, DType::kU8);
  const ValueId sum = g.node(op::QuantizedElementwise, {a, b},
                             {{attr::function, std::string("add")},
                              {attr::requant, std::string("float_even")},
                              {attr::a_zero, int64_t(100)},
                              {attr::b_zero, int64_t(155)},
                              {attr::y_zero, int64_t(128)},
                              {attr::a_multiplier, int64_t(1) << 20},
                              {attr::b_multiplier, int64_t(3) << 18},
                              {attr::y_shift, int64_t(20)}},
                             nhwc, DType::kU8);
  g.output(g.node(op::Transpose, {numbers_of(g, sum, nhwc)}, turned({0, 3, 1, 2}), nchw));
  double worst = 1;
  convert_and_compare(g, worst);
  CAPTURE(g.listing());
  CHECK(worst == 0);
  CHECK(g.count("Transpose") == 0);
  CHECK(g.count("QuantizedElementwise") == 1);
}

TEST_CASE("an operand that broadcasts from a lower rank keeps its order") {
  GraphBuilder g;
  const Dimensions nchw = {1, 3, 4, 5}, nhwc = {1, 4, 5, 3};
  const ValueId x = g.node(op::Transpose, {g.input("x", nchw)}, turned({0, 2, 3, 1}), nhwc);
  const ValueId b = constant_of(g, DType::kU8, {3}, std::vector<uint8_t>{1, 100, 255});
  const ValueId product = g.node(op::QuantizedElementwise, {bytes_of(g, x, nhwc), b},
                                 {{attr::function, std::string("mul")},
                                  {attr::requant, std::string("float_even")},
                                  {attr::a_zero, int64_t(100)},
                                  {attr::y_zero, int64_t(128)},
                                  {attr::scale, 0.01}},
                                 nhwc, DType::kU8);
  g.output(g.node(op::Transpose, {numbers_of(g, product, nhwc)}, turned({0, 3, 1, 2}), nchw));
  double worst = 1;
  convert_and_compare(g, worst);
  CHECK(worst == 0);
}

TEST_CASE("products of bytes, pools and signs pass through") {
  GraphBuilder g;
  const ValueId x = bytes_of(g, g.input("x", {1, 6, 6, 2}), {1, 6, 6, 2});
  const ValueId weights = constant_of(g, DType::kI8, {3, 1, 2, 2},
                                      std::vector<int8_t>{1, -2, 3, 4, -5, 6, 7, -8, 9, 1, 2, 3});
  const ValueId bias = constant_of(g, DType::kI32, {3}, std::vector<int32_t>{10, -400, 2000});
  const ValueId by = constant_of(g, DType::kF32, {3}, std::vector<float>{0.05f, 0.1f, 0.02f});
  const ValueId image = g.node(op::QuantizedConv2d, {x, weights, bias, by},
                               {{attr::kernel_w, int64_t(2)},
                                {attr::pad_right, int64_t(1)},
                                {attr::x_zero, int64_t(100)},
                                {attr::y_zero, int64_t(120)},
                                {attr::low, int64_t(20)}},
                               {1, 6, 6, 3}, DType::kU8);
  const ValueId pooled = g.node(op::QuantizedPool2d, {image},
                                {{attr::kind, std::string("average")},
                                 {attr::kernel_h, int64_t(2)},
                                 {attr::kernel_w, int64_t(2)},
                                 {attr::stride_h, int64_t(2)},
                                 {attr::stride_w, int64_t(2)},
                                 {attr::offset, int64_t(128)}},
                                {1, 3, 3, 3}, DType::kU8);
  g.output(g.node(op::OffsetByte, {pooled}, {}, {1, 3, 3, 3}, DType::kI8));
  double worst = 1;
  convert_and_compare(g, worst);
  CHECK(worst == 0);
  CHECK(g.listing() == "Quantize QuantizedConv2d QuantizedPool2d Elementwise ");
}

TEST_CASE("the weights of bytes behind a flattened image are put in its order") {
  GraphBuilder g;
  const ValueId x = bytes_of(g, g.input("x", {2, 2, 3, 2}), {2, 2, 3, 2});
  const ValueId planes = g.node(op::Transpose, {x}, turned({0, 3, 1, 2}), {2, 2, 2, 3}, DType::kU8);
  std::vector<int8_t> rows(36);
  for (size_t i = 0; i < rows.size(); i++) rows[i] = int8_t(7 * i % 41) - 20;
  const ValueId bias = constant_of(g, DType::kI32, {3}, std::vector<int32_t>{10, -400, 2000});
  const ValueId by = constant_of(g, DType::kF32, {3}, std::vector<float>{0.05f, 0.1f, 0.02f});
  g.output(g.node(op::QuantizedLinear,
                  {g.node(op::Reshape, {planes}, {}, {2, 12}, DType::kU8),
                   constant_of(g, DType::kI8, {3, 12}, rows), bias, by},
                  {{attr::x_zero, int64_t(100)}, {attr::y_zero, int64_t(120)}}, {2, 3},
                  DType::kU8));
  double worst = 1;
  convert_and_compare(g, worst);
  CHECK(worst == 0);
  CHECK(g.count("Transpose") == 0);
}

TEST_CASE("core form wants the numbers of a product as constants") {
  GraphBuilder g;
  const ValueId x = bytes_of(g, g.input("x", {2, 4}), {2, 4});
  const ValueId table = bytes_of(g, g.input("t", {256}), {256});
  g.output(g.node(op::Lookup, {x, table}, {}, {2, 4}, DType::kU8));
  CHECK(passes::why_not_core_form(g.model).find("operand 1 is no constant") != std::string::npos);
}
