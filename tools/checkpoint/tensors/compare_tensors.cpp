// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/compare_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingot::checkpoint {
namespace {

template <class T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A binary float of `exponent` and `mantissa` bits. `no_infinity`: the largest exponent holds
/// numbers, and one NaN.
double decode(uint32_t bits, int exponent, int mantissa, bool no_infinity) {
  const int bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  const double sign = bits >> (exponent + mantissa) & 1 ? -1.0 : 1.0;
  const int e = int(bits >> mantissa) & top;
  const uint32_t m = bits & ((1u << mantissa) - 1);
  if (e == top && !no_infinity) return m ? std::nan("") : sign * INFINITY;
  if (e == top && m == (1u << mantissa) - 1) return std::nan("");
  if (e == 0) return sign * std::ldexp(double(m), 1 - bias - mantissa);
  return sign * std::ldexp(double(m | 1u << mantissa), e - bias - mantissa);
}

double number(const uint8_t* at, ElementType type) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kC64: return load<float>(at);
    case ElementType::kF64:
    case ElementType::kC128: return load<double>(at);
    case ElementType::kF16:
    case ElementType::kC32: return decode(load<uint16_t>(at), 5, 10, false);
    case ElementType::kBf16: return decode(load<uint16_t>(at), 8, 7, false);
    case ElementType::kF8E4M3: return decode(*at, 4, 3, true);
    case ElementType::kF8E5M2: return decode(*at, 5, 2, false);
    case ElementType::kI8: return load<int8_t>(at);
    case ElementType::kU8:
    case ElementType::kBool: return *at;
    case ElementType::kI16: return load<int16_t>(at);
    case ElementType::kU16: return load<uint16_t>(at);
    case ElementType::kI32: return load<int32_t>(at);
    case ElementType::kU32: return load<uint32_t>(at);
    case ElementType::kI64: return double(load<int64_t>(at));
    case ElementType::kU64: return double(load<uint64_t>(at));
  }
  return 0;
}

}  // namespace

std::vector<double> as_numbers(const Tensor& tensor) {
  const std::vector<uint8_t> bytes = tensor_bytes(tensor);
  const size_t width = scalar_bytes(tensor.type);
  std::vector<double> out(bytes.size() / width);
  for (size_t i = 0; i < out.size(); i++) out[i] = number(bytes.data() + i * width, tensor.type);
  return out;
}

Distance distance(const Tensor& a, const Tensor& b) {
  Distance d;
  if (a.type == b.type && tensor_bytes(a) == tensor_bytes(b)) {
    d.same_bits = true;
    return d;
  }
  const std::vector<double> x = as_numbers(a), y = as_numbers(b);
  double relative_sum = 0;
  uint64_t compared = 0;
  for (size_t i = 0; i < x.size() && i < y.size(); i++) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) {
      compared++;
      continue;
    }
    d.differing++;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      d.non_finite++;
      continue;
    }
    const double apart = std::fabs(x[i] - y[i]),
                 relative = apart / std::max(std::fabs(x[i]), std::fabs(y[i]));
    d.largest = std::max(d.largest, apart);
    d.largest_relative = std::max(d.largest_relative, relative);
    relative_sum += relative;
    compared++;
  }
  d.mean_relative = compared ? relative_sum / double(compared) : 0;
  return d;
}

}  // namespace ingot::checkpoint
