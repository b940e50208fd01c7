// SPDX-License-Identifier: Apache-2.0
// tests/import/onnx/wire_test.cpp - every encoding of a tensor gives the same constant.
#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

#include "tests/support/onnx_writer.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/onnx/tensor.h"

using namespace ingot;
using namespace ingot::test;
using Numbers = std::vector<double>;

namespace {

graph::Constant read(const Proto& tensor) {
  const std::string bytes = Proto().varint(1, 8).message(7, Proto().message(5, tensor)).bytes;
  const onnx::Model model = onnx::parse_model(bytes, "test");
  return onnx::read_tensor(model.graph.initializers.at(0), "t", nullptr);
}
Proto head(int type, int64_t count) {
  return Proto().packed_varints(1, {count}).varint(2, uint64_t(type));
}

}  // namespace

TEST_CASE("tensor: raw, packed and loose fields of every type") {
  struct Case {
    const char* name;
    Proto tensor;
    DType dtype;
    Numbers values;
  };
  const Case cases[] = {
      {"f32 raw", head(1, 2).packed(9, std::vector<float>{1.5f, -2}), DType::kF32, {1.5, -2}},
      {"f32 packed", head(1, 2).packed(4, std::vector<float>{1.5f, -2}), DType::kF32, {1.5, -2}},
      {"f32 loose", head(1, 2).number(4, 1.5f).number(4, -2), DType::kF32, {1.5, -2}},
      {"f64 packed", head(11, 1).packed(10, std::vector<double>{0.1}), DType::kF64, {0.1}},
      {"i64 packed",
       head(7, 2).packed_varints(7, {-1, int64_t(1) << 40}),
       DType::kI64,
       {-1, 1099511627776.0}},
      {"i64 loose", head(7, 2).varint(7, uint64_t(-1)).varint(7, 5), DType::kI64, {-1, 5}},
      {"i32 packed", head(6, 2).packed_varints(5, {-7, 9}), DType::kI32, {-7, 9}},
      {"i8 in int32_data", head(3, 2).packed_varints(5, {-128, 127}), DType::kI8, {-128, 127}},
      {"u8 raw", head(2, 2).text(9, std::string("\x00\xff", 2)), DType::kU8, {0, 255}},
      {"bool in int32_data", head(9, 2).packed_varints(5, {0, 1}), DType::kBool, {0, 1}},
      {"bool raw, any byte but 0 is true",
       head(9, 2).text(9, std::string("\x00\x07", 2)),
       DType::kBool,
       {0, 1}},
      {"f16 in int32_data", head(10, 2).packed_varints(5, {0x3c00, 0xc000}), DType::kF16, {1, -2}},
      {"bf16 raw", head(16, 1).text(9, std::string("\x80\x3f", 2)), DType::kBF16, {1}},
      {"u64",
       head(13, 1).packed_varints(11, {int64_t(1) << 62}),
       DType::kU64,
       {4611686018427387904.0}},
      {"u32 in uint64_data",
       head(12, 1).packed_varints(11, {4000000000}),
       DType::kU32,
       {4000000000.0}},
      {"i16", head(5, 1).packed_varints(5, {-300}), DType::kI16, {-300}},
      {"u16", head(4, 1).packed_varints(5, {65535}), DType::kU16, {65535}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const graph::Constant made = read(c.tensor);
    CHECK(made.dtype == c.dtype);
    CHECK(graph::read_numbers(made) == c.values);
  }
}

TEST_CASE("tensor: sizes that disagree are refused before anything is allocated") {
  struct Case {
    const char* name;
    Proto tensor;
  };
  const Case cases[] = {
      {"raw data is short", head(1, 2).text(9, "1234")},
      {"raw data is long", head(1, 1).text(9, "12345678")},
      {"no data at all", head(1, 1)},
      {"packed field is short", head(1, 3).packed(4, std::vector<float>{1, 2})},
      {"a negative dimension", head(1, -2).text(9, "1234")},
      {"dims overflow", Proto()
                            .packed_varints(1, {int64_t(1) << 40, int64_t(1) << 40})
                            .varint(2, 1)
                            .text(9, "1234")},
      {"a terabyte", head(1, int64_t(1) << 40).text(9, "1234")}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    try {
      read(c.tensor);
      FAIL("nothing was thrown");
    } catch (const graph::ConversionError& error) {
      CHECK(error.exit_code == 2);
    }
  }
}

TEST_CASE("tensor: types that no tensor of ours has are named") {
  for (const auto& row :
       {std::pair{8, "STRING"}, {14, "COMPLEX64"}, {15, "COMPLEX128"}, {99, "99"}}) {
    const int type = row.first;
    const char* name = row.second;  // clang 14 captures no structured binding
    CAPTURE(name);
    try {
      read(head(type, 1).text(9, "1"));
      FAIL("nothing was thrown");
    } catch (const onnx::TensorRefused& refused) {
      CHECK(refused.why.find(name) != std::string::npos);
    }
  }
}

TEST_CASE("tensor: what is narrower than our types is widened") {
  const auto raw = [](int type, int64_t count, const std::string& bytes) {
    return read(head(type, count).text(9, bytes));
  };
  constexpr int kE4M3 = 17, kE5M2 = 19, kUint4 = 21, kInt4 = 22, kE2M1 = 23;
  const graph::Constant halves = raw(kInt4, 3, "\x8F\x07");
  REQUIRE(halves.dtype == DType::kI8);
  CHECK(graph::read_integers(halves) == std::vector<int64_t>{-1, -8, 7});
  const graph::Constant plain = raw(kUint4, 3, "\x8F\x07");
  REQUIRE(plain.dtype == DType::kU8);
  CHECK(graph::read_integers(plain) == std::vector<int64_t>{15, 8, 7});
  CHECK(graph::read_numbers(raw(kE4M3, 4, "\x01\x38\xFE\x08")) ==
        std::vector<double>{1.0 / 512, 1, -448, 1.0 / 64});
  CHECK(std::isnan(graph::read_numbers(raw(kE4M3, 1, "\x7F"))[0]));
  CHECK(graph::read_numbers(raw(kE5M2, 2, "\x7B\xFC")) == std::vector<double>{57344, -INFINITY});
  CHECK(graph::read_numbers(raw(kE2M1, 4, "\xF1\x2C")) == std::vector<double>{0.5, -6, -2, 1});
  for (const auto& [type, count, bytes] :
       {std::tuple{kInt4, 4, "\1"}, {kInt4, 3, "\1\2\3"}, {kE4M3, 2, "\1"}})
    CHECK_THROWS_AS(raw(type, count, bytes), graph::ConversionError);
}

TEST_CASE("sparse tensor: linear indices and coordinates, those outside refused") {
  onnx::SparseTensor sparse;
  const std::string values =
      Proto().packed_varints(1, {2}).varint(2, 1).packed(4, std::vector<float>{5, 7}).bytes;
  const auto tensor_of = [](const std::string& bytes) {
    static std::vector<std::string> kept;  // the structs point into it
    kept.push_back(Proto().varint(1, 8).message(7, Proto().text(5, bytes)).bytes);
    return onnx::parse_model(kept.back(), "test").graph.initializers.at(0);
  };
  sparse.values = tensor_of(values);
  sparse.dims = {2, 3};
  const auto indices = [&](const std::vector<int64_t>& dims, const std::vector<int64_t>& at) {
    return tensor_of(Proto().packed_varints(1, dims).varint(2, 7).packed_varints(7, at).bytes);
  };
  sparse.indices = indices({2}, {1, 5});
  CHECK(graph::read_numbers(onnx::read_sparse(sparse, "s", nullptr)) == Numbers{0, 5, 0, 0, 0, 7});
  sparse.indices = indices({2, 2}, {0, 1, 1, 2});
  CHECK(graph::read_numbers(onnx::read_sparse(sparse, "s", nullptr)) == Numbers{0, 5, 0, 0, 0, 7});
  sparse.indices = indices({2}, {1, 6});
  CHECK_THROWS_AS(onnx::read_sparse(sparse, "s", nullptr), graph::ConversionError);
  sparse.dims = {int64_t(1) << 20, int64_t(1) << 20};
  CHECK_THROWS_AS(onnx::read_sparse(sparse, "s", nullptr), onnx::TensorRefused);
}
