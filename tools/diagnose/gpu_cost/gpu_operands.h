// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/gpu_operands.h - a program's operands as a GPU that is not here would
// have them: which weights are packed f16, which activations are f16, at addresses that nothing
// reads, since plans ask for alignment alone.
#pragma once
#include <vector>

#include "runtime/session/packed_f16_weights.h"
#include "tools/diagnose/gpu_cost/gpu_model.h"
#include "tools/session/program_view.h"

namespace ingot::gpu_cost {

constexpr uint64_t kFirstAddress = uint64_t{1} << 40, kArena = kFirstAddress / 4;

class GpuOperands {
 public:
  /// In the program's precision. @pre view.bound(), and it outlives this
  GpuOperands(const cli::ProgramView& view, const GpuModel& gpu);
  GpuOperands(const cli::ProgramView& view, const GpuModel& gpu, GpuPrecision precision);
  GpuOperands(const GpuOperands&) = delete;
  GpuOperands& operator=(const GpuOperands&) = delete;
  /// Of the activations; a session takes the file's places instead where they end no later.
  uint64_t plan_bytes() const { return plan_bytes_; }
  /// By value; null: none.
  const uint64_t* f16_storage() const {
    return f16_storage_.empty() ? nullptr : f16_storage_.data();
  }
  /// Until the next call.
  OpArguments of(const InstructionDef& instruction);

 private:
  void add(int32_t value);
  uint64_t address_of(int32_t value) const;
  void plan();
  const cli::ProgramView& view_;
  std::vector<F16WeightPlace> packed_;
  std::vector<uint64_t> f16_storage_, offsets_;
  uint64_t plan_bytes_ = 0;
  uint64_t unplaced_ = 0;  // where each storage begins while nothing has a place
  std::vector<TensorView> views_;
};

}  // namespace ingot::gpu_cost
