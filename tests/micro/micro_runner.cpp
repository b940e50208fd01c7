// SPDX-License-Identifier: Apache-2.0
// micro_runner.cpp - runs of a file in the whole runtime and in a microcontroller's core, side by
// side; again after a reset.
//
//   micro_runner MODEL.ingot RUNS LOW HIGH      inputs: bytes of [LOW, HIGH], drawn at random
//   prints what it compared, or what differs
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/micro/side_by_side.h"

using namespace ingot::test;

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: micro_runner MODEL RUNS LOW HIGH\n"), 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<uint8_t> file(std::istreambuf_iterator<char>(in), {});
  const int runs = std::atoi(argv[2]), low = std::atoi(argv[3]), high = std::atoi(argv[4]);
  SideBySide both(file);
  if (!both.is_open()) return std::fprintf(stderr, "micro_runner: cannot be opened\n"), 1;
  const std::vector<uint8_t> fresh = both.states();
  for (int pass = 0; pass < 2; pass++) {
    for (int run = 0; run < runs; run++) {
      const auto draw = [&](uint32_t i, void* to, uint64_t bytes) {
        uint32_t seed = uint32_t(run) * 977 + i + 1;
        for (uint64_t k = 0; k < bytes; k++) {
          seed = seed * 1664525 + 1013904223;
          static_cast<uint8_t*>(to)[k] = uint8_t(low + int((seed >> 8) % uint32_t(high - low + 1)));
        }
      };
      const std::string differs = both.run(draw);
      if (!differs.empty()) return std::printf("run %d: %s differs\n", run, differs.c_str()), 1;
    }
    if (both.states() == fresh) return std::printf("no state has changed\n"), 1;
    const std::string differs = both.reset();
    if (!differs.empty() || both.states() != fresh)
      return std::printf("after the reset: %s\n", differs.c_str()), 1;
  }
  std::printf("%d runs, reset, again: outputs and %zu bytes of state are the same\n", runs,
              fresh.size());
  return 0;
}
