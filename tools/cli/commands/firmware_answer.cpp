// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands/firmware_answer.h"

#include <algorithm>
#include <limits>

#include "tools/session/generation.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

constexpr int64_t kMaxTokens = 1 << 20;

std::vector<int32_t> ids_of(const std::string& text) {
  std::vector<int32_t> ids;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    ids.push_back(int32_t(parse_integer("--prompt-ids", text.substr(from, end - from), 0,
                                        std::numeric_limits<int32_t>::max())));
    from = end + 1;
  }
  return ids;
}

/// Null where the file has no tokenizer.
std::optional<Text> text_of(const Engine& engine) {
  auto text = Text::open(engine.model());
  if (text) return std::move(*text);
  if (text.error().code != INGOT_NOT_FOUND) fail_with(engine.path(), text.error());
  return std::nullopt;
}

std::vector<int32_t> prompt_of(const std::string& source, const AnswerArguments& a,
                               const std::optional<Text>& text) {
  if (a.prompt_ids) return ids_of(*a.prompt_ids);
  if (!text)
    fail(Exit::kMismatch, source +
                              ": has no tokenizer for --prompt; name the prompt's tokens, as "
                              "--prompt-ids 1,2,3");
  const std::vector<int32_t> ids = tokenizer_of(*text, source).encode(a.prompt.value_or(""));
  if (ids.empty()) fail(Exit::kMismatch, source + ": the prompt has no token; give --prompt TEXT");
  return ids;
}

void add_pieces(const Text& text, const std::string& source, firmware::ProjectAnswer* to) {
  const vocabulary::LoadedTokenizer tokenizer = tokenizer_of(text, source);
  to->strips_space = tokenizer.tables().strip_space;
  const char* bytes = nullptr;
  size_t count = 0;
  int32_t is_control = 0;
  for (int32_t id = 0; ingot_text_token(text.get(), id, &bytes, &count, &is_control) == INGOT_OK;
       id++) {
    to->pieces.emplace_back(bytes, count);
    if (is_control) to->ends.push_back(id);
  }
}

uint32_t port(const std::vector<std::string>& names, const std::string& name) {
  return uint32_t(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

void AnswerArguments::check() const {
  if (!is_asked()) {
    if (prompt || prompt_ids)
      fail(Exit::kUsage, std::string(prompt ? "--prompt" : "--prompt-ids") +
                             ": is read with --generate N alone; add that, or leave it out");
    return;
  }
  (void)parse_integer("--generate", tokens, 1, kMaxTokens);
  if (prompt && prompt_ids) fail(Exit::kUsage, "--prompt and --prompt-ids: expected one of them");
  if (prompt_ids) (void)ids_of(*prompt_ids);
}

int64_t tokens_of(const std::string& source, const std::string& file, const AnswerArguments& a) {
  const size_t prompt = prompt_of(source, a, text_of(Engine(file))).size();
  return int64_t(prompt) + parse_integer("--generate", a.tokens, 1, kMaxTokens);
}

firmware::ProjectAnswer make_answer(const std::string& source, const std::string& file,
                                    const AnswerArguments& a) {
  firmware::ProjectAnswer made;
  made.most = uint32_t(parse_integer("--generate", a.tokens, 1, kMaxTokens));
  Engine engine(file);
  const std::optional<Text> text = text_of(engine);
  SessionSettings settings;
  settings.device = "cpu", settings.threads = 1;
  Generation generation(&engine, settings, text ? &*text : nullptr);
  for (const std::string& name : engine.input_names())
    if (name != "tokens" && name != "position")
      fail(Exit::kUnsupported, source +
                                   ": --generate: expected the inputs tokens and position alone, "
                                   "found '" +
                                   name + "'; convert it without --slots and --lookup");
  made.prompt = prompt_of(source, a, text);
  for (const int32_t id : made.prompt)
    if (id >= generation.vocabulary())
      fail(Exit::kMismatch, source + ": --prompt-ids: expected tokens below " +
                                std::to_string(generation.vocabulary()) + ", found " +
                                std::to_string(id));
  const int64_t need = int64_t(made.prompt.size()) + int64_t{made.most};
  if (need > generation.context())
    fail(Exit::kMismatch,
         source + ": a context of " + std::to_string(generation.context()) + " tokens, expected " +
             std::to_string(need) + " (" + std::to_string(made.prompt.size()) + " of the prompt, " +
             std::to_string(made.most) + " of --generate); convert it with a larger --context");
  ingot_answer_options options = answer_options();
  options.tokens = made.most;
  generation.begin(made.prompt, options);
  ingot_token token = INGOT_INIT(ingot_token);
  while (token.end == INGOT_END_NONE && generation.next(&token)) made.ids.push_back(token.id);
  if (text) add_pieces(*text, source, &made);
  made.tokens = port(engine.input_names(), "tokens");
  made.position = port(engine.input_names(), "position");
  made.logits = port(engine.output_names(), "logits");
  return made;
}

}  // namespace ingot::cli
