// runtime/device/gpu/f16_activations.h - activations that a GPU keeps as f16 in programs converted
// with --precision fp16: half the bytes that kernels move. The file and its plan say f32: a value
// keeps its place in the arena and takes the first half of it, and so does everything that lives
// inside of it. Which values those are follows from the kernels of their writers and readers, for
// one binding of the dimensions.
// Owns     nothing.
// Calls    the rows of the kernel set. No allocation, no state: any thread.
#pragma once
#include "runtime/device/gpu/kernel_set.h"
#include "runtime/format/program.h"

namespace ingot {

/// A program, all of it on one GPU, without control flow.
struct F16Program {
  const GpuKernelSet* set = nullptr;
  GpuTraits traits;
  Span<const InstructionDef> instructions;
  Span<const ValueDef> values;
  /// Operands of an instruction with their addresses, f32 where the file says so. What it gives
  /// stays until the next call.
  OpArguments (*arguments)(void* user, uint32_t instruction) = nullptr;
  void* user = nullptr;
};

/// By value: where the storage begins whose elements are f16; 0: as the file says. Ports, states
/// and constants are as the file says, and so is what shares bytes with them; all is as the file
/// says where 64 passes over the instructions do not settle it.
void choose_f16_activations(const F16Program& program, uint64_t* storage);

/// The operands of an instruction as kernels see them. `storage` null: as they are.
class F16Arguments {
 public:
  F16Arguments(const OpArguments& arguments, const InstructionDef& instruction,
               Span<const ValueDef> values, const uint64_t* storage);
  F16Arguments(const F16Arguments&) = delete;
  F16Arguments& operator=(const F16Arguments&) = delete;
  const OpArguments& get() const { return arguments_; }

  static constexpr uint32_t kMaxOperands = 64;  // instructions with more keep f32

 private:
  OpArguments arguments_;
  TensorView operands_[kMaxOperands];
};

}  // namespace ingot
