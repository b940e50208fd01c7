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
};
Span<const Board> boards();
/// @throws Failure kUsage with the names that there are.
const Board& board_named(const std::string& name);

}  // namespace ingot::firmware
