// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_sentence.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/input_file.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/import.h"

namespace ingot::decoder {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxConfig = 1 << 20;

/// Null where there is no such file.
Json read_json(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return nullptr;
  return checkpoint::parse_sorted_json(read_config_text(path), path);
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Earlier versions have a flag for each kind, later ones a name.
Pooling read_pooling(const std::string& path) {
  const Json json = read_json(path);
  if (!json.is_object())
    graph::fail_unavailable(path, "is missing or no JSON object; get the whole folder");
  struct Known {
    const char *flag, *name;
    Pooling pooling;
  };
  constexpr Known kKnown[] = {{"pooling_mode_mean_tokens", "mean", Pooling::kMean},
                              {"pooling_mode_cls_token", "cls", Pooling::kFirst},
                              {"pooling_mode_lasttoken", "lasttoken", Pooling::kLast}};
  const std::string name = text_of(json, "pooling_mode");
  std::set<std::string> asked;
  if (!name.empty()) asked.insert(name);
  for (const auto& [key, value] : json.items()) {
    if (key.rfind("pooling_mode_", 0) != 0 || value != true) continue;
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&, &own = key](const Known& one) { return own == one.flag; });
    asked.insert(known == std::end(kKnown) ? key : known->name);
  }
  Pooling found = Pooling::kNone;
  std::string said;
  for (const std::string& one : asked) {
    said += (said.empty() ? "" : " and ") + one;
    for (const Known& known : kKnown)
      if (one == known.name) found = known.pooling;
  }
  if (asked.size() != 1 || found == Pooling::kNone)
    graph::fail_unsupported(path, "it pools by " + (said.empty() ? "nothing" : said) +
                                      ", expected one of mean, cls, lasttoken");
  if (json.contains("include_prompt") && json["include_prompt"] == false)
    graph::fail_unsupported(path, "its 'include_prompt' is false, expected true");
  return found;
}

/// A product without a bias and an activation.
SentenceModel::Dense read_dense(const std::filesystem::path& folder) {
  const std::string file = (folder / "config.json").string();
  const Json json = read_json(file);
  if (!json.is_object())
    graph::fail_unavailable(file, "is missing or no JSON object; get the whole folder");
  const std::string activation = text_of(json, "activation_function");
  if (activation.substr(activation.rfind('.') + 1) != "Identity")
    graph::fail_unsupported(file,
                            "its activation_function is '" + activation + "', expected Identity");
  if (json.value("bias", Json(true)) != false)
    graph::fail_unsupported(file, "its bias is not false, expected false");
  const auto width = [&](const char* key) {
    const auto found = json.find(key);
    const bool is_number = found != json.end() && found->is_number_unsigned();
    const uint64_t number = is_number ? found->get<uint64_t>() : 0;
    if (number < 1 || number > uint64_t(kMaxWidth))
      graph::fail_unsupported(file, std::string("its ") + key + " is " +
                                        (found == json.end() ? "missing" : found->dump()) +
                                        ", expected 1 to " + std::to_string(kMaxWidth));
    return int64_t(number);
  };
  const std::string weights = hugging_face_weights(file);
  if (weights.empty())
    graph::fail_unavailable(file, "has no model.safetensors beside it; get the whole folder");
  return {width("in_features"), width("out_features"), weights};
}

}  // namespace

std::string read_config_text(const std::string& path) {
  host::InputStream file(path);
  std::string text(kMaxConfig + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  if (text.size() > kMaxConfig)
    graph::fail_corrupt(path, "is longer than a configuration can be, expected 1 MB at most");
  return text;
}

SentenceModel read_sentence_model(const std::string& folder) {
  const std::filesystem::path beside = folder;
  const std::string file = (beside / "modules.json").string();
  const Json modules = read_json(file);
  SentenceModel model;
  if (modules.is_null()) return model;
  if (!modules.is_array()) graph::fail_corrupt(file, "is no list of modules");
  for (const Json& module : modules) {
    const std::string type = text_of(module, "type"), own = type.substr(type.rfind('.') + 1),
                      path = text_of(module, "path");
    if (path.find_first_of("/\\") != std::string::npos || path == "..")
      graph::fail_unsafe(file, "its module '" + type + "' lies in '" + path +
                                   "', expected the name of a folder beside it");
    if (own == "Pooling")
      model.pooling = read_pooling((beside / path / "config.json").string());
    else if (own == "Normalize")
      model.is_normalized = true;
    else if (own == "Dense" && model.pooling != Pooling::kNone && !model.is_normalized)
      model.dense.push_back(read_dense(beside / path));
    else if (own != "Transformer" || !path.empty())
      graph::fail_unsupported(file, "its module '" + type + "' in '" + path +
                                        "' is not built, expected Transformer (in ''), Pooling, "
                                        "Dense and Normalize");
  }
  if (model.pooling == Pooling::kNone)
    graph::fail_unsupported(file, "has no module Pooling: no vector of a text");
  constexpr size_t kMaxDense = 2;
  if (model.dense.size() > kMaxDense)
    graph::fail_unsupported(
        file, "has " + std::to_string(model.dense.size()) + " modules Dense, expected 2 at most");
  const Json limits = read_json((beside / "sentence_bert_config.json").string());
  if (limits.is_object() && limits.contains("max_seq_length") &&
      limits["max_seq_length"].is_number_unsigned())
    model.most_tokens = limits["max_seq_length"].get<int64_t>();
  const Json own = read_json((beside / "config_sentence_transformers.json").string());
  if (own.is_object() && own.contains("prompts") && own["prompts"].is_object())
    for (const auto& [name, text] : own["prompts"].items())
      if (text.is_string()) model.prompts[name] = text.get<std::string>();
  return model;
}

}  // namespace ingot::decoder
