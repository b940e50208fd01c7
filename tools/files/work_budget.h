// SPDX-License-Identifier: Apache-2.0
// tools/files/work_budget.h - how much work and memory one source may cost. Whatever walks a list,
// a graph or an expression on behalf of a file charges here what it walks; a file whose cost is out
// of proportion to its size is refused with one line instead of taking hours. Tests read the
// counter: twice the source may cost a little more than twice the work.
//   WorkBudget budget("model.onnx", bytes_of_source);   // until the end of the scope, in this
//   thread
//   charge_work(list.size());                           // anywhere below
// Threads  each has its own; without a budget charges are counted and nothing is refused.
#pragma once
#include <cstdint>
#include <string>

namespace ingot::host {

/// What is allowed for a source: a floor that any small file stays below, and so much for each of
/// its bytes.
struct WorkLimits {
  static constexpr uint64_t kFloor = uint64_t{1} << 31;  // steps: some ten nanoseconds each
  // generous: a budget against sources out of proportion
  static constexpr uint64_t kPerByte = uint64_t{1} << 12;
  static constexpr uint64_t kFloorBytes = uint64_t{1} << 28;  // memory
  static constexpr uint64_t kBytesPerByte = 64;
  // of it what names and describes: lists, texts, shapes. The rest are elements of weights.
  static constexpr uint64_t kFloorMetadata = uint64_t{1} << 26;
  static constexpr uint64_t kMetadataPerByte = 16;
};

class WorkBudget {
 public:
  /// Inside another one, of a network whose weights come from a second file: the inner one refuses
  /// until it ends. What it counted is added to the outer one, which is not refused for it.
  WorkBudget(std::string what, uint64_t source_bytes);
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  uint64_t steps() const { return steps_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t metadata() const { return metadata_; }  // of the bytes
  /// Factor on what every budget allows from here on: `--limit`. 0: no limit. At first what
  /// INGOT_WORK_LIMIT says, else 1.
  static void set_factor(double factor);

 private:
  friend void charge_work(uint64_t steps);
  friend void charge_memory(uint64_t bytes);
  friend void charge_metadata(uint64_t bytes);
  [[noreturn]] void refuse_steps() const;
  [[noreturn]] void refuse_bytes(uint64_t asked) const;
  [[noreturn]] void refuse_metadata() const;

  const std::string what_;
  const uint64_t source_bytes_;
  uint64_t most_steps_, most_bytes_, most_metadata_;
  uint64_t steps_ = 0, bytes_ = 0, metadata_ = 0;
  WorkBudget* const outer_;
};

/// Counts steps of work. @throws Failure(kUnsupported) when the budget of this thread is spent.
void charge_work(uint64_t steps);
/// Counts bytes that are about to be allocated because a file says so. @throws
/// Failure(kUnavailable), before they are.
void charge_memory(uint64_t bytes);
/// The same for what describes: with the allocator's own bytes, counted by whoever makes it.
void charge_metadata(uint64_t bytes);
/// What a text takes besides its own object.
uint64_t text_memory(uint64_t length);

/// Refuses what needs more memory than the machine has, before any of it is touched. `what` is what
/// needs it. @throws Failure(kUnavailable) with both numbers.
void require_memory(const std::string& what, uint64_t bytes);

}  // namespace ingot::host
