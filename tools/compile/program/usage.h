// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/usage.h - who writes and who reads each value of a program, branches and
// bodies included.
#pragma once
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// A place in a program: operand `slot` of instruction `index` of a subprogram.
struct Use {
  uint32_t subprogram = 0, index = 0, slot = 0;
};

struct Usage {
  std::vector<std::vector<Use>> readers, writers;  // by value
  explicit Usage(const LoweredProgram& lowered);
};

/// Position of every instruction in the flat run order (branches behind their condition, then
/// before else), by subprogram and index; the order in which the file's steps are laid out.
struct RunOrder {
  std::vector<std::vector<uint32_t>> position;
  uint32_t length = 0;
  struct LoopSpan {
    uint32_t begin, end;  // positions of a Loop and of the end of its iterations
  };
  std::vector<LoopSpan> loops;  // by begin
  explicit RunOrder(const LoweredProgram& lowered);
  uint32_t at(const Use& use) const { return position[use.subprogram][use.index]; }
  /// Until when an access at position `at` needs a storage that was first used at `since`: what was
  /// there before a loop is needed in each of its iterations.
  uint32_t last_use(uint32_t since, uint32_t at) const;
};

}  // namespace ingot::convert
