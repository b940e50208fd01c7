// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_tokenizer.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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

/// Tokens that a text does not spell: those that are added, and those of a role.
std::set<std::string> special_tokens(const std::filesystem::path& beside, const Json& config,
                                     const Json& added) {
  std::set<std::string> special;
  for (const auto& [token, id] : added.items()) special.insert(token);
  for (const Json& said : {read_object(beside / "special_tokens_map.json"), config})
    for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
      Json token = said.value(role, Json());
      if (token.is_object()) token = token.value("content", Json());
      if (token.is_string()) special.insert(token.get<std::string>());
    }
  return special;
}

/// Of GPT-2's kind: pairs of byte-level pieces, in the order in which they merge.
Json tokenizer_of_merges(const std::filesystem::path& beside) {
  const std::string file = (beside / "merges.txt").string();
  const Json config = read_object(beside / "tokenizer_config.json"),
             added = read_object(beside / "added_tokens.json");
  Json vocabulary = read_object(beside / "vocab.json"), merges = Json::array(),
       tokens = Json::array();
  const std::string lines = host::read_text(file);
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::string line = lines.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const bool is_comment = at == 0 && line.rfind("#version", 0) == 0;
    if (!line.empty() && !is_comment) merges.push_back(line);
    at = end + 1;
  }
  vocabulary.update(added);
  for (const std::string& token : special_tokens(beside, config, added))
    if (vocabulary.contains(token))
      tokens.push_back({{"id", vocabulary[token]}, {"content", token}, {"special", true}});
  Json made = {{"added_tokens", tokens},
               {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
               {"decoder", {{"type", "ByteLevel"}}},
               {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  if (config.value("add_prefix_space", Json()) == true)
    graph::fail_unsupported((beside / "tokenizer_config.json").string(),
                            "its 'add_prefix_space' is true, expected false");
  Json begin = config.value("bos_token", Json());
  if (begin.is_object()) begin = begin.value("content", Json());
  if (config.value("add_bos_token", Json()) != true || !begin.is_string()) return made;
  const std::string name = begin.get<std::string>();
  if (!vocabulary.contains(name)) return made;
  made["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", name}, {"type_id", 0}}}},
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"special_tokens",
       {{name, {{"id", name}, {"ids", {vocabulary[name]}}, {"tokens", {name}}}}}}};
  return made;
}

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
    return text(tokenizer_of_merges(beside));
  return "";
}

}  // namespace ingot::decoder
