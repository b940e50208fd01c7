// SPDX-License-Identifier: Apache-2.0
// tests/support/subnormals.h - what neon32 is compared with: one lane, bit for bit, but where
// subnormal numbers are among operands or results, which its vectors take for zero.
#pragma once
#include <cfloat>
#include <cmath>
#include <string>

#include "runtime/op/contract.h"

namespace ingot::testing {

inline bool is_subnormal(double v) { return v != 0 && std::fabs(v) < double(FLT_MIN); }

inline bool flushes_subnormals(const KernelTable& table) {
  return std::string(table.isa) == "neon32";
}

/// Whether any element is one. Tensor: at(i) and view().
template <class Tensors>
bool any_subnormal(const Tensors& tensors) {
  for (const auto& t : tensors) {
    if (!t.present()) continue;
    for (int64_t i = 0; i < t.view().elements(); i++)
      if (is_subnormal(t.at(i))) return true;
  }
  return false;
}

}  // namespace ingot::testing
