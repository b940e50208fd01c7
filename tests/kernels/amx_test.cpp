// SPDX-License-Identifier: Apache-2.0
// Linux refuses AMX to a process with a signal stack that its tiles do not fit on. A program of its
// own, since what was granted once stays.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"

using namespace ingot;

TEST_CASE("amxbf16: where the system refuses tiles, the next instruction set is taken") {
  std::vector<char> memory(4096);
  stack_t small = {}, before = {};
  small.ss_sp = memory.data(), small.ss_size = memory.size();
  REQUIRE(sigaltstack(&small, &before) == 0);
  const KernelTable *const refused = cpu_kernels("amxbf16"), *const next = cpu_kernels(nullptr);
  REQUIRE(sigaltstack(&before, nullptr) == 0);
  CHECK(refused == nullptr);
  REQUIRE(next != nullptr);
  CHECK(std::strcmp(next->isa, "amxbf16") != 0);
  if (!cpu_kernels("amxbf16"))
    return void(std::printf("[skip] no amxbf16 kernels on this machine\n"));
  CHECK(std::strcmp(cpu_kernels(nullptr)->isa, "amxbf16") == 0);
}
