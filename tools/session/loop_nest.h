// SPDX-License-Identifier: Apache-2.0
// tools/session/loop_nest.h - which loops are around each instruction of a file, and in which of
// their iterations a run is.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace ingot::cli {

class LoopNest {
 public:
  /// @throws Failure, as open_model().
  explicit LoopNest(const std::string& path);

  /// The iteration counters of the loops around an instruction, the outermost first: values of the
  /// file.
  const std::vector<int32_t>& counters(uint32_t instruction) const {
    return counters_[owner_[instruction]];
  }
  /// How many loops are around the instructions of a subprogram.
  size_t depth(uint32_t subprogram) const { return counters_[subprogram].size(); }
  /// The subprogram of an instruction.
  uint32_t owner(uint32_t instruction) const { return owner_[instruction]; }
  /// Whether an instruction runs in a subprogram, or in one that this one calls.
  bool is_inside(uint32_t instruction, uint32_t subprogram) const;
  /// Whether loops write the value before and again in their bodies, so that its name tells no
  /// moment.
  bool is_written_twice(int32_t value) const { return writers_[size_t(value)] > 1; }

 private:
  std::vector<uint32_t> owner_;                 // by instruction: its subprogram
  std::vector<uint32_t> caller_;                // by subprogram; the main program is its own
  std::vector<std::vector<int32_t>> counters_;  // by subprogram
  std::vector<uint32_t> writers_;               // by value: instructions that write it
};

}  // namespace ingot::cli
