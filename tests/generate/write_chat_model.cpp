// SPDX-License-Identifier: Apache-2.0
// write_chat_model FILE.ingot - the model of small_chat_model.h, for programs that take a file.
#include "tests/generate/small_chat_model.h"

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  ingot::convert::write_file(ingot::test::chat_model(), argv[1]);
  return 0;
}
