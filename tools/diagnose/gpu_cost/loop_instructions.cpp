// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/gpu_cost/loop_instructions.h"

#include <cstring>

namespace ingot::gpu_cost {
namespace {

struct Loop {
  const char* kernel;
  double instructions;
};
constexpr Loop kLoops[] = {
#include "tools/diagnose/gpu_cost/loop_instructions.inl"
};

}  // namespace

double loop_instructions(const char* kernel) {
  for (const Loop& loop : kLoops)
    if (!strcmp(loop.kernel, kernel)) return loop.instructions;
  return 0;
}

}  // namespace ingot::gpu_cost
