// SPDX-License-Identifier: Apache-2.0
// tools/cli/tune/tune_session.h - every instruction of a session that has several kernel variants
// on a GPU, measured.
// Errors   Failure as fail_with(): the driver's name of the error; the session is dead then.
#pragma once
#include <functional>
#include <string>

#include "tools/cli/tune/tune_gpu.h"
#include "tools/cli/tune/tune_search.h"
#include "tools/session/engine.h"

namespace ingot::cli {

struct TunedVariant : TimedVariant {
  VariantTimes times;  // nanoseconds of the instruction
};
struct TunedTarget {
  uint32_t instruction = 0;
  std::string op, name;
  std::vector<TunedVariant> variants;  // the model's first
  size_t chosen = 0;
};

std::vector<TunedTarget> find_targets(Engine& engine);

/// Times all of them for about `seconds`, and chooses. `show` is told which one is next. @pre there
/// is a target
void measure_targets(Engine& engine, double seconds, std::vector<TunedTarget>* targets,
                     const std::function<void(size_t)>& show);

}  // namespace ingot::cli
