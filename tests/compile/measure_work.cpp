// SPDX-License-Identifier: Apache-2.0
// tests/compile/measure_work.cpp - prints what sources cost in steps of work and bytes of memory,
// absolute and for each of their bytes: what the limits of tools/files/work_budget.h are derived
// from (docs/robustness.md). Run by hand:
//   measure_work FILE...
#include <cstdio>
#include <exception>
#include <filesystem>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"
#include "tools/files/work_budget.h"

namespace {

void measure(const std::string& path) {
  const uint64_t size = std::filesystem::file_size(path);
  ingot::host::WorkBudget budget(path, size);
  const char* how = "converted";
  try {
    ingot::convert::convert_source(path, {});
  } catch (const ingot::graph::ConversionError&) {
    how = "refused";
  } catch (const ingot::host::Failure&) {
    how = "refused";
  }
  if (budget.steps() < 64) {
    try {
      ingot::checkpoint::read_checkpoint(path, {});
      how = "read";
    } catch (const ingot::host::Failure&) {
    }
  }
  std::printf(
      "%12llu bytes %12llu steps %10.3f a byte %12llu memory %8.3f a byte %12llu metadata  %s %s\n",
      (unsigned long long)size, (unsigned long long)budget.steps(),
      double(budget.steps()) / double(size), (unsigned long long)budget.bytes(),
      double(budget.bytes()) / double(size), (unsigned long long)budget.metadata(), how,
      path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  ingot::host::WorkBudget::set_factor(0);
  for (int i = 1; i < argc; i++) measure(argv[i]);
}
