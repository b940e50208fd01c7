// tools/diagnose/program/kernel_gate.h - the naive kernels, of which only some of the instructions
// of a run are wanted: the others return at once, and what they would have written comes from
// elsewhere. One at a time, one thread.
#pragma once
#include <vector>

#include "runtime/include/ingot/ingot.h"
#include "runtime/op/contract.h"

namespace ingot::cli {

class KernelGate {
 public:
  /// `wanted` by the order in which the instructions run.
  KernelGate(const ingot_kernel_table* kernels, std::vector<bool> wanted);
  KernelGate(const KernelGate&) = delete;
  KernelGate& operator=(const KernelGate&) = delete;
  const ingot_kernel_table* table() const {
    return reinterpret_cast<const ingot_kernel_table*>(&table_);
  }

 private:
  std::vector<KernelEntry> rows_;
  KernelTable table_{};
};

}  // namespace ingot::cli
