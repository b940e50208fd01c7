// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/graph/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "tools/compile/passes/common/editor.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/graph/tensor_math.h"

namespace ingot::compare {
namespace {

double distance(double expected, double found) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return 0;
  const double d = std::fabs(expected - found);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

/// A power-of-two grid with `bits` of fraction: what a shorter float keeps.
double rounded_to_bits(double x, int bits, int least_exponent, double most) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::ldexp(1.0, std::max(exponent - 1, least_exponent) - bits);
  const double y = std::nearbyint(x / step) * step;
  return std::fabs(y) > most ? std::copysign(std::numeric_limits<double>::infinity(), x) : y;
}

template <class T>
void store(const Tensor& from, host::Array* to) {
  for (size_t i = 0; i < from.at.size(); i++) {
    const double x = from.at[i];
    T element;
    if constexpr (std::is_integral_v<T>)
      element = std::isfinite(x) ? T(int64_t(x)) : T(0);
    else
      element = T(x);
    memcpy(to->bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

}  // namespace

double Measure::ratio() const {
  if (!same_dims || !std::isfinite(error)) return 1e9;
  if (error == 0) return 0;
  return allowed > 0 ? std::min(error / allowed, 1e9) : 1e9;
}

double magnitude(const Tensor& t) {
  double most = 0;
  for (const double x : t.at)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

Measure measure(const Tensor& expected, const Tensor& found, DType dtype, const Limits& limits,
                double floor) {
  Measure m;
  m.elements = int64_t(expected.at.size());
  if (expected.dims != found.dims || expected.at.size() != found.at.size()) {
    m.same_dims = m.passed = false;
    m.error = std::numeric_limits<double>::infinity();
    return m;
  }
  m.largest = magnitude(expected);
  check::Tolerance allowed = check::tolerance_of(dtype, limits.winograd, limits.stored);
  const bool is_float = allowed.relative > 0;
  if (limits.rtol || limits.atol) allowed = {limits.rtol.value_or(0), limits.atol.value_or(0), 0};
  m.allowed = allowed.relative * m.largest + allowed.absolute + (is_float ? floor : 0);
  for (size_t i = 0; i < expected.at.size(); i++) {
    const double d = distance(expected.at[i], found.at[i]);
    m.differing += !(d <= m.allowed);
    if (d > m.error || m.worst < 0) {
      m.error = d, m.worst = int64_t(i);
      m.expected = expected.at[i], m.found = found.at[i];
    }
  }
  m.passed = m.differing == 0;
  return m;
}

std::string text(const Measure& m, const std::vector<int64_t>& dims) {
  if (!m.same_dims) return "another shape than " + host::dims_text(dims);
  if (m.elements == 0) return "empty, as expected";
  std::string where;
  int64_t rest = m.worst;
  for (size_t axis = dims.size(); axis-- > 0;) {
    where = std::to_string(dims[axis] ? rest % dims[axis] : 0) + (where.empty() ? "" : ",") + where;
    rest /= std::max<int64_t>(dims[axis], 1);
  }
  char line[320];
  snprintf(line, sizeof line,
           "off by %.3g of %.3g (allowed %.3g) at [%s]: expected %.7g, found %.7g", m.error,
           m.largest, m.allowed, where.c_str(), m.expected, m.found);
  std::string out = line;
  if (!m.passed)
    out += "; " + std::to_string(m.differing) + " of " + std::to_string(m.elements) + " elements";
  return out;
}

Tensor to_tensor(const host::Array& array) {
  Tensor t{array.dims, {}};
  const int64_t n = array.elements();
  t.at.resize(size_t(n));
  for (int64_t i = 0; i < n; i++) t.at[size_t(i)] = check::element_as_double(array, i);
  return t;
}

host::Array to_array(const Tensor& tensor, DType dtype, const std::string& name) {
  host::Array array;
  array.name = name;
  array.dtype = dtype;
  array.dims = tensor.dims;
  array.bytes.resize(tensor.at.size() * size_t(dtype_bytes(dtype)));
  switch (dtype) {
    case DType::kF32: store<float>(tensor, &array); break;
    case DType::kF64: store<double>(tensor, &array); break;
    case DType::kI8: store<int8_t>(tensor, &array); break;
    case DType::kU8:
    case DType::kBool: store<uint8_t>(tensor, &array); break;
    case DType::kI16: store<int16_t>(tensor, &array); break;
    case DType::kU16: store<uint16_t>(tensor, &array); break;
    case DType::kI32: store<int32_t>(tensor, &array); break;
    case DType::kU32: store<uint32_t>(tensor, &array); break;
    case DType::kI64: store<int64_t>(tensor, &array); break;
    case DType::kU64: store<uint64_t>(tensor, &array); break;
    case DType::kF16:
    case DType::kBF16: {
      Tensor bits = tensor;
      for (double& x : bits.at) {
        const float narrow = float(rounded_to_bits(x, 7, -126, 3.4e38));
        uint32_t all;
        memcpy(&all, &narrow, 4);
        x = dtype == DType::kF16 ? double(graph::float_to_half(x)) : double(all >> 16);
      }
      store<uint16_t>(bits, &array);
      break;
    }
    case DType::kInvalid: break;
  }
  return array;
}

void round_to(DType dtype, Tensor* tensor) {
  for (double& x : tensor->at) {
    switch (dtype) {
      case DType::kF32: x = double(float(x)); break;
      case DType::kF16: x = rounded_to_bits(x, 10, -14, 65504); break;
      case DType::kBF16: x = rounded_to_bits(x, 7, -126, 3.4e38); break;
      case DType::kF64: break;
      case DType::kBool: x = double(x != 0); break;
      default: x = std::isfinite(x) ? std::trunc(x) : 0; break;
    }
  }
}

Tensor channels_second(const Tensor& x) {
  const std::vector<int64_t> perm = passes::inverse(passes::to_channels_last(x.dims.size()));
  Tensor y;
  for (const int64_t p : perm) y.dims.push_back(x.dims[size_t(p)]);
  reference::for_each_index(y.dims, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from(at.size());
    for (size_t k = 0; k < at.size(); k++) from[size_t(perm[k])] = at[k];
    y.at.push_back(x.at[size_t(reference::offset_of(x.dims, from))]);
  });
  return y;
}

}  // namespace ingot::compare
