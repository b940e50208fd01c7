// SPDX-License-Identifier: Apache-2.0
// tests/cuda/one_instruction.h - one instruction on the CPU, by the oracle and on a GPU in a
// precision below exact: in the emulator, or through the driver, as the program is linked.
#pragma once
#include <string>
#include <vector>

#include "runtime/device/gpu/kernel_set.h"
#include "tests/conformance/runner.h"
#include "tools/diagnose/golden/tolerance.h"

namespace ingot::conformance {

struct Work {
  OpCode op;
  const void* attributes;
  std::vector<Tensor> inputs;
  Tensor output;
  bool any_row = false;   // else on_gpu() wants one of tensor cores
  bool counters = false;  // as many as a program has
};

/// Weights as a session gives them to products in f16, wherever takes_f16_weights() says so.
void pack_f16_weights(Work* w);
/// The tensor in another type of floats, rounded.
Tensor with_type(const Tensor& t, DType dtype);

/// Operands, a bit each, inputs before the output, as f16.
Work with_f16(const Work& w, uint64_t operands);
/// Which operands the row of a GPU takes as f16 in fp16, of the types that they have now.
uint64_t f16_operands_of(const Work& w, const GpuTraits& traits);

/// What is asked of a GPU's row: `views` and `y` must outlive it.
OpArguments arguments_of(const Work& w, const std::vector<TensorView>& views, const TensorView& y);
std::vector<TensorView> views_of(const std::vector<Tensor>& tensors);

/// By a table of kernels of the CPU: "scalar", or "oracle", which computes in double.
Tensor on_cpu(const Work& w, const char* table = "scalar");

struct Run {
  Tensor y;
  std::vector<std::string> kernels;  // in the order of their launches
  uint32_t splits = 1;
  int variants = 1;                         // variants that there are
  uint64_t early_copies = 0;                // before the launches in front were waited for
  uint32_t shared_limit = 48 << 10;         // of a block
  Status status;                            // of the plan, or kBadIndexValue where a kernel said so
  bool ran(const std::string& name) const;  // a kernel whose name has this
};

/// Checks the guards around every operand and scratch, that the row is one of tensor cores, and in
/// the emulator that no access to shared memory conflicted. `order`: of the emulator's threads.
/// `variant`: which of the row's variants; -1: unasked.
Run on_gpu(const Work& w, GpuPrecision precision, uint32_t order, const GpuTraits& traits,
           int variant = -1);

/// Whether a row of tensor cores takes it.
bool is_tensorcore_row(const Work& w, int sm, GpuPrecision precision);

void check_close(const Tensor& got, const Tensor& want, check::Tolerance tolerance);

}  // namespace ingot::conformance
