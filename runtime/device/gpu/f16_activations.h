// SPDX-License-Identifier: Apache-2.0
// runtime/device/gpu/f16_activations.h - activations that a GPU keeps as f16 in programs converted
// with --precision fp16: half the bytes in the arena, half the bytes that kernels move. The file
// says f32; which values are f16 follows from the kernels of their writers and readers, for one
// binding of the dimensions. It is decided before anything has a place, by the alignment that the
// plan promises.
// Owns     nothing.
// Calls    the rows of the kernel set. No allocation, no state: any thread.
#pragma once
#include "runtime/device/device.h"
#include "runtime/device/gpu/kernel_set.h"

namespace ingot {

/// Storage lies at no address below this one: what is less says that the storage is not f16.
constexpr uint64_t kLowestStorage = 4096;

/// By value: `program.storage` where the elements of its storage are f16; 0: as the file says.
/// Ports, states and constants are as the file says, and so is what shares bytes with them; all is
/// as the file says where 64 passes over the instructions do not settle it. An instruction is asked
/// again only when one of its operands has changed. @pre program.storage >= kLowestStorage
void choose_f16_activations(const GpuKernelSet& set, const GpuTraits& traits,
                            const F16Program& program, uint64_t* storage);

/// Half the bytes for what is f16. @pre lifetimes and `storage` are by value
void halve_f16_lifetimes(const uint64_t* storage, Span<Lifetime> lifetimes);

/// The operands of an instruction as kernels see them. `storage` is by value where the storage of
/// f16 elements begins; null: all is as the file says.
class F16Arguments {
 public:
  F16Arguments(const OpArguments& arguments, const InstructionDef& instruction,
               const uint64_t* storage);
  F16Arguments(const F16Arguments&) = delete;
  F16Arguments& operator=(const F16Arguments&) = delete;
  const OpArguments& get() const { return arguments_; }

  static constexpr uint32_t kMaxOperands = 64;  // instructions with more keep f32

 private:
  OpArguments arguments_;
  TensorView operands_[kMaxOperands];
};

/// One operand that is f16 and lies at half its offset in the storage that begins at `begin`.
void make_f16(TensorView* operand, uint64_t begin);

}  // namespace ingot
