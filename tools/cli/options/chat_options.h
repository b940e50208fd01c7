// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/chat_options.h - a conversation on the command line, by the chat template of a
// file.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cli/options/command.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {

/// The inputs of a chat template in a JSON file: a list of messages, or an object that has one.
/// @throws Failure kUnavailable, kMismatch
nlohmann::ordered_json messages_in(const std::string& path);
/// Puts NAME=VALUE, JSON or a text as it is, among the inputs of a chat template.
/// @throws Failure kUsage
void add_template_option(const std::string& option, nlohmann::ordered_json* inputs);

class ChatArguments {
 public:
  void declare(CLI::App* command);
  bool is_chat() const { return is_chat_; }
  bool shows_prompt() const { return shows_prompt_; }
  bool has_messages() const { return !messages_.empty(); }
  /// The text of the prompt. `prompt` gives what the user says, where no file has the messages.
  /// @throws Failure kUsage, kMismatch, kUnsupported.
  std::string render(const vocabulary::LoadedTokenizer& tokenizer, const std::string& file,
                     const std::function<std::string()>& prompt) const;

 private:
  bool is_chat_ = false, shows_prompt_ = false;
  std::string system_, messages_;
  std::vector<std::string> options_;
};

}  // namespace ingot::cli
