// SPDX-License-Identifier: Apache-2.0
// The part of a file with a tokenizer: what a reader refuses, every byte changed, and its place in
// an .ingot file. Text from ids, as they come.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "ingot_schema/text_generated.h"
#include "runtime/text/unicode.h"
#include "tests/text/small_vocabularies.h"
#include "tools/files/failure.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Opened {
  vocabulary::AlignedBytes bytes;
  TokenizerView view;
  ErrorDetail detail;
  Status status;
};

Opened open_part(const std::vector<uint8_t>& part) {
  Opened o{vocabulary::aligned_bytes(part.size()), {}, {}, {}};
  if (!part.empty()) std::memcpy(o.bytes.get(), part.data(), part.size());
  o.status = open_text({o.bytes.get(), part.size()}, &o.view, &o.detail);
  return o;
}

/// Texts through it, and their ids back: every id is one of its pieces.
void use(const TokenizerView& t) {
  for (const std::string text :
       {"abc <|end|> 12 a\xc3\xa9 <tab> b", "unable a! \xe4\xb8\xad\xff", "[CLS]ab ab  ab", ""}) {
    text::EncodeNeed need;
    ErrorDetail detail;
    text::EncodeOptions options;
    options.parse_special = true;
    REQUIRE(text::measure_encode(t, text.size(), &need, &detail).ok());
    const vocabulary::AlignedBytes memory = vocabulary::aligned_bytes(need.memory_bytes);
    std::vector<int32_t> ids(need.ids);
    size_t count = 0;
    const Status status =
        text::encode(t, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, options,
                     {memory.get(), need.memory_bytes}, {ids.data(), ids.size()}, &count, &detail);
    if (!status.ok()) {
      CHECK(status.code() == Code::kNotFound);
      continue;
    }
    text::Decoder decoder(true);
    std::vector<uint8_t> out(text::Decoder::kMaxBytes);
    for (size_t i = 0; i < count; i++) {
      REQUIRE((ids[i] >= 0 && uint32_t(ids[i]) < t.count));
      REQUIRE(decoder.put(t, ids[i], out.data()) <= out.size());
    }
    REQUIRE(decoder.finish(out.data()) <= 12);
  }
}

bool is_utf8(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count;) {
    const text::Char c = text::char_at(bytes + i, count - i);
    if (c.bytes == 1 && bytes[i] >= 0x80) return false;
    i += c.bytes;
  }
  return true;
}

}  // namespace

TEST_CASE("text part: every byte changed in turn is refused, or is a tokenizer within its bounds") {
  size_t refused = 0, taken = 0;
  for (const std::vector<uint8_t>& sound : small_parts()) {
    REQUIRE(open_part(sound).status.ok());
    for (size_t at = 0; at < sound.size(); at++)
      for (const uint8_t change : {0x01, 0x80, 0xff}) {
        std::vector<uint8_t> part = sound;
        part[at] ^= change;
        const Opened o = open_part(part);
        if (o.status.ok()) use(o.view);
        (o.status.ok() ? taken : refused)++;
      }
    for (size_t size = 0; size < sound.size(); size += 1 + size / 64)
      CHECK_FALSE(open_part({sound.begin(), sound.begin() + std::ptrdiff_t(size)}).status.ok());
  }
  CHECK(refused > 1000);
  CHECK(taken > 100);
}

TEST_CASE("text part: what contradicts itself is refused by its field") {
  const auto mutable_part = [](Vocabulary v) { return vocabulary::encode_text_part(v, "test"); };
  const Vocabulary ranked = [] {
    Vocabulary v = byte_vocabulary({{"a", "b"}, {"a", "c"}, {"ab", "c"}}, {TextStage::kGpt2});
    v.whole_pieces = true;
    add_piece(&v, "<m>", PieceKind::kAdded);
    v.prefix = {0};
    return v;
  }();
  using Tables = fb::Tokenizer;
  const auto at = [](const auto* vector, size_t i) {
    using T = std::remove_const_t<std::remove_reference_t<decltype(*vector->Data())>>;
    return const_cast<T*>(vector->Data()) + i;
  };
  struct Case {
    const char* field;
    void (*change)(const Tables&, uint8_t* part);
  };
  const auto refuse = [&](const Vocabulary& v, const char* field, auto change) {
    std::vector<uint8_t> part = mutable_part(v);
    const Opened sound = open_part(part);
    change(*fb::GetText(sound.bytes.get())->tokenizer());
    TokenizerView view;
    ErrorDetail detail;
    const Status status = open_text({sound.bytes.get(), part.size()}, &view, &detail);
    CAPTURE(field);
    CHECK(status.code() == Code::kMeaningInvalid);
    CHECK(std::string(detail.field).find(field) != std::string::npos);
  };
  const auto put32 = [](const uint8_t* data, size_t i, uint32_t value) {
    std::memcpy(const_cast<uint8_t*>(data) + 4 * i, &value, 4);
  };
  refuse(ranked, "piece_starts",
         [&](const Tables& t) { put32(t.piece_starts()->Data(), 1, 9999); });
  refuse(ranked, "piece_kinds", [&](const Tables& t) { *at(t.piece_kinds(), 3) = 7; });
  refuse(ranked, "takes spaces", [&](const Tables& t) { *at(t.piece_kinds(), 3) = 17; });
  refuse(ranked, "merge_first", [&](const Tables& t) { put32(t.merge_first()->Data(), 5, 99); });
  refuse(ranked, "merges[]: pieces", [&](const Tables& t) { put32(t.merges()->Data(), 2, 999); });
  refuse(ranked, "merges[].right ascends",
         [&](const Tables& t) { put32(t.merges()->Data(), 3, 'b'); });
  refuse(ranked, "merges[].piece is its left",
         [&](const Tables& t) { put32(t.merges()->Data(), 2, 257); });
  refuse(ranked, "byte_pieces[]: a piece of that byte",
         [&](const Tables& t) { put32(t.byte_pieces()->Data(), 7, 8); });
  refuse(ranked, "trie.first", [&](const Tables& t) { put32(t.pieces()->first()->Data(), 1, 1); });
  refuse(ranked, "trie.label", [&](const Tables& t) { *at(t.pieces()->label(), 9) = 0; });
  refuse(ranked, "trie.piece is a piece",
         [&](const Tables& t) { put32(t.pieces()->piece()->Data(), 9, 99999); });
  refuse(ranked, "pieces: of text",
         [&](const Tables& t) { put32(t.pieces()->piece()->Data(), 9, 9); });
  refuse(ranked, "added: added tokens", [&](const Tables& t) { *at(t.added()->label(), 1) = 'x'; });
  refuse(ranked, "prefix[]", [&](const Tables& t) { put32(t.prefix()->Data(), 0, 99999); });
  const Vocabulary unigram = scored_vocabulary({{" ", -1.}, {"a", -2.}}, TextModel::kUnigram);
  refuse(unigram, "scores[]", [&](const Tables& t) { put32(t.scores()->Data(), 3, 0x7ff80000); });
  Vocabulary replaced = unigram;
  replaced.replacements.rules = {{"a", std::string(64, 'b')}, {"bc", ""}};
  refuse(replaced, "replacements.starts ascend",
         [&](const Tables& t) { put32(t.replacements()->starts()->Data(), 1, 65); });
  refuse(replaced, "trie.piece is a piece",
         [&](const Tables& t) { put32(t.replacements()->keys()->piece()->Data(), 1, 2); });
  refuse(replaced, "trie.piece of the root",
         [&](const Tables& t) { put32(t.replacements()->keys()->piece()->Data(), 0, 1); });
  replaced.replacements.rules[0].to += 'b';
  CHECK_THROWS_AS((void)vocabulary::encode_text_part(replaced, "test"), host::Failure);
}

TEST_CASE("decode: a character is given once all of its bytes are there") {
  const LoadedTokenizer t = loaded(byte_vocabulary({{"\xe4", "\xb8"}}));
  text::Decoder decoder;
  std::vector<uint8_t> out(text::Decoder::kMaxBytes);
  const auto put = [&](int32_t id) {
    return std::string(reinterpret_cast<char*>(out.data()),
                       decoder.put(t.tables(), id, out.data()));
  };
  CHECK(put(256).empty());
  CHECK(put(0xad) == "\xe4\xb8\xad");
  CHECK(put(0xf0).empty());
  CHECK(put('a') ==
        "\xef\xbf\xbd"
        "a");  // the character never came
  CHECK(put(0xff) == "\xef\xbf\xbd");
  CHECK(put(0xe0).empty());
  CHECK(put(0x80) == "\xef\xbf\xbd\xef\xbf\xbd");  // no character begins so
  CHECK(put(0xe4).empty());
  CHECK(decoder.finish(out.data()) == 3);
  CHECK(decoder.put(t.tables(), -1, out.data()) == 0);
  CHECK(decoder.put(t.tables(), 257, out.data()) == 0);
}

TEST_CASE("decode: any bytes in any pieces come out as whole characters; text comes back") {
  std::mt19937 random(11);
  const LoadedTokenizer t = loaded(byte_vocabulary({{"\xc3", "\xa9"}, {"\x9f", "\x98"}}));
  std::vector<uint8_t> out(text::Decoder::kMaxBytes);
  for (int round = 0; round < 20000; round++) {
    text::Decoder decoder;
    const bool is_text = round % 2;
    std::string sent, got;
    for (int i = 0; i < 6; i++) {
      uint8_t code[4];
      const uint32_t any = random() % 3 ? random() % 0x800 : random() % 0xD800;
      const size_t n = is_text ? text::put_code(any, code) : 1;
      if (!is_text) code[0] = uint8_t(random() % 4 ? 0x80 | random() : random());
      sent.append(reinterpret_cast<char*>(code), n);
    }
    Ids ids;
    if (is_text) {
      ids = t.encode(sent);
    } else {
      for (const char c : sent) ids.push_back(uint8_t(c));
    }
    for (size_t i = 0; i <= ids.size(); i++) {
      const size_t n =
          i < ids.size() ? decoder.put(t.tables(), ids[i], out.data()) : decoder.finish(out.data());
      REQUIRE(is_utf8(out.data(), n));
      got.append(reinterpret_cast<char*>(out.data()), n);
    }
    if (is_text) REQUIRE(got == sent);
  }
}

TEST_CASE("every code point comes back from its ids") {
  const LoadedTokenizer bytes = loaded(byte_vocabulary({}, {TextStage::kLlama3}));
  const LoadedTokenizer scored = loaded(scored_vocabulary({{" ", -1.}}));
  text::EncodeOptions options;
  for (const LoadedTokenizer* t : {&bytes, &scored}) {
    std::string wrong;
    for (uint32_t first = 0; first < 0x110000; first += 0x400) {
      std::string text = "x";
      for (uint32_t code = first; code < first + 0x400; code++) {
        uint8_t encoded[4];
        const bool is_stand_in = t == &scored && code == 0x2581;  // becomes a space
        if ((code < 0xD800 || code >= 0xE000) && !is_stand_in)
          text.append(reinterpret_cast<char*>(encoded), text::put_code(code, encoded));
      }
      if (t->decode(t->encode(text, options), false) != text) wrong += std::to_string(first) + " ";
    }
    CHECK(wrong == "");
  }
}
