// SPDX-License-Identifier: Apache-2.0
// Any bytes as a saved conversation, given to a generator: refused by name or restored, and never
// half: after a refusal it is what it was. What was restored answers. The first byte says whether
// the hash at the end is made right, so that what lies before it is reached.
#include <cstdlib>

#include "ingot/text.hpp"
#include "runtime/base/sha256.h"
#include "runtime/format/state_file.h"
#include "tests/generate/small_chat_model.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Chat {
  FileBytes bytes{chat_model()};
  Model model = open_bytes_or_fail(bytes);
  Session session;
  Text text = *Text::open(model);
  Generator generator;
  std::vector<uint8_t> saved;
  Chat() {
    const ingot_binding one = {"T", 1};
    ingot_session_options options = with_threads(1, INGOT_REBINDABLE);
    options.bindings = &one;
    options.binding_count = 1;
    session = *model.session(options);
    generator = *Generator::create(session, &text);
    answer({4, 6, 7, 5});
    saved = *generator.save();
  }
  void answer(const std::vector<int32_t>& prompt) {
    ingot_answer_options options = answer_options();
    options.tokens = 2;
    if (!generator.begin(prompt, options).ok()) abort();
    (void)generator.next();  // of caches with NaN there may be no token
  }
};

/// As the model's own: the program's hash, and that of all bytes.
void mend(const std::vector<uint8_t>& sound, std::vector<uint8_t>* bytes) {
  constexpr size_t kHead = 16;  // magic, tokens; behind them the ids, to a multiple of 16
  if (bytes->size() < kHead) return;
  uint64_t tokens = 0;
  std::memcpy(&tokens, bytes->data() + 8, sizeof tokens);
  if (tokens > bytes->size()) return;
  const uint64_t at = (kHead + 4 * tokens + 15) / 16 * 16;
  if (bytes->size() < at + kStateHeaderBytes + kSha256Bytes) return;
  uint64_t own = 0;
  std::memcpy(&own, sound.data() + 8, sizeof own);
  const uint64_t own_at = (kHead + 4 * own + 15) / 16 * 16;
  std::memcpy(bytes->data() + at + 32, sound.data() + own_at + 32, kSha256Bytes);
  sha256(bytes->data() + at, bytes->size() - at - kSha256Bytes,
         bytes->data() + bytes->size() - kSha256Bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Chat* chat = new Chat;
  if (size < 1) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  // A whole file is long: short inputs change one that is sound.
  if (data[0] & 2) {
    bytes = chat->saved;
    for (size_t i = 1; i + 3 <= size; i += 3)
      bytes[(data[i] | size_t(data[i + 1]) << 8) % bytes.size()] = data[i + 2];
  }
  if (data[0] & 1) mend(chat->saved, &bytes);
  if (!chat->generator.restore(chat->saved.data(), chat->saved.size()).ok()) abort();
  if (chat->generator.restore(bytes.data(), bytes.size()).ok())
    chat->answer({4, 6, 8});
  else if (*chat->generator.save() != chat->saved)
    abort();
  return 0;
}
