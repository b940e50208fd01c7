// SPDX-License-Identifier: Apache-2.0
// tests/conformance/half_tolerance.h - what kernels that multiply precision may differ by.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/op/reduced_precision.h"
#include "tests/conformance/runner.h"

namespace ingot::conformance {

/// What a kernel multiplies. It agrees with itself for any number of threads, and with the oracle
/// by a part of the largest number of a row: well within the 1e-2 and 3e-2 that `ingot
/// check` allows of the largest of all.
inline ReducedPrecision reduced_precision_of(const KernelEntry& kernel) {
  const std::string name = kernel.name;
  const std::string tail = name.substr(name.rfind('_') + 1);
  return tail == "f16"    ? ReducedPrecision::kF16
         : tail == "bf16" ? ReducedPrecision::kBf16
                          : ReducedPrecision::kNone;
}
// of 1 at least: limits may have cut off the rest
constexpr double kF16Tolerance = 6e-3, kBf16Tolerance = 2e-2;

inline double half_limit(ReducedPrecision precision, const Tensor& want, int64_t element) {
  if (precision == ReducedPrecision::kNone) return 0;
  double largest = 1;
  const int64_t length = want.view().row_length(), row = element / length;
  for (int64_t n = row * length; n < (row + 1) * length; n++)
    if (std::isfinite(want.at(n))) largest = std::max(largest, std::fabs(want.at(n)));
  return (precision == ReducedPrecision::kF16 ? kF16Tolerance : kBf16Tolerance) * largest;
}

}  // namespace ingot::conformance
