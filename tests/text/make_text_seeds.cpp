// SPDX-License-Identifier: Apache-2.0
// Writes the small parts of the tests as seeds of tests/fuzz/fuzz_text.cpp:
//   make_text_seeds tests/fuzz/seeds/fuzz_text
#include <cstdio>

#include "tests/text/small_chats.h"
#include "tools/files/output_file.h"

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: make_text_seeds FOLDER\n"), 1;
  const char* names[] = {"ranked", "scored", "unigram", "words", "chat"};
  size_t i = 0;
  std::vector<std::vector<uint8_t>> parts = ingot::test::small_parts();
  ingot::vocabulary::Vocabulary chat = ingot::test::byte_vocabulary({});
  chat.chat = ingot::chat::chat_template_of(ingot::test::kAllOfIt, "seed");
  parts.push_back(ingot::vocabulary::encode_text_part(chat, "seed"));
  for (const std::vector<uint8_t>& part : parts) {
    ingot::host::OutputFile out(std::string(argv[1]) + "/" + names[i++]);
    out.write(part.data(), part.size());
    out.commit();
  }
  return 0;
}
