// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/chat_options.h"

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/failure.h"
#include "tools/files/whole_file.h"
#include "tools/text/rendered_chat.h"

namespace ingot::cli {
namespace {

using host::Exit;
using ChatJson = nlohmann::ordered_json;

}  // namespace

ChatJson messages_in(const std::string& path) {
  ChatJson inputs = checkpoint::parse_bounded_json(host::read_text(path), path);
  if (inputs.is_array()) inputs = {{"messages", std::move(inputs)}};
  if (!inputs.is_object() || !inputs.contains("messages") || !inputs["messages"].is_array())
    host::fail(Exit::kMismatch, path +
                                    ": is no conversation, expected a JSON list of messages, or "
                                    "an object with 'messages', and perhaps 'tools'");
  return inputs;
}

void add_template_option(const std::string& option, ChatJson* inputs) {
  const size_t equals = option.find('=');
  if (equals == std::string::npos || equals == 0)
    host::fail(Exit::kUsage, "--template-option: expected NAME=VALUE, found '" + option + "'");
  const std::string name = option.substr(0, equals), text = option.substr(equals + 1);
  const bool is_json = ChatJson::accept(text);
  (*inputs)[name] =
      is_json ? checkpoint::parse_bounded_json(text, "--template-option " + name) : ChatJson(text);
}

void ChatArguments::declare(CLI::App* command) {
  CLI::Option* chat =
      command->add_flag("--chat", is_chat_,
                        "the text is what a user says: the file's chat template makes the prompt");
  command->add_option("--system", system_, "what the system says before (with --chat)")
      ->needs(chat)
      ->type_name("TEXT");
  reads_file(command->add_option("--messages", messages_,
                                 "a JSON file with the messages, and perhaps tools (with --chat)"))
      ->needs(chat)
      ->type_name("FILE");
  command
      ->add_option("--template-option", options_,
                   "a value that the template asks for, as enable_thinking=false (with --chat)")
      ->needs(chat)
      ->type_name("NAME=VALUE");
  command
      ->add_flag("--show-prompt", shows_prompt_,
                 "print the text that the chat template makes, and generate nothing")
      ->needs(chat);
}

std::string ChatArguments::render(const vocabulary::LoadedTokenizer& tokenizer,
                                  const std::string& file,
                                  const std::function<std::string()>& prompt) const {
  ChatJson inputs;
  if (!has_messages()) {
    ChatJson messages = ChatJson::array();
    if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
    messages.push_back({{"role", "user"}, {"content", prompt()}});
    inputs["messages"] = std::move(messages);
  } else {
    if (!system_.empty())
      host::fail(Exit::kUsage, "generate: --system and --messages; name one of them");
    inputs = messages_in(messages_);
  }
  if (!inputs.contains("add_generation_prompt")) inputs["add_generation_prompt"] = true;
  for (const std::string& option : options_) add_template_option(option, &inputs);
  return chat::render_chat(tokenizer.chat(), inputs, chat::local_time(), file);
}

}  // namespace ingot::cli
