// SPDX-License-Identifier: Apache-2.0
// write_chat_model FILE.ingot [CONTEXT [SLOTS|lookup|embedding]] - the model of small_chat_model.h,
// for programs that take a file; lookup: a run checks tokens; embedding: it gives the vector of a
// text's last token.
#include <cstdlib>

#include "tests/generate/small_chat_model.h"

int main(int argc, char** argv) {
  using namespace ingot;
  if (argc < 2 || argc > 4 || argv[1][0] == '-') return 1;
  const int64_t context = argc > 2 ? std::atoll(argv[2]) : test::kChatContext;
  const std::string what = argc > 3 ? argv[3] : "0";
  test::gguf::Source source = test::chat_source();
  if (what == "embedding") source.metadata["llama.pooling_type"] = test::gguf::whole(3);
  const int32_t slots = std::atoi(what.c_str()), lookup = what == "lookup" ? 7 : 0;
  convert::write_file(test::chat_model(source, context, slots, lookup), argv[1]);
  return 0;
}
