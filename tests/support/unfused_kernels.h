// SPDX-License-Identifier: Apache-2.0
// tests/support/unfused_kernels.h - what sse2 is compared with, bit for bit: the kernels of one
// lane with products that are rounded before they are added.
#pragma once
#include <string>

#include "runtime/op/contract.h"

namespace ingot::testing {

/// Null where no instruction set of the build rounds twice. Its name is "unfused".
const KernelTable* unfused_kernels();

/// Whether a table's fma() rounds twice, so that its bits are those of unfused_kernels() and not of
/// the scalar ones.
inline bool rounds_twice(const KernelTable& table) {
  const std::string isa = table.isa;
  return isa == "sse2" || isa == "unfused";
}

}  // namespace ingot::testing
