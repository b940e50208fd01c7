// SPDX-License-Identifier: Apache-2.0
// tools/cli/commands/bench_generation.h - ingot bench of a language model.
#pragma once
#include <string>

#include "tools/session/engine.h"

namespace ingot::cli {

struct GenerationBench {
  std::string file;
  int64_t prompt = 512, generate = 64;
  double seconds = 2;
  bool json = false;
  OpenSettings open;
  SessionSettings session;
};
/// Prints tokens a second of prompts and of generated tokens. @throws Failure
int bench_generation(const GenerationBench& bench);

}  // namespace ingot::cli
