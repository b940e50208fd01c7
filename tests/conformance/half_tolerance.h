// tests/conformance/half_tolerance.h - what kernels that multiply in f16 may differ by.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/conformance/runner.h"

namespace ingot::conformance {

/// Kernels that multiply in f16 agree with each other, and with the oracle by a part of the largest
/// number of a row: well within the 1e-2 that `ingot check` allows of the largest of all.
inline bool is_half(const KernelEntry& kernel) {
  const std::string name = kernel.name;
  return name.size() > 4 && name.compare(name.size() - 4, 4, "_f16") == 0;
}
constexpr double kHalfTolerance = 6e-3;  // of 1 at least: limits may have cut off the rest

inline double half_limit(const Tensor& want, int64_t element) {
  double largest = 1;
  const int64_t length = want.view().row_length(), row = element / length;
  for (int64_t n = row * length; n < (row + 1) * length; n++)
    if (std::isfinite(want.at(n))) largest = std::max(largest, std::fabs(want.at(n)));
  return kHalfTolerance * largest;
}

}  // namespace ingot::conformance
