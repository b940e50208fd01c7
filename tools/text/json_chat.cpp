// SPDX-License-Identifier: Apache-2.0
// The chat template in a folder of Hugging Face: chat_template.jinja, or in tokenizer_config.json,
// which also names the tokens that begin and end a text.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/storage.h"
#include "tools/files/failure.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

using ChatJson = nlohmann::json;

std::string read_whole(const std::filesystem::path& path) {
  const auto file = checkpoint::MappedFile::open(path.string());
  return {reinterpret_cast<const char*>(file->data()), file->size()};
}

/// A text, or {"content": text}; null.
std::string token_text(const ChatJson& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_object() ? found->value("content", "") : "";
}

}  // namespace

void add_chat_of_folder(Vocabulary* vocabulary, const std::string& folder) {
  const std::filesystem::path file = std::filesystem::path(folder) / "chat_template.jinja",
                              settings = std::filesystem::path(folder) / "tokenizer_config.json";
  std::error_code unknown;
  chat::ChatTemplate* chat = &vocabulary->chat;
  if (std::filesystem::exists(file, unknown))
    *chat = chat::chat_template_of(read_whole(file), file.string());
  if (!std::filesystem::exists(settings, unknown)) return;
  const std::string where = settings.string();
  const ChatJson config = checkpoint::parse_sorted_json(read_whole(settings), where);
  try {
    const auto source = config.find("chat_template");
    if (!chat->is_there && source != config.end()) {
      if (source->is_string()) {
        *chat = chat::chat_template_of(source->get<std::string>(), where);
      } else if (source->is_array()) {
        for (const ChatJson& each : *source)
          if (each.at("name") == "default")
            *chat = chat::chat_template_of(each.at("template").get<std::string>(), where);
      }
    }
    chat->bos = token_text(config, "bos_token");
    chat->eos = token_text(config, "eos_token");
  } catch (const nlohmann::json::exception& error) {
    host::fail(host::Exit::kCorrupt,
               where + ": is no tokenizer_config.json as it is known: " + error.what());
  }
}

}  // namespace ingot::vocabulary
