// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/dependencies.h - what each instruction of the main program must wait for, and
// which storages it touches.
#pragma once
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// By instruction of the main program. An If stands for all that its branches do.
struct Dependencies {
  // instructions that must have run, ascending, each once
  std::vector<std::vector<uint32_t>> before;
  std::vector<std::vector<int32_t>> touches;  // roots read or written, each once
  // by value: of a root's storage; 0 for constants and aliases
  std::vector<int64_t> root_bytes;
};

/// A reader waits for those writers of its storage, earlier in the present order, whose elements it
/// may read.
Dependencies find_dependencies(const LoweredProgram& lowered, const Bindings& bindings);

}  // namespace ingot::convert
