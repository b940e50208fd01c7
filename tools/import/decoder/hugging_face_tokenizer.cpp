// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_tokenizer.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/whole_file.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/hugging_face_sentence.h"

namespace ingot::decoder {
namespace {

using Json = nlohmann::json;

bool is_there(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

/// Empty where there is no such file.
Json read_object(const std::filesystem::path& path) {
  if (!is_there(path)) return Json::object();
  const std::string file = path.string();
  Json json = checkpoint::parse_sorted_json(host::read_text(file), file);
  if (!json.is_object()) graph::fail_corrupt(file, "is no JSON object; get it anew");
  return json;
}

/// Of a WordPiece, from vocab.txt.
Json tokenizer_of_words(const std::filesystem::path& beside) {
  const std::string file = (beside / "vocab.txt").string();
  const std::string words = read_config_text(file);
  Json vocabulary = Json::object(), added = Json::array(), marks = Json::object();
  for (size_t at = 0, id = 0; at < words.size(); id++) {
    const size_t end = std::min(words.find('\n', at), words.size());
    std::string word = words.substr(at, end - at);
    if (!word.empty() && word.back() == '\r') word.pop_back();
    for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
      if (word == special) {
        added.push_back({{"id", id}, {"content", word}, {"special", true}});
        marks[word] = {{"id", word}, {"ids", {id}}, {"tokens", {word}}};
      }
    if (!vocabulary.emplace(word, id).second)
      graph::fail_corrupt(file, "two lines are '" + word + "'; get it anew");
    at = end + 1;
  }
  const Json config = read_object(beside / "tokenizer_config.json");
  const bool keeps_case = config.contains("do_lower_case") && config["do_lower_case"] == false;
  const auto mark = [](const char* name) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  };
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return Json{{"added_tokens", added},
              {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", !keeps_case}}},
              {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
              {"post_processor",
               {{"type", "TemplateProcessing"},
                {"single", {mark("[CLS]"), text, mark("[SEP]")}},
                {"special_tokens", marks}}},
              {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}}},
              {"model",
               {{"type", "WordPiece"},
                {"unk_token", "[UNK]"},
                {"continuing_subword_prefix", "##"},
                {"max_input_chars_per_word", 100},
                {"vocab", vocabulary}}}};
}

/// Of a folder of GPT-2's kind without tokenizer.json.
class MergesFolder {
 public:
  explicit MergesFolder(const std::filesystem::path& beside)
      : beside_(beside),
        config_(read_object(beside / "tokenizer_config.json")),
        roles_(read_object(beside / "special_tokens_map.json")),
        vocabulary_(read_object(beside / "vocab.json")) {}

  /// As tokenizer.json has it.
  Json tokenizer() {
    const Json kind = config_.value("tokenizer_class", Json());
    if (kind.is_string() && kind != "GPT2Tokenizer" && kind != "GPT2TokenizerFast")
      refuse_setting("tokenizer_class", "GPT2Tokenizer; get tokenizer.json");
    if (config_.value("add_prefix_space", Json()) == true)
      refuse_setting("add_prefix_space", "false");
    read_added();
    read_roles();
    Json tokens = Json::array();
    for (const auto& [content, token] : tokens_) tokens.push_back(token);
    Json made = {{"added_tokens", tokens},
                 {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                 {"decoder", {{"type", "ByteLevel"}}},
                 {"model", {{"type", "BPE"}, {"vocab", vocabulary_}, {"merges", merges()}}}};
    Json single = Json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}),
         marks = Json::object();
    const auto mark = [&](const char* setting, const char* role, size_t at) {
      if (config_.value(setting, Json()) != true || !tokens_.count(name_of(role))) return;
      const std::string name = name_of(role);
      const Json token = {{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
      single.insert(single.begin() + ptrdiff_t(at), token);
      marks[name] = {{"id", name}, {"ids", {tokens_.at(name)["id"]}}, {"tokens", {name}}};
    };
    mark("add_bos_token", "bos_token", 0), mark("add_eos_token", "eos_token", single.size());
    if (!marks.empty())
      made["post_processor"] = {
          {"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", marks}};
    return made;
  }

 private:
  [[noreturn]] void refuse_setting(const char* key, const std::string& expected) const {
    graph::fail_unsupported(
        (beside_ / "tokenizer_config.json").string(),
        std::string("its '") + key + "' is " + config_[key].dump() + ", expected " + expected);
  }

  /// Pairs, in the order in which they merge.
  Json merges() const {
    Json merges = Json::array();
    const std::string lines = host::read_text((beside_ / "merges.txt").string());
    for (size_t at = 0; at < lines.size();) {
      const size_t end = std::min(lines.find('\n', at), lines.size());
      std::string line = lines.substr(at, end - at);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const bool is_comment = at == 0 && line.rfind("#version", 0) == 0;
      if (!line.empty() && !is_comment) merges.push_back(line);
      at = end + 1;
    }
    return merges;
  }

  void add(const std::string& content, const Json& id, const Json& flags, const char* file) {
    if (!id.is_number_unsigned())
      graph::fail_corrupt((beside_ / file).string(), "token '" + content + "' has the id " +
                                                         id.dump() +
                                                         ", expected a whole number; get it anew");
    Json& token = tokens_[content];
    if (token.is_null()) token = {{"id", id}, {"content", content}, {"special", false}};
    for (const char* flag : {"special", "lstrip", "rstrip", "single_word", "normalized"})
      if (flags.is_object() && flags.value(flag, Json()).is_boolean()) token[flag] = flags[flag];
  }

  /// What the vocabulary lacks, or a text spells otherwise.
  void read_added() {
    constexpr const char *kTokens = "added_tokens.json", *kConfig = "tokenizer_config.json";
    const Json tokens = read_object(beside_ / kTokens),
               by_id = config_.value("added_tokens_decoder", Json::object());
    for (const auto& [content, id] : tokens.items()) add(content, id, Json(), kTokens);
    if (!by_id.is_object())
      graph::fail_corrupt((beside_ / kConfig).string(),
                          "its 'added_tokens_decoder' is no object; get it anew");
    for (const auto& [id, token] : by_id.items()) {
      const Json content = token.is_object() ? token.value("content", Json()) : Json();
      const Json number = checkpoint::parse_sorted_json(id, (beside_ / kConfig).string());
      if (!content.is_string())
        graph::fail_corrupt((beside_ / kConfig).string(),
                            "its added token " + id + " has no 'content'; get it anew");
      add(content.get<std::string>(), number, token, kConfig);
    }
  }

  /// Tokens that a text does not spell. One that is not in the vocabulary is none.
  void read_roles() {
    const auto take = [&](const Json& said) {
      const Json content = said.is_object() ? said.value("content", Json()) : said;
      if (!content.is_string()) return;
      const std::string name = content.get<std::string>();
      if (!tokens_.count(name) && vocabulary_.contains(name))
        add(name, vocabulary_[name], said, "vocab.json");
      if (tokens_.count(name)) tokens_[name]["special"] = true;
    };
    for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token", "cls_token",
                             "sep_token", "mask_token"})
      take(said_of(role));
    for (const Json& said : {roles_, config_})
      for (const Json& token : said.value("additional_special_tokens", Json())) take(token);
  }

  /// Three roles have a default.
  Json said_of(const std::string& role) const {
    for (const Json* said : {&config_, &roles_})
      if (said->contains(role)) return (*said)[role];
    const bool has_default = role == "bos_token" || role == "eos_token" || role == "unk_token";
    return has_default ? Json("<|endoftext|>") : Json();
  }
  std::string name_of(const char* role) const {
    const Json said = said_of(role);
    const Json content = said.is_object() ? said.value("content", Json()) : said;
    return content.is_string() ? content.get<std::string>() : "";
  }

  const std::filesystem::path beside_;
  const Json config_, roles_, vocabulary_;
  std::map<std::string, Json> tokens_;  // by what they are in a text
};

}  // namespace

std::string tokenizer_of_folder(const std::string& folder) {
  const std::filesystem::path beside = folder;
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  if (is_there(beside / "tokenizer.json"))
    return host::read_text((beside / "tokenizer.json").string());
  if (is_there(beside / "vocab.txt")) return text(tokenizer_of_words(beside));
  if (is_there(beside / "vocab.json") && is_there(beside / "merges.txt"))
    return text(MergesFolder(beside).tokenizer());
  return "";
}

}  // namespace ingot::decoder
