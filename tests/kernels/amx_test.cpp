// SPDX-License-Identifier: Apache-2.0
// A process that may use AMX's tiles cannot set signal stacks that they do not fit on, and one that
// has such a stack is refused tiles. A program of its own, since what was granted once stays.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/simd/tiles.h"

using namespace ingot;

TEST_CASE("amxbf16: tiles are asked for where a kernel needs them, and may be refused") {
  if (!cpu_kernels("amxbf16"))
    return void(std::printf("[skip] no amxbf16 kernels on this machine\n"));
  CHECK(std::strcmp(cpu_kernels(nullptr)->isa, "amxint8") == 0);
  std::vector<char> memory(4096);
  stack_t small = {}, before = {};
  small.ss_sp = memory.data(), small.ss_size = memory.size();
  REQUIRE(sigaltstack(&small, &before) == 0);  // looking for kernels has not asked
  CHECK(!cpu::may_use_tiles());
  REQUIRE(sigaltstack(&before, nullptr) == 0);
  CHECK(cpu::may_use_tiles());
  CHECK(sigaltstack(&small, nullptr) != 0);
}
