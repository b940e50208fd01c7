// SPDX-License-Identifier: Apache-2.0
// write_model FILE - a small model for the examples: y = x + bias - relu(x), four rows of eight;
// bias is 0 1 2 3 4 5 6 7.
#include <cstdio>

#include "tests/session/session_models.h"

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  ingot::convert::write_file(ingot::test::chain_network(), argv[1]);
  std::printf("%s\n", argv[1]);
  return 0;
}
