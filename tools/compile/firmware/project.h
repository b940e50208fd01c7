// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/project.h - a project for one board: models as arrays, their kernels, the
// core's sources, memory map, C start, an example that checks itself, Makefile and CMake.
// Errors   Failure kUnavailable: the board has too little RAM or flash, with both numbers, or
//          the folder cannot be written; kUsage: the folder is there already.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/compile/firmware/answer.h"
#include "tools/compile/firmware/board.h"

namespace ingot::firmware {

/// What the integers of a port stand for: scale * (q - zero_point).
struct PortQuantization {
  std::string port;  // "INPUT_0", "OUTPUT_1"
  double scale = 0;
  int32_t zero_point = 0;
};

struct ProjectModel {
  std::string name;             // of its array: a C identifier
  std::string source, sha256;   // file name and SHA-256 of the model that it was made of
  std::vector<uint8_t> image;   // of flash_image()
  uint32_t arena_bytes = 0;     // of ingot_micro_arena_bytes()
  bool keeps_state = false;     // from run to run, in a part of the arena that no other model has
  uint32_t runs = 1;            // of the example
  std::vector<uint8_t> inputs;  // of these runs, one behind the other
  std::vector<uint8_t> outputs;
  std::optional<ProjectAnswer> answer;  // in the place of the example
  std::vector<std::string> kernels;     // names of rows
  std::vector<PortQuantization> quantization;
};

struct Project {
  const Board* board = nullptr;
  uint32_t stack_bytes = 6144;
  bool has_min_ram = false;  // models are computed in patches where that helps
  std::string version;       // of the tool
  std::vector<ProjectModel> models;
};

/// What the project takes of the board. Flash: arrays as they are, and an allowance for code, which
/// only the compiler knows. Models lie in the board's second flash where the first has no room.
struct ProjectNeeds {
  uint64_t ram_bytes = 0, flash_bytes = 0, model_flash_bytes = 0;
};
ProjectNeeds needs_of(const Project& project);

/// Writes the folder, whole or not at all. @return how many files
size_t write_project(const Project& project, const std::string& folder);

}  // namespace ingot::firmware
