// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/board.h - the boards that a project can be written for: processor, flash,
// RAM, and the emulator's name of it.
// Owns     constant data.
// Threads  any.
#pragma once
#include <cstdint>
#include <string>

#include "runtime/base/span.h"

namespace ingot::firmware {

struct Board {
  const char* name;
  const char* processor;  // for people
  const char* flags;      // of the compiler
  const char* toolchain;  // its prefix
  const char* emulator;   // command up to -kernel
  uint32_t flash_origin, flash_bytes, ram_origin, ram_bytes;
  // a second flash, for models that the first has no room for; 0: there is none
  uint32_t model_flash_origin = 0, model_flash_bytes = 0;
};
Span<const Board> boards();
/// @throws Failure kUsage with the names that there are.
const Board& board_named(const std::string& name);

/// A board of the caller's: `cpu` as the compiler names it ("cortex-m4"), flash and RAM as "512K"
/// or "512K@0x08000000", else where most microcontrollers have them. No emulator runs it.
/// @throws Failure kUsage
Board custom_board(const std::string& cpu, const std::string& flash, const std::string& ram);
/// "cortex-m0, cortex-m0plus, ...".
std::string processor_names();

}  // namespace ingot::firmware
