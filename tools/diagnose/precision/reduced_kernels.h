// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/precision/reduced_kernels.h - a CPU's kernels that round what another device would
// round of a program: in fast and fp16 a GPU operands of products on tensor cores and, in fp16,
// what is f16 in its memory; in bf16 a CPU operands of products of halves. Which these are the
// GPU's own rows and runtime/op/half_products.h say; sums are f32 there and here. Products of a few
// rows are rounded as those of many are, so that a file holds at any batch. Not rounded: weights of
// attention's values and of 8 and 4 bits.
#pragma once
#include <vector>

#include "tools/diagnose/gpu_cost/gpu_operands.h"
#include "tools/diagnose/precision/round.h"
#include "tools/diagnose/program/kernel_hook.h"

namespace ingot::precision {

class ReducedKernels {
 public:
  /// `kernels`, which multiply f32, and `view` must outlive it. `exact`: by step what is not
  /// rounded; empty: all is. @pre view.bound(); in bf16 the program is of that precision; with
  /// `exact` steps are instructions alone
  ReducedKernels(const ingot_kernel_table* kernels, const cli::ProgramView& view,
                 GpuPrecision precision, const std::vector<bool>& exact = {});
  ReducedKernels(const ReducedKernels&) = delete;
  ReducedKernels& operator=(const ReducedKernels&) = delete;

  /// For sessions of one thread, while this lives.
  const ingot_kernel_table* table() const { return hook_.table(); }
  /// Whether every kernel of the table is one of these.
  bool has_all() const { return hook_.has_all(); }
  /// By step what was rounded so far. Steps are counted with `exact` alone.
  const std::vector<bool>& rounded_steps() const { return rounded_steps_; }

 private:
  struct alignas(64) Block {
    char bytes[64];
  };
  using Memory = std::vector<Block>;

  Status call(const KernelEntry& entry, const OpArguments& arguments, const Team& team);
  Status run_rounded(const KernelEntry& entry, const OpArguments& arguments, const Team& team);
  Status run_product(const KernelEntry& entry, const OpArguments& arguments, const Team& team);
  Status run_chain(const OpArguments& arguments, const Team& team);
  TensorView rounded(const TensorView& view, Memory* memory) const;
  bool is_reduced(OpCode op, const OpArguments& arguments) const;
  TensorView times_64(const TensorView& scales);

  const cli::ProgramView& view_;
  const GpuPrecision precision_;
  const GpuTraits traits_;
  const Format format_;
  const KernelTable* const kernels_;
  std::vector<bool> is_f16_;  // by value: in the memory of a GPU; empty: none is
  const std::vector<bool> exact_;
  std::vector<bool> rounded_steps_;
  size_t calls_ = 0, step_ = 0;  // of the run so far; the one that is called
  Memory operands_[3], between_[2], scratch_;
  cli::KernelHook hook_;
};

}  // namespace ingot::precision
