// SPDX-License-Identifier: Apache-2.0
// replay [--mutants N] FILE.. - a fuzz target without a fuzzer: each file, and N (200) copies of it
// with bytes changed, cut off or made to strange numbers, always the same ones. For processors and
// sanitizers that libFuzzer is not built for (narrow.sh).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "runtime/op/custom.h"

namespace ingot {
// Nobody hands in operators here.
extern const CustomRules kHandedInOperators;
const CustomRules kHandedInOperators = {};
}  // namespace ingot

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

void try_bytes(const Bytes& bytes) {
  // memory of exactly that size
  uint8_t* const copy = static_cast<uint8_t*>(malloc(bytes.size() ? bytes.size() : 1));
  if (!bytes.empty()) memcpy(copy, bytes.data(), bytes.size());
  LLVMFuzzerTestOneInput(copy, bytes.size());
  free(copy);
}

void damage(Bytes* bytes, std::mt19937* random) {
  static const uint64_t kStrange[] = {0,
                                      1,
                                      0x7f,
                                      0x80,
                                      0xff,
                                      0x7fff,
                                      0xffff,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0xffffffffffffffff};
  if ((*random)() % 16 == 0) bytes->resize((*random)() % (bytes->size() + 1));
  for (unsigned i = 0; i <= (*random)() % 3 && !bytes->empty(); i++) {
    const size_t at = (*random)() % bytes->size();
    if ((*random)() % 2) {
      (*bytes)[at] = uint8_t((*random)());
      continue;
    }
    const uint64_t number = kStrange[(*random)() % (sizeof kStrange / sizeof kStrange[0])];
    const size_t width = size_t(1) << ((*random)() % 4), begin = at / width * width;
    for (size_t k = 0; k < width && begin + k < bytes->size(); k++)
      (*bytes)[begin + k] = uint8_t(number >> (8 * k));
  }
}

}  // namespace

int main(int argc, char** argv) {
  unsigned mutants = 200;
  uint64_t tried = 0;
  for (int i = 1; i < argc; i++) {
    if (std::string(argv[i]) == "--mutants" && i + 1 < argc) {
      mutants = unsigned(atoi(argv[++i]));
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    const Bytes whole(std::istreambuf_iterator<char>(file), {});
    try_bytes(whole);
    std::mt19937 random(1);
    for (unsigned k = 0; k < mutants; k++, tried++) {
      Bytes changed = whole;
      damage(&changed, &random);
      try_bytes(changed);
    }
  }
  printf("%llu mutants\n", static_cast<unsigned long long>(tried));
  return tried ? 0 : 1;
}
