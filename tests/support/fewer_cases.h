// SPDX-License-Identifier: Apache-2.0
// tests/support/fewer_cases.h - how many cases a test of very many runs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace ingot::testing {

/// INGOT_ONE_CASE_IN, where something else has all cases (on an emulated processor): one in so many
/// is run. 1: all.
inline size_t one_case_in() {
  const char* said = std::getenv("INGOT_ONE_CASE_IN");
  return said ? std::max<size_t>(1, std::strtoul(said, nullptr, 10)) : 1;
}

}  // namespace ingot::testing
