// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/golden/compare.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "tools/files/half.h"

namespace ingot::check {
namespace {

bool comparable(DType expected, DType actual) {
  const auto is = [&](DType a, DType b) {
    return (expected == a && actual == b) || (expected == b && actual == a);
  };
  return expected == actual || is(DType::kF32, DType::kF64) || is(DType::kBool, DType::kU8);
}

bool is_wide_integer(DType t) { return t == DType::kI64 || t == DType::kU64; }

/// Distance of two elements; exact for 64-bit integers, which doubles cannot hold.
double difference(const host::Array& expected, const host::Array& actual, int64_t i, double e,
                  double a) {
  if (expected.dtype == actual.dtype && is_wide_integer(expected.dtype)) {
    const uint64_t x = expected.as<uint64_t>()[i], y = actual.as<uint64_t>()[i];
    if (x == y) return 0;
    const bool less = expected.dtype == DType::kI64 ? int64_t(x) < int64_t(y) : x < y;
    return double(less ? y - x : x - y);
  }
  if (std::isnan(e) && std::isnan(a)) return 0;
  if (e == a) return 0;
  const double d = std::fabs(e - a);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

}  // namespace

double element_as_double(const host::Array& array, int64_t i) {
  switch (array.dtype) {
    case DType::kF32: return double(array.as<float>()[i]);
    case DType::kF64: return array.as<double>()[i];
    case DType::kF16: return double(host::widen_f16(array.as<uint16_t>()[i]));
    case DType::kBF16: return double(host::widen_bf16(array.as<uint16_t>()[i]));
    case DType::kI8: return array.as<int8_t>()[i];
    case DType::kU8:
    case DType::kBool: return array.as<uint8_t>()[i];
    case DType::kI16: return array.as<int16_t>()[i];
    case DType::kU16: return array.as<uint16_t>()[i];
    case DType::kI32: return array.as<int32_t>()[i];
    case DType::kU32: return array.as<uint32_t>()[i];
    case DType::kI64: return double(array.as<int64_t>()[i]);
    case DType::kU64: return double(array.as<uint64_t>()[i]);
    case DType::kInvalid: break;
  }
  return 0;
}

Comparison compare(const std::string& name, const host::Array& expected, const host::Array& actual,
                   const CompareOptions& options) {
  Comparison c;
  c.name = name;
  if (!comparable(expected.dtype, actual.dtype) || expected.dims != actual.dims) {
    c.problem = "expected " + describe(expected) + ", found " + describe(actual);
    c.largest_error = std::numeric_limits<double>::infinity();
    return c;
  }
  c.elements = expected.elements();
  for (int64_t i = 0; i < c.elements; i++) {
    const double e = std::fabs(element_as_double(expected, i));
    if (std::isfinite(e) && e > c.largest_expected) c.largest_expected = e;
  }
  Tolerance allowed = tolerance_of(actual.dtype, options.winograd, options.stored);
  if (options.rtol || options.atol)
    allowed = {options.rtol.value_or(0), options.atol.value_or(0), 0};
  c.allowed =
      allowed.relative * c.largest_expected + allowed.absolute + allowed.spreads * options.spread;
  for (int64_t i = 0; i < c.elements; i++) {
    const double e = element_as_double(expected, i), a = element_as_double(actual, i);
    const double d = difference(expected, actual, i, e, a);
    if (!(d <= c.allowed)) c.differing++;  // a limit that is no number allows nothing
    if (d > c.largest_error || c.worst_index < 0) {
      c.largest_error = d;
      c.worst_index = i;
      c.worst_expected = e;
      c.worst_actual = a;
    }
  }
  c.passed = c.differing == 0;
  return c;
}

std::string summary(const Comparison& c, const std::vector<int64_t>& dims) {
  if (!c.problem.empty()) return c.name + ": " + c.problem;
  if (c.elements == 0) return c.name + ": empty, as expected";
  std::string where;
  int64_t rest = c.worst_index;
  for (size_t axis = dims.size(); axis-- > 0;) {
    where = std::to_string(rest % dims[axis]) + (where.empty() ? "" : ",") + where;
    rest /= dims[axis];
  }
  char text[256];
  snprintf(text, sizeof text,
           ": largest error %.3g of %.3g (allowed %.3g) at [%s], expected %.7g, found %.7g",
           c.largest_error, c.largest_expected, c.allowed, where.c_str(), c.worst_expected,
           c.worst_actual);
  std::string out = c.name + text;
  if (!c.passed)
    out += "; " + std::to_string(c.differing) + " of " + std::to_string(c.elements) +
           " elements differ too much";
  return out;
}

host::Array subsample(const host::Array& array, const std::vector<int64_t>& strides) {
  host::Array out = array;
  const size_t size = size_t(dtype_bytes(array.dtype)), rank = array.dims.size();
  std::vector<int64_t> step(rank, 1), index(rank, 0);
  for (size_t i = 0; i < rank; i++) {
    if (i < strides.size() && strides[i] > 1) step[i] = strides[i];
    out.dims[i] = (array.dims[i] + step[i] - 1) / step[i];
  }
  out.bytes.resize(size_t(out.elements()) * size);
  for (int64_t to = 0; to < out.elements(); to++) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; i++) from = from * array.dims[i] + index[i] * step[i];
    memcpy(out.bytes.data() + size_t(to) * size, array.bytes.data() + size_t(from) * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < out.dims[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace ingot::check
