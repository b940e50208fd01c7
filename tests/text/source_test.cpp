// SPDX-License-Identifier: Apache-2.0
// Tokenizers of sources: tokenizer.json and GGUF metadata, and what is refused by its name.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/text/small_vocabularies.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/temporary_tree.h"

using namespace ingot;
using namespace ingot::test;
using Json = nlohmann::json;

namespace {

constexpr const char* kLow = "\xe2\x96\x81";

Json json_of_pairs() {
  Json vocabulary = {{"a", 0},
                     {"b", 1},
                     {"ab", 2},
                     {"\xc4\xa0", 3},
                     {"\xc4\xa0"
                      "a",
                      4}};
  return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"a b", "\xc4\xa0 a"}}}},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"added_tokens",
           {{{"id", 5}, {"content", "<e>"}, {"special", true}},
            {{"id", 7}, {"content", "<m>"}, {"special", false}, {"lstrip", true}}}}};
}
LoadedTokenizer loaded_json(const Json& json) {
  return loaded(vocabulary::vocabulary_of_json(json.dump(), "t.json"));
}
std::string refusal_of(const Json& json) {
  try {
    (void)loaded_json(json);
  } catch (const host::Failure& failure) {
    return std::to_string(failure.exit()) + " " + failure.message();
  }
  return "";
}
void check_refusal(const Json& json, int exit, const std::string& words) {
  const std::string text = refusal_of(json);
  CAPTURE(text);
  CAPTURE(words);
  CHECK(text.rfind(std::to_string(exit) + " t.json: ", 0) == 0);
  CHECK(text.find(words) != std::string::npos);
}

std::string le(uint64_t n, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; i++) out += char(n >> 8 * i);
  return out;
}
std::string gguf_text(const std::string& text) { return le(text.size(), 8) + text; }

/// Metadata of a GGUF file without tensors.
class GgufText {
 public:
  GgufText& text(const std::string& key, const std::string& value) {
    return add(key, le(8, 4) + gguf_text(value));
  }
  GgufText& flag(const std::string& key, bool value) { return add(key, le(7, 4) + le(value, 1)); }
  GgufText& number(const std::string& key, uint32_t value) {
    return add(key, le(4, 4) + le(value, 4));
  }
  GgufText& texts(const std::string& key, const std::vector<std::string>& values) {
    std::string body = le(9, 4) + le(8, 4) + le(values.size(), 8);
    for (const std::string& value : values) body += gguf_text(value);
    return add(key, body);
  }
  GgufText& numbers(const std::string& key, const std::vector<int>& values) {
    std::string body = le(9, 4) + le(5, 4) + le(values.size(), 8);
    for (const int value : values) body += le(uint32_t(value), 4);
    return add(key, body);
  }
  GgufText& scores(const std::vector<float>& values) {
    std::string body = le(9, 4) + le(6, 4) + le(values.size(), 8);
    for (const float value : values) {
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      body += le(bits, 4);
    }
    return add("scores", body);
  }
  LoadedTokenizer loaded() const {
    const host::TemporaryPath path(".gguf");
    const std::string bytes = "GGUF" + le(3, 4) + le(0, 8) + le(count_, 8) + body_;
    host::OutputFile out(path.path());
    out.write(bytes.data(), bytes.size());
    out.commit();
    return LoadedTokenizer::from_source(path.path());
  }
  std::string refusal() const {
    try {
      (void)loaded();
    } catch (const host::Failure& failure) {
      return failure.message();
    }
    return "";
  }

 private:
  GgufText& add(const std::string& key, const std::string& value) {
    body_ += gguf_text("tokenizer.ggml." + key) + value;
    count_++;
    return *this;
  }
  std::string body_;
  uint64_t count_ = 0;
};

GgufText gguf_pairs() {
  return GgufText()
      .text("model", "gpt2")
      .texts("tokens", {"a", "b", "ab", "<e>"})
      .numbers("token_type", {1, 1, 1, 3});
}

}  // namespace

TEST_CASE("tokenizer.json: byte pairs, added tokens, ids that no piece has") {
  const LoadedTokenizer t = loaded_json(json_of_pairs());
  CHECK(t.encode("ab a b <m>") == Ids{2, 4, 3, 1, 7});
  CHECK(t.decode({2, 4, 5, 6, 7}, true) == "ab a<e><m>");
  CHECK(t.tables().count == 8);
  Json arrays = json_of_pairs();
  arrays["model"]["merges"] =
      Json::array({Json::array({"a", "b"}), Json::array({"\xc4\xa0", "a"})});
  CHECK(loaded_json(arrays).encode("ab") == Ids{2});
  CHECK_THROWS_AS((void)t.encode("c"), host::Failure);
  CHECK_THROWS_AS((void)t.decode({8}, false), host::Failure);
}

TEST_CASE("tokenizer.json: SentencePiece's pairs with bytes, a template, and its decoder") {
  const std::string low = kLow;
  Json vocabulary = {{"<unk>", 0}, {"<s>", 1}, {"<0x78>", 2}, {low, 3}, {"a", 4}, {low + "a", 5}};
  const Json t = {
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", low}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", low}}}}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", vocabulary},
        {"merges", {low + " a"}},
        {"byte_fallback", true},
        {"unk_token", "<unk>"},
        {"fuse_unk", true}}},
      {"added_tokens", {{{"id", 1}, {"content", "<s>"}, {"special", true}}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}}},
        {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}}}}}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"String", low}}}, {"content", " "}},
          {{"type", "ByteFallback"}},
          {{"type", "Fuse"}},
          {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}}};
  const LoadedTokenizer loaded = loaded_json(t);
  CHECK(loaded.encode("a ax yz") == Ids{1, 5, 5, 2, 3, 0});
  CHECK(loaded.decode({1, 5, 5, 2}, false) == "a ax");
}

TEST_CASE("tokenizer.json: what is not known is refused by its name") {
  Json t = json_of_pairs();
  t["normalizer"] = {{"type", "NFKC"}};
  check_refusal(t, 4, "normalizer 'NFKC'");
  t = json_of_pairs(), t["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  check_refusal(t, 4, "pre_tokenizer 'UnicodeScripts'");
  t = json_of_pairs();
  t["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "\\w+"}}}};
  check_refusal(t, 4, "\\\\w+");
  t = json_of_pairs(), t["pre_tokenizer"]["add_prefix_space"] = true;
  check_refusal(t, 4, "add_prefix_space");
  t["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers", {json_of_pairs()["pre_tokenizer"], {{"type", "Digits"}}}}};
  check_refusal(t, 4, "Digits behind ByteLevel");
  t = json_of_pairs(), t["model"]["type"] = "WordLevel";
  check_refusal(t, 4, "model 'WordLevel'");
  t = json_of_pairs(), t["model"]["dropout"] = 0.1;
  check_refusal(t, 4, "dropout");
  t = json_of_pairs(), t["decoder"] = {{"type", "CTC"}};
  check_refusal(t, 4, "decoder 'CTC'");
  t = json_of_pairs(), t["post_processor"] = {{"type", "Other"}};
  check_refusal(t, 4, "post_processor 'Other'");
  t = json_of_pairs(), t["added_tokens"][0]["single_word"] = true;
  check_refusal(t, 4, "single_word '<e>'");
  t = json_of_pairs(), t["model"]["merges"] = {"a c"};
  check_refusal(t, 2, "a c");
  t = json_of_pairs(), t["model"]["vocab"]["c"] = 1;
  check_refusal(t, 2, "id 1");
  t = json_of_pairs(), t["model"]["vocab"]["c"] = 1u << 30;
  check_refusal(t, 2, "1073741824");
  t = json_of_pairs(), t["model"]["vocab"]["c"] = "x";
  check_refusal(t, 2, "no tokenizer.json");
  check_refusal(Json::array(), 2, "no 'model'");
}

TEST_CASE("gguf: byte pairs by the name of their pre-tokenizer") {
  const LoadedTokenizer t = gguf_pairs()
                                .text("pre", "llama-bpe")
                                .texts("merges", {"a b"})
                                .number("bos_token_id", 3)
                                .loaded();
  CHECK(t.encode("abba") == Ids{3, 2, 1, 0});
  CHECK(gguf_pairs().texts("merges", {"a b"}).refusal().find("tokenizer.ggml.pre is missing") !=
        std::string::npos);
  CHECK(gguf_pairs().text("pre", "no-such").refusal().find("'no-such'") != std::string::npos);
  CHECK(gguf_pairs().text("pre", "gpt-2").texts("merges", {"a c"}).refusal().find("a c") !=
        std::string::npos);
  CHECK(gguf_pairs()
            .text("pre", "gpt-2")
            .number("bos_token_id", 4)
            .refusal()
            .find("is 4 of 4 tokens") != std::string::npos);
}

TEST_CASE("gguf: scored pairs, unigram and words; what contradicts itself is refused") {
  const std::string low = kLow;
  const std::vector<std::string> tokens = {"<unk>", "<s>", "<0x78>", low, "a", low + "a"};
  const auto spm = [&](const char* model) {
    return GgufText()
        .text("model", model)
        .texts("tokens", tokens)
        .numbers("token_type", {2, 3, 6, 1, 1, 1})
        .scores({0, 0, 0, -3, -4, -1})
        .number("unknown_token_id", 0)
        .number("bos_token_id", 1);
  };
  CHECK(spm("llama").loaded().encode("a ax y") == Ids{1, 5, 5, 2, 3, 0});
  CHECK(spm("llama")
            .flag("add_bos_token", false)
            .flag("add_space_prefix", false)
            .loaded()
            .encode("a a") == Ids{4, 5});
  CHECK(spm("t5").loaded().encode("a ax y") == Ids{5, 5, 2, 3, 0});
  CHECK(spm("plamo2").refusal().find("'plamo2'") != std::string::npos);
  CHECK(GgufText()
            .text("model", "bert")
            .texts("tokens", {"[UNK]", low + "ab", "c", "[CLS]", "[SEP]"})
            .numbers("token_type", {3, 1, 1, 3, 3})
            .number("unknown_token_id", 0)
            .number("cls_token_id", 3)
            .number("seperator_token_id", 4)
            .loaded()
            .encode("ABC x") == Ids{3, 1, 2, 0, 4});
  CHECK(GgufText()
            .text("model", "llama")
            .texts("tokens", {"a"})
            .numbers("token_type", {1, 1})
            .refusal()
            .find("1 tokens, 2 types") != std::string::npos);
  CHECK(GgufText()
            .text("model", "llama")
            .texts("tokens", {"a"})
            .numbers("token_type", {9})
            .refusal()
            .find("type 9") != std::string::npos);
}

namespace {

std::string charsmap_of(const std::vector<uint32_t>& units, const std::string& texts) {
  const uint32_t size = uint32_t(4 * units.size());
  std::string out(4 + size, 0);
  std::memcpy(out.data(), &size, 4);
  std::memcpy(out.data() + 4, units.data(), size);
  return out + texts;
}
/// A double array in which the children of each unit have 256 units of their own.
std::string charsmap_of(const std::map<std::string, std::string>& rules) {
  std::vector<uint32_t> units(256);
  std::string texts;
  const auto child = [&](uint32_t parent, uint8_t byte) {
    if (units[parent] >> 10 == 0) {
      units[parent] |= (parent ^ uint32_t(units.size())) << 10;
      units.resize(units.size() + 256);
    }
    const uint32_t at = parent ^ units[parent] >> 10 ^ byte;
    units[at] |= byte;
    return at;
  };
  for (const auto& [from, to] : rules) {
    uint32_t at = 0;
    for (const char byte : from) at = child(at, uint8_t(byte));
    units[at] |= 0x100;
    units[child(at, 0)] = 0x80000000 | uint32_t(texts.size());
    texts += to + '\0';
  }
  return charsmap_of(units, texts);
}

}  // namespace

TEST_CASE("SentencePiece's normalizer: its rules, and what is no sound one") {
  const std::map<std::string, std::string> rules = {
      {"A", "a"}, {"AB", "x y"}, {"\xc2\xa0", " "}, {"\t", ""}};
  const std::string charsmap = charsmap_of(rules);
  std::map<std::string, std::string> found;
  for (const auto& rule : vocabulary::rules_of_charsmap(charsmap, "t")) found[rule.from] = rule.to;
  CHECK(found == rules);
  const auto refusal = [](const std::string& bytes) {
    try {
      (void)vocabulary::rules_of_charsmap(bytes, "t");
      return std::string();
    } catch (const host::Failure& failure) {
      return std::string(failure.what());
    }
  };
  for (const std::string& bytes :
       {std::string(), std::string("\1\2"), charsmap.substr(0, 40), std::string(8, '\xff')})
    CHECK(refusal(bytes).find("no array of units") != std::string::npos);
  CHECK(refusal(charsmap.substr(0, charsmap.size() - 1)).find("does not end") != std::string::npos);
  // Units that lead back to the first, outside, or wherever they please.
  std::vector<uint32_t> units(256);
  for (uint32_t byte = 1; byte < 256; byte++) units[byte] = byte | byte << 10;
  CHECK(refusal(charsmap_of(units, "")).find("more than 64 bytes") != std::string::npos);
  units.assign(256, 0);
  units['a'] = 'a' | 0x100 | 1u << 30;
  CHECK(refusal(charsmap_of(units, "")).find("outside of its array") != std::string::npos);
  units.assign(256 * 5, 0);  // all units of a level have the same children
  for (uint32_t at = 1; at < 256 * 4; at++)
    units[at] = at % 256 | (at ^ (at / 256 + 1) * 256) << 10;
  CHECK(refusal(charsmap_of(units, "")).find("without end") != std::string::npos);
}

TEST_CASE("tokenizer.json: text as XLM-RoBERTa and T5 take it") {
  const auto base64 = [](const std::string& bytes) {
    const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
      uint32_t bits = 0;
      for (size_t k = 0; k < 3; k++)
        bits = bits << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0);
      for (size_t k = 0; k < 4; k++)
        out += i + k > bytes.size() ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    return out;
  };
  const Json replace = {
      {"type", "Precompiled"},
      {"precompiled_charsmap",
       base64(charsmap_of({{"A", "a"}, {"\n", " "}, {"\xc2\xa0", " "}, {kLow, " "}}))}};
  const Json metaspace = {
      {"type", "Metaspace"}, {"replacement", kLow}, {"prepend_scheme", "always"}, {"split", true}};
  const Json join = {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}};
  const Json strip = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}};
  const std::string low = kLow;
  const Json mask = {
      {"id", 4}, {"content", "<mask>"}, {"special", true}, {"lstrip", true}, {"normalized", true}};
  Json t = {{"model", {{"type", "Unigram"}, {"unk_id", 0}}},
            {"added_tokens", Json::array({mask})},
            {"decoder", metaspace}};
  t["model"]["vocab"] = Json::array({{"<unk>", 0.0}, {low, -1.0}, {low + "a", -1.5}, {"a", -2.0}});
  const auto ids = [&](const Json& normalizer, const Json& pre_tokenizer, const std::string& text) {
    t["normalizer"] = normalizer, t["pre_tokenizer"] = pre_tokenizer;
    text::EncodeOptions options;
    options.parse_special = true;
    return loaded_json(t).encode(text, options);
  };
  const Json by_words = {{"type", "Sequence"},
                         {"pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace}}};
  CHECK(ids(replace, by_words,
            "A\n\n a\xe3\x80\x80"
            "aA \xc2\x85") == Ids{2, 2, 2, 3});
  CHECK(ids(replace, by_words, "a <mask>") == Ids{2, 4});
  const Json joined = {{"type", "Sequence"}, {"normalizers", {replace, join}}};
  CHECK(ids(joined, metaspace, " A  \na ") == Ids{2, 2, 1});
  const Json stripped = {{"type", "Sequence"}, {"normalizers", {replace, strip, join}}};
  CHECK(ids(stripped, metaspace, " A  \na ") == Ids{2, 2});
  Json first = metaspace;
  first["prepend_scheme"] = "first";
  t["normalizer"] = joined, t["pre_tokenizer"] = first;
  check_refusal(t, 4, "behind joined spaces");
  const auto refused = [&](const Json& normalizer, const Json& pre_tokenizer, const char* words) {
    t["normalizer"] = normalizer, t["pre_tokenizer"] = pre_tokenizer;
    check_refusal(t, 4, words);
  };
  const auto in_turn = [](const char* list, const Json& one, const Json& then) {
    return Json{{"type", "Sequence"}, {list, Json::array({one, then})}};
  };
  const Json nfc = {{"type", "NFC"}}, split = {{"type", "WhitespaceSplit"}};
  refused(in_turn("normalizers", join, replace), metaspace, "Replace");
  refused(in_turn("normalizers", nfc, replace), metaspace, "Precompiled");
  refused(nfc, metaspace, "Metaspace behind NFC");
  refused(joined, nullptr, "joined or stripped spaces without Metaspace");
  refused(replace, split, "joined or stripped spaces without Metaspace");
  refused(replace, in_turn("pretokenizers", metaspace, split), "WhitespaceSplit");
  Json wrong = replace;
  wrong["precompiled_charsmap"] = "?";
  t["normalizer"] = wrong;
  check_refusal(t, 2, "is not base64");
}
