// SPDX-License-Identifier: Apache-2.0
// branches_gpu.cpp as a program: test_cuda_branches_gpu --replays N
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/hardware/branches_gpu.h"

int main(int argc, char** argv) {
  const int replays = argc == 3 && std::strcmp(argv[1], "--replays") == 0 ? std::atoi(argv[2]) : 0;
  if (replays < 1) return std::fprintf(stderr, "usage: test_cuda_branches_gpu --replays N\n"), 1;
  return ingot::test::run_branches(replays);
}
