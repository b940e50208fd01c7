// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/memory_parts.h - what a session takes, part by part: the same words and numbers
// in every report. The parts of the arena add up to arena_bytes; docs/memory.md says which option
// moves which.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

struct MemoryPart {
  const char* key;  // in JSON
  const char* name;
  uint64_t bytes;
};
/// All, those of 0 bytes too.
std::vector<MemoryPart> arena_parts(const ingot_requirements& need);
/// What lies outside of the arena.
std::vector<MemoryPart> other_parts(const ingot_requirements& need);
/// arena_bytes and every part.
nlohmann::ordered_json memory_json(const ingot_requirements& need);
/// "weights mapped 64,768, activations 31,360": those that take something.
std::string parts_text(const std::vector<MemoryPart>& parts);

/// A session of the CPU with the engine's bindings in an arena of the caller's, weights copied into
/// it: what examples/c/minimal.c makes.
ingot_requirements in_caller_arena(const Engine& engine, int32_t threads);

}  // namespace ingot::cli
