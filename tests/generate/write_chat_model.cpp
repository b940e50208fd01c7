// SPDX-License-Identifier: Apache-2.0
// write_chat_model FILE.ingot [CONTEXT [SLOTS]] - the model of small_chat_model.h, for programs that
// take a file.
#include <cstdlib>

#include "tests/generate/small_chat_model.h"

int main(int argc, char** argv) {
  using namespace ingot;
  if (argc < 2 || argc > 4) return 1;
  const int64_t context = argc > 2 ? std::atoll(argv[2]) : test::kChatContext,
                slots = argc > 3 ? std::atoll(argv[3]) : 0;
  convert::write_file(test::chat_model(test::chat_source(), context, slots), argv[1]);
  return 0;
}
