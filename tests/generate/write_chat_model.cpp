// SPDX-License-Identifier: Apache-2.0
// write_chat_model FILE.ingot [CONTEXT] - the model of small_chat_model.h, for programs that take a
// file.
#include <cstdlib>

#include "tests/generate/small_chat_model.h"

int main(int argc, char** argv) {
  using namespace ingot;
  if (argc != 2 && argc != 3) return 1;
  const int64_t context = argc == 3 ? std::atoll(argv[2]) : test::kChatContext;
  convert::write_file(test::chat_model(test::chat_source(), context), argv[1]);
  return 0;
}
