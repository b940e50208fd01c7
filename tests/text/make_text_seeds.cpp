// SPDX-License-Identifier: Apache-2.0
// Writes the small parts of the tests as seeds of tests/fuzz/fuzz_text.cpp:
//   make_text_seeds tests/fuzz/seeds/fuzz_text
#include <cstdio>

#include "tests/text/small_vocabularies.h"
#include "tools/files/output_file.h"

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: make_text_seeds FOLDER\n"), 1;
  const char* names[] = {"ranked", "scored", "unigram", "words"};
  size_t i = 0;
  for (const std::vector<uint8_t>& part : ingot::test::small_parts()) {
    ingot::host::OutputFile out(std::string(argv[1]) + "/" + names[i++]);
    out.write(part.data(), part.size());
    out.commit();
  }
  return 0;
}
