// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/program/kernel_hook.h - a table whose kernels are called through a function: it
// may look at the operands, leave the kernel out, or run another one beside it. One hook at a
// time; the threads of a session call the function together.
#pragma once
#include <functional>
#include <vector>

#include "runtime/include/ingot/ingot.h"
#include "runtime/op/contract.h"

namespace ingot::cli {

class KernelHook {
 public:
  /// In the place of entry.run(arguments, team).
  using Call = std::function<Status(const KernelEntry& entry, const OpArguments& arguments,
                                    const Team& team)>;

  /// `kernels` and its fallbacks must outlive the hook, and the hook the sessions of its table.
  /// `as_it_is`: weights of bf16 are given as they lie, which the oracle cannot read; else as f32.
  KernelHook(const ingot_kernel_table* kernels, Call call, bool as_it_is = false);
  KernelHook(const KernelHook&) = delete;
  KernelHook& operator=(const KernelHook&) = delete;
  const ingot_kernel_table* table() const {
    return reinterpret_cast<const ingot_kernel_table*>(&table_);
  }
  /// Whether every kernel of the table is called so; the last of a very long table are not.
  bool has_all() const { return has_all_; }

 private:
  std::vector<KernelEntry> rows_;
  KernelTable table_{};
  bool has_all_ = true;
};

}  // namespace ingot::cli
