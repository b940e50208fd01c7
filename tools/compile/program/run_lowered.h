// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/run_lowered.h - instructions of a program, run as soon as they are lowered:
// no file, no plan, no session; each value has memory of its own.
#pragma once
#include <memory>
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Aligned to 64 bytes, with room behind the end for whole vectors.
class AlignedBytes {
 public:
  explicit AlignedBytes(uint64_t count = 0, uint64_t pattern = 0)
      : words_(count / 8 + 17, pattern), count_(count) {}
  uint8_t* data() {
    auto* const start = reinterpret_cast<uint8_t*>(words_.data());
    return start + (64 - reinterpret_cast<uintptr_t>(start) % 64) % 64;
  }
  Span<uint8_t> span() { return {data(), size_t(count_)}; }

 private:
  std::vector<uint64_t> words_;
  uint64_t count_;
};

/// As a team of one. kNoKernel where the table has none.
Status run_kernel(const KernelTable& table, OpCode op, const OpArguments& arguments);

/// @pre nothing in the program is an alias: what lower() returns.
class LoweredRun {
 public:
  /// `lowered` and `table` must outlive it.
  LoweredRun(const LoweredProgram& lowered, Bindings bindings, const KernelTable& table);
  /// The bytes of a value: those of a constant, else what was written to them last, 0xff at first.
  Span<uint8_t> bytes(int32_t id);
  /// Not an If, not a Loop.
  Status run(const LoweredInstruction& instruction);

 private:
  TensorView view(int32_t id);

  const LoweredProgram& lowered_;
  const Bindings bindings_;
  const KernelTable& table_;
  std::vector<std::unique_ptr<AlignedBytes>> memory_;  // by value, made when it is first asked for
};

}  // namespace ingot::convert
