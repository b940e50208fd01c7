// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/golden/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace ingot;
using check::compare;
using host::Array;

namespace {

template <class T>
Array make(DType dtype, std::vector<int64_t> dims, std::vector<T> values) {
  Array a;
  a.dtype = dtype;
  a.dims = std::move(dims);
  a.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}
Array f32(std::vector<float> v) { return make<float>(DType::kF32, {int64_t(v.size())}, v); }

}  // namespace

TEST_CASE("compare: fp32 is judged against the largest output and the reference's spread") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  struct Case {
    const char* name;
    Array expected, actual;
    double spread;
    bool winograd, passed;
    double error;
  };
  const Case cases[] = {
      {"equal", f32({1, 2}), f32({1, 2}), 0, true, true, 0},
      {"within 1e-4 of the largest", f32({0, 10}), f32({0.0009f, 10}), 0, true, true, 0.0009f},
      {"beyond 5e-5 without Winograd", f32({0, 10}), f32({0.0009f, 10}), 0, false, false, 0.0009f},
      {"beyond 1e-4", f32({0, 10}), f32({0.0011f, 10}), 0, true, false, 0.0011f},
      {"twice the spread is noise", f32({0, 10}), f32({0.0011f, 10}), 0.0001, true, true, 0.0011f},
      {"NaN equals NaN", f32({nan, 1}), f32({nan, 1}), 0, true, true, 0},
      {"NaN is no number", f32({1, 1}), f32({nan, 1}), 0, true, false, double(inf)},
      {"number is no NaN", f32({nan, 1}), f32({1, 1}), 0, true, false, double(inf)},
      {"infinity equals itself", f32({inf, 1}), f32({inf, 1}), 0, true, true, 0},
      {"infinity has a sign", f32({inf, 1}), f32({-inf, 1}), 0, true, false, double(inf)},
      {"empty", f32({}), f32({}), 0, true, true, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    check::CompareOptions options;
    options.spread = c.spread;
    options.winograd = c.winograd;
    const auto got = compare("y", c.expected, c.actual, options);
    CHECK(got.passed == c.passed);
    CHECK((got.largest_error == c.error || got.largest_error == doctest::Approx(c.error)));
    CHECK(!summary(got, c.expected.dims).empty());
  }
}

TEST_CASE("compare: integers are exact, also where a double cannot tell them apart") {
  const int64_t big = int64_t{1} << 60;
  CHECK(compare("y", make<int64_t>(DType::kI64, {1}, {big}), make<int64_t>(DType::kI64, {1}, {big}),
                {})
            .passed);
  const auto off = compare("y", make<int64_t>(DType::kI64, {1}, {big}),
                           make<int64_t>(DType::kI64, {1}, {big + 1}), {});
  CHECK(!off.passed);
  CHECK(off.largest_error == 1);
  CHECK(!compare("y", make<int8_t>(DType::kI8, {1}, {3}), make<int8_t>(DType::kI8, {1}, {4}), {})
             .passed);
}

TEST_CASE("compare: shape and type must be the expected ones") {
  CHECK(compare("y", f32({1, 2}), f32({1}), {}).problem == "expected f32 [2], found f32 [1]");
  CHECK(!compare("y", f32({1}), make<int32_t>(DType::kI32, {1}, {1}), {}).passed);
  CHECK(compare("y", make<double>(DType::kF64, {1}, {1}), f32({1}), {}).passed);
}

TEST_CASE("compare: --rtol and --atol replace the table") {
  check::CompareOptions options;
  options.rtol = 0.1;
  CHECK(compare("y", f32({10}), f32({10.9f}), options).passed);
  options.rtol = 0;
  CHECK(!compare("y", f32({10}), f32({10.0001f}), options).passed);
  options.atol = 0.001;
  CHECK(compare("y", f32({10}), f32({10.0001f}), options).passed);
}

TEST_CASE("compare: every half is read to its exact value") {
  const Array halves = make<uint16_t>(DType::kF16, {5}, {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00});
  CHECK(check::element_as_double(halves, 0) == 1);
  CHECK(check::element_as_double(halves, 1) == -2);
  CHECK(check::element_as_double(halves, 2) == std::ldexp(1.0, -24));
  CHECK(check::element_as_double(halves, 3) == 65504);
  CHECK(std::isinf(check::element_as_double(halves, 4)));
}

TEST_CASE("subsample: takes every n-th element of each axis") {
  std::vector<float> v(20);
  for (int i = 0; i < 20; i++) v[size_t(i)] = float(i);
  const Array out = check::subsample(make<float>(DType::kF32, {4, 5}, v), {2, 3});
  CHECK(out.dims == std::vector<int64_t>{2, 2});
  CHECK(out.as<float>()[0] == 0);
  CHECK(out.as<float>()[1] == 3);
  CHECK(out.as<float>()[2] == 10);
  CHECK(out.as<float>()[3] == 13);
}
