// SPDX-License-Identifier: Apache-2.0
// tests/conformance/comparison.h - what is wrong with results: against the oracle by tolerance,
// against another table bit for bit.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cpu/oracle/access.h"
#include "tests/conformance/half_tolerance.h"
#include "tests/support/subnormals.h"
#include "tests/support/unfused_kernels.h"

namespace ingot::conformance {

/// Tables whose results are the same bits: 0, 1 of what rounds twice, 2 of what flushes subnormals.
inline int family(const KernelTable& table) {
  return testing::flushes_subnormals(table) ? 2 : testing::rounds_twice(table) ? 1 : 0;
}

/// What is wrong, or empty.
inline std::string bits_fault(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  for (size_t i = 0; i < got.size(); i++) {
    int64_t at = -1;
    if (got[i].same_bits(want[i], &at)) continue;
    return "output " + std::to_string(i) + " element " + std::to_string(at) +
           " differs from one lane on one thread: " + std::to_string(got[i].at(at)) +
           " instead of " + std::to_string(want[i].at(at));
  }
  return "";
}
/// `looser`: what the case's tolerance is multiplied by; 2 where each product is rounded, too.
inline std::string oracle_fault(const Case& test, const std::vector<Tensor>& got,
                                const std::vector<Tensor>& want, double looser,
                                ReducedPrecision precision = ReducedPrecision::kNone) {
  for (size_t i = 0; i < got.size(); i++) {
    if (!got[i].present()) continue;
    for (int64_t n = 0; n < got[i].view().elements(); n++) {
      const double g = got[i].at(n), w = want[i].at(n);
      if (std::isnan(g) && std::isnan(w)) continue;
      if (g == w) continue;
      const double limit = cpu::oracle::is_integer(got[i].view().dtype)
                               ? 0
                               : std::max(half_limit(precision, want[i], n),
                                          looser * (test.tolerance.absolute +
                                                    test.tolerance.relative * std::fabs(w)));
      if (!(std::fabs(g - w) <= limit))
        return "output " + std::to_string(i) + " element " + std::to_string(n) + ": " +
               std::to_string(g) + ", the oracle has " + std::to_string(w);
    }
  }
  return "";
}

/// What is wrong with results against the oracle, and of a table that flushes subnormals against
/// one lane. With subnormals among operands or results it has threads and operands that overlap to
/// agree with itself alone.
inline std::string first_fault(const Case& test, const KernelTable& table,
                               const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                               const std::vector<Tensor>& one_lane,
                               ReducedPrecision precision = ReducedPrecision::kNone) {
  if (!testing::flushes_subnormals(table))
    return oracle_fault(test, got, expected, testing::rounds_twice(table) ? 2 : 1, precision);
  if (testing::any_subnormal(test.inputs) || testing::any_subnormal(one_lane)) return "";
  const std::string fault = oracle_fault(test, got, expected, 1);
  return fault.empty() ? bits_fault(got, one_lane) : fault;
}

}  // namespace ingot::conformance
