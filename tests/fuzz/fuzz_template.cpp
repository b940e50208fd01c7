// SPDX-License-Identifier: Apache-2.0
// Any text as a chat template: it is refused by name, or becomes a program that is sound and
// renders within its budgets.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/text/small_chats.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static vocabulary::Vocabulary v = test::word_vocabulary();  // the smallest: each run encodes it
  v.chat = chat::chat_template_of({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!v.chat.refused.empty()) return 0;
  const vocabulary::LoadedTokenizer tokenizer = test::loaded(v);  // throws where it is not sound
  static const test::ChatJson kInputs = {
      {"messages", {{{"role", "user"}, {"content", " a<b c \xc3\xa9\n"}}}}, {"x", 3}};
  ErrorDetail detail;
  if (test::render_raw(tokenizer, kInputs, 20000, 1 << 14, 1 << 12, &detail) == Code::kInternal)
    abort();
  return 0;
}
