// SPDX-License-Identifier: Apache-2.0
// Any text as a grammar or a JSON schema, and any bytes as a compiled one: refused by one line, or
// an automaton that stays within its limits, whose masks say what it takes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/text/constraint.h"
#include "tests/text/small_vocabularies.h"
#include "tools/files/failure.h"
#include "tools/text/json_schema.h"

using namespace ingot;

namespace {

std::vector<uint8_t> compile(uint8_t kind, const std::string& text) {
  try {
    if (kind % 3 == 0) return grammar::compile_gbnf(text, "fuzz");
    if (kind % 3 == 1) return grammar::compile_schema_text(text, "fuzz");
  } catch (const host::Failure& failure) {
    if (failure.message().find('\n') != std::string::npos) abort();
    return {};
  }
  return {text.begin(), text.end()};
}

const vocabulary::LoadedTokenizer& tokenizer() {
  static const vocabulary::LoadedTokenizer loaded = [] {
    test::Vocabulary v = test::byte_vocabulary({});
    for (const char* piece : {"\",\"", "{\"", "\"}", "abc", "\xc3\xa9", "12", "  "})
      test::add_piece(&v, piece);
    test::add_piece(&v, "<end>", PieceKind::kControl);
    return test::loaded(v);
  }();
  return loaded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::vector<uint8_t> form =
      compile(data[0], {reinterpret_cast<const char*>(data) + 2, size - 2});
  const TokenizerView& t = tokenizer().tables();
  static const uint64_t bytes = text::TokenConstraint::measure(t);
  static const vocabulary::AlignedBytes memory = vocabulary::aligned_bytes(bytes);
  text::TokenConstraint constraint;
  ErrorDetail detail;
  if (!constraint.place(t, {memory.get(), bytes}, &detail).ok()) abort();
  if (!constraint.set({form.data(), form.size()}, &detail).ok()) return 0;
  uint32_t choice = data[1];
  for (int i = 0; i < 16 && !constraint.is_over(); i++) {
    Span<const uint8_t> bits;
    if (!constraint.allowed(false, &bits, &detail).ok()) return 0;
    const uint32_t id = choice % t.count;
    const Status status = constraint.accept(int32_t(id), &detail);
    const bool is_allowed = bits[id / 8] >> (id % 8) & 1;
    if (status.code() != Code::kLimitExceeded && status.ok() != is_allowed) abort();
    choice = choice * 2654435761u + 12345;
    for (uint32_t k = 0; !status.ok() && k < t.count; k++) {
      const uint32_t next = (id + k) % t.count;
      if (!(bits[next / 8] >> (next % 8) & 1)) continue;
      if (!constraint.accept(int32_t(next), &detail).ok()) return 0;
      break;
    }
  }
  return 0;
}
