// SPDX-License-Identifier: Apache-2.0
// tests/checkpoint/reading_cost.h - what reading a checkpoint costs, in steps of work and bytes of
// memory (tools/files/work_budget.h), and what is reported where it is refused.
#pragma once
#include <fstream>
#include <functional>
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/work_budget.h"

namespace ingot::test {

struct Cost {
  uint64_t steps = 0, bytes = 0, metadata = 0;
  size_t tensors = 0;
  int exit = 0;
  std::string said;
};

inline Cost cost_of(uint64_t size, const std::function<size_t()>& read) {
  Cost cost;
  const host::WorkBudget budget("test", size);
  try {
    cost.tensors = read();
  } catch (const host::Failure& failure) {
    cost.exit = int(failure.exit());
    cost.said = failure.message();
  }
  cost.steps = budget.steps();
  cost.bytes = budget.bytes();
  cost.metadata = budget.metadata();
  return cost;
}
inline Cost cost_of_file(const std::string& bytes, const std::string& ending) {
  const host::TemporaryPath file(ending);
  std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  return cost_of(bytes.size(),
                 [&] { return checkpoint::read_checkpoint(file.path()).tensors.size(); });
}

inline std::string repeated(int n, const std::function<std::string(int)>& each) {
  std::string all;
  for (int i = 0; i < n; i++) all += (i ? "," : "") + each(i);
  return all;
}

}  // namespace ingot::test
