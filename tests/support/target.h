// SPDX-License-Identifier: Apache-2.0
// tests/support/target.h - where a runner runs: an instruction set of the CPU, "best", or a device.
#pragma once
#include <ingot/cpu.h>
#include <ingot/ingot.h>

#include <cstdio>
#include <cstring>

namespace ingot::raw {

struct Target {
  // of the CPU; null: this machine has no such instruction set
  const ingot_kernel_table* kernels = nullptr;
  const char* device = "cpu";  // for ingot_session_options, which null leaves the choice
};

/// "scalar", "best", "cuda", "cuda:1"; a device leaves to the best instruction set what it does not
/// take.
inline Target find_target(const char* word) {
  const bool is_device = std::strncmp(word, "cuda", 4) == 0;
  const bool is_best = is_device || std::strcmp(word, "best") == 0;
  const Target target = {ingot_cpu_kernels(is_best ? nullptr : word), is_device ? word : "cpu"};
  if (!target.kernels) std::printf("[skip] no %s kernels on this machine\n", word);
  return target;
}

}  // namespace ingot::raw
