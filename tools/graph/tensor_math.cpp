// SPDX-License-Identifier: Apache-2.0
// tools/graph/tensor_math.cpp - conversions between element types.
#include "tools/graph/tensor_math.h"

#include <cmath>
#include <cstring>

#include "tools/files/half.h"

namespace ingot::graph {
namespace {

template <class T>
T load(const Constant& constant, int64_t i) {
  T value;
  std::memcpy(&value, constant.bytes->data() + size_t(i) * sizeof(T), sizeof(T));
  return value;
}

/// Nearest multiple of 2^(exponent of value - mantissa bits), not below the subnormal step.
double round_mantissa(double value, int mantissa_bits, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m * 2^exponent, 0.5 <= m < 1
  const int step = std::max(exponent - 1, min_exponent) - mantissa_bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
}

template <class T, class V>
Constant converted(DType dtype, std::vector<int64_t> dims, const std::vector<V>& values) {
  std::vector<T> out(values.size());
  for (size_t i = 0; i < values.size(); i++) out[i] = T(values[i]);
  return make_constant(dtype, std::move(dims), out.data());
}

}  // namespace

bool is_floating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

uint16_t float_to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000u : 0;
  if (std::isnan(value)) return uint16_t(sign | 0x7e00u);
  const double magnitude = std::abs(round_mantissa(value, 10, -14));
  if (magnitude >= 65520.0) return uint16_t(sign | 0x7c00u);
  if (magnitude < std::ldexp(1.0, -14)) return uint16_t(sign | uint16_t(std::ldexp(magnitude, 24)));
  int exponent = 0;
  const double m = std::frexp(magnitude, &exponent);  // [0.5, 1)
  return uint16_t(sign | uint16_t((exponent + 14) << 10) | (uint16_t(std::ldexp(m, 11)) & 1023u));
}
uint16_t float_to_bfloat(double value) {
  const float single = float(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  if (std::isnan(single)) return uint16_t((bits >> 16) | 0x40u);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
double rounded_to(DType dtype, double value) {
  if (dtype == DType::kF32) return double(float(value));
  if (dtype == DType::kF16) return double(host::widen_f16(float_to_half(value)));
  if (dtype == DType::kBF16) return double(host::widen_bf16(float_to_bfloat(value)));
  return value;
}

int64_t read_integer(const Constant& c, int64_t i) {
  switch (c.dtype) {
    case DType::kI64: return load<int64_t>(c, i);
    case DType::kU64: return int64_t(load<uint64_t>(c, i));
    case DType::kI32: return load<int32_t>(c, i);
    case DType::kU32: return load<uint32_t>(c, i);
    case DType::kI16: return load<int16_t>(c, i);
    case DType::kU16: return load<uint16_t>(c, i);
    case DType::kI8: return load<int8_t>(c, i);
    case DType::kU8:
    case DType::kBool: return load<uint8_t>(c, i);
    default: break;
  }
  const double x = read_number(c, i);
  if (std::isnan(x)) return 0;
  if (x >= 9223372036854775807.0) return INT64_MAX;
  return x <= -9223372036854775808.0 ? INT64_MIN : int64_t(x);
}
double read_number(const Constant& c, int64_t i) {
  switch (c.dtype) {
    case DType::kF32: return double(load<float>(c, i));
    case DType::kF64: return load<double>(c, i);
    case DType::kF16: return double(host::widen_f16(load<uint16_t>(c, i)));
    case DType::kBF16: return double(host::widen_bf16(load<uint16_t>(c, i)));
    case DType::kU64: return double(load<uint64_t>(c, i));
    default: return double(read_integer(c, i));
  }
}
std::vector<double> read_numbers(const Constant& c) {
  std::vector<double> out(size_t(c.elements()));
  for (size_t i = 0; i < out.size(); i++) out[i] = read_number(c, int64_t(i));
  return out;
}
std::vector<int64_t> read_integers(const Constant& c) {
  std::vector<int64_t> out(size_t(c.elements()));
  for (size_t i = 0; i < out.size(); i++) out[i] = read_integer(c, int64_t(i));
  return out;
}

namespace {

/// Without what is behind the point; the nearest number that there is, 0 of NaN.
int64_t whole_of(double number) {
  if (std::isnan(number)) return 0;
  if (number >= 0x1p63) return INT64_MAX;
  return number < -0x1p63 ? INT64_MIN : int64_t(number);
}

}  // namespace

Constant make_floating(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  if (!is_floating(dtype)) {
    std::vector<int64_t> whole;
    for (const double value : values) whole.push_back(whole_of(value));
    return make_integer(dtype, std::move(dims), whole);
  }
  if (dtype == DType::kF32) return converted<float>(dtype, std::move(dims), values);
  if (dtype == DType::kF64) return converted<double>(dtype, std::move(dims), values);
  std::vector<uint16_t> bits(values.size());
  for (size_t i = 0; i < values.size(); i++)
    bits[i] = dtype == DType::kF16 ? float_to_half(values[i]) : float_to_bfloat(values[i]);
  return make_constant(dtype, std::move(dims), bits.data());
}
Constant make_integer(DType dtype, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  switch (dtype) {
    case DType::kI64:
    case DType::kU64: return make_constant(dtype, std::move(dims), values.data());
    case DType::kI32: return converted<int32_t>(dtype, std::move(dims), values);
    case DType::kU32: return converted<uint32_t>(dtype, std::move(dims), values);
    case DType::kI16: return converted<int16_t>(dtype, std::move(dims), values);
    case DType::kU16: return converted<uint16_t>(dtype, std::move(dims), values);
    case DType::kI8: return converted<int8_t>(dtype, std::move(dims), values);
    case DType::kU8: return converted<uint8_t>(dtype, std::move(dims), values);
    default: break;
  }
  std::vector<uint8_t> truth(values.size());
  for (size_t i = 0; i < values.size(); i++) truth[i] = values[i] != 0;
  return make_constant(DType::kBool, std::move(dims), truth.data());
}
Constant make_scalar(DType dtype, double value) {
  return is_floating(dtype) ? make_floating(dtype, {}, {value})
                            : make_integer(dtype, {}, {whole_of(value)});
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace ingot::graph
