// SPDX-License-Identifier: Apache-2.0
// tools/session/program_view.h - the program of a file with its dimensions bound, for reports:
// types, lifetimes, the plan. It reads the file through the runtime's own reader and validation,
// beside the public interface, which hides all this.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/format/format.h"
#include "runtime/plan/lifetime.h"

namespace ingot::cli {

class ProgramView {
 public:
  /// @throws Failure, as open_model(). Dimensions that `bindings` leaves open leave bound() false.
  ProgramView(const std::string& path, const std::map<std::string, int64_t>& bindings);
  ~ProgramView();
  ProgramView(const ProgramView&) = delete;
  ProgramView& operator=(const ProgramView&) = delete;

  const ProgramDef& program() const { return program_; }
  /// @pre bound()
  const BoundProgram& bound_program() const { return bound_program_; }
  bool bound() const { return bound_; }
  /// Names of symbols without a number.
  const std::vector<std::string>& open_dims() const { return open_dims_; }
  /// @pre bound()
  TensorType type(int32_t value) const { return value_type(program_, bound_program_, value); }
  uint64_t bytes(int32_t value) const { return bound_program_.value_bytes[value]; }
  const std::vector<Lifetime>& lifetimes() const { return lifetimes_; }
  /// Largest sum of live bytes at one step, and that step.
  uint64_t lower_bound() const { return lower_bound_; }
  uint32_t peak_step() const { return peak_step_; }
  /// Activation bytes of the layout that a session gets: the file's, or the planner's own.
  uint64_t plan_bytes() const { return plan_bytes_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  bool planned_in_file() const { return program_.plan_offsets.size > 0; }

  std::string value_name(int32_t value) const;
  /// Multiply-adds of one instruction; 0 for operators that have none.
  uint64_t multiply_adds(const InstructionDef& instruction) const;
  /// Bytes of its operands and results, each once, weights included. @pre bound()
  uint64_t bytes_moved(const InstructionDef& instruction) const;

 private:
  void bind(const std::string& path, const std::map<std::string, int64_t>& bindings);
  void plan(const std::string& path);
  Source source_{};
  // 8-byte units; the reader asks for 16-byte alignment
  std::vector<uint64_t> image_, block_, binding_;
  FileView file_{};
  ProgramDef program_{};
  BoundProgram bound_program_{};
  bool bound_ = false;
  std::vector<std::string> open_dims_;
  std::vector<Lifetime> lifetimes_;
  std::vector<uint64_t> offsets_;
  uint64_t lower_bound_ = 0, plan_bytes_ = 0;
  uint32_t peak_step_ = 0;
};

/// The type that a file stores weights in where that is smaller than f32; kInvalid where it does
/// not. @throws Failure
DType stored_type(const std::string& path);

}  // namespace ingot::cli
