// SPDX-License-Identifier: Apache-2.0
#include "tools/session/generation.h"

#include <algorithm>
#include <cstring>

#include "runtime/api/translate_text.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

Generator create_generator(Engine* engine, SessionSettings settings, const Text* text) {
  const auto refuse = [&](const std::string& why) {
    fail(Exit::kMismatch, engine->path() + ": is no language model: " + why +
                              "; convert one from a GGUF file or a Hugging Face folder");
  };
  const ingot_model* const model = engine->model().get();  // asked before memory is taken
  for (const char* input : {"tokens", "position"})
    if (ingot_model_find_input(model, input) < 0) refuse(std::string("no input '") + input + "'");
  settings.flags |= INGOT_REBINDABLE;
  const std::vector<std::string> symbols = engine->symbol_names();
  if (std::find(symbols.begin(), symbols.end(), "T") != symbols.end())  // else it is a number
    engine->bind_dims({{"T", 1}});
  engine->create_session(settings);
  auto generator = Generator::create(engine->session(), text);
  if (!generator) refuse(generator.error().text());
  return std::move(*generator);
}

/// As a message shows it.
std::string token_text(const Text& text, int32_t id) {
  const char* bytes = nullptr;
  size_t count = 0;
  if (ingot_text_token(text.get(), id, &bytes, &count, nullptr)) return "none";
  return "'" + std::string(bytes, count) + "'";
}

}  // namespace

Text open_text(const Engine& engine) {
  auto text = Text::open(engine.model());
  if (text) return std::move(*text);
  if (text.error().code == INGOT_NOT_FOUND)
    fail(Exit::kMismatch, engine.path() +
                              ": has no tokenizer; convert it from a GGUF file, or from a folder "
                              "with a tokenizer.json");
  fail_with(engine.path(), text.error());
}

vocabulary::LoadedTokenizer tokenizer_of(const Text& text, const std::string& file) {
  return vocabulary::LoadedTokenizer(*api::unwrap(text.get()), file);
}

Generation::Generation(Engine* engine, SessionSettings settings, const Text* text)
    : engine_(engine), text_(text), generator_(create_generator(engine, settings, text)) {}

void Generation::draft_by(const std::string& path, const OpenSettings& open,
                          SessionSettings settings) {
  if (summary().lookup == 0)
    fail(Exit::kMismatch, engine_->path() +
                              ": its runs check no drafted tokens; convert it with "
                              "--lookup N");
  draft_engine_ = std::make_unique<Engine>(path, open);
  draft_text_ = open_text(*draft_engine_);
  if (const uint64_t limit = settings.arena_limit) {
    const uint64_t taken = engine_->requirements().arena_bytes;
    settings.arena_limit = limit > taken ? limit - taken : 1;  // 0 would mean no limit
  }
  draft_ = create_generator(draft_engine_.get(), settings, &draft_text_);
  const auto is_set = generator_.set_draft(&draft_);
  if (is_set) return;
  const int32_t id = is_set.error().operand;
  if (id < 0) fail_with(path, is_set.error());
  fail(Exit::kMismatch, path + ": another vocabulary than " + engine_->path() + ": token " +
                            std::to_string(id) + " is " + token_text(draft_text_, id) +
                            ", expected " + token_text(*text_, id));
}

void Generation::check_biases(std::span<const ingot_logit_bias> biases) const {
  for (const ingot_logit_bias& bias : biases)
    if (bias.id >= vocabulary())
      fail(Exit::kMismatch, "--bias " + std::to_string(bias.id) + ": " + engine_->path() + " has " +
                                std::to_string(vocabulary()) + " tokens, from 0");
}

void Generation::constrain(const Text& text, std::span<const uint8_t> grammar) {
  if (grammar.empty()) return;
  auto made = Constraint::create(text);
  if (!made) fail_with(engine_->path(), made.error());
  constraint_ = std::move(*made);
  const auto is_set = constraint_.set(grammar.data(), grammar.size());
  if (!is_set) fail_with("the grammar", is_set.error());
}

uint64_t Generation::begin(std::span<const int32_t> prompt, const ingot_answer_options& given) {
  ingot_answer_options options = given;
  options.constraint = constraint_.get();
  if (int64_t(prompt.size()) > context())
    fail(Exit::kMismatch, engine_->path() + ": a context of " + std::to_string(context()) +
                              " tokens, found " + std::to_string(prompt.size()) +
                              "; convert it with a larger --context");
  if (const uint64_t most = summary().lookup; options.lookup > int64_t(most))
    fail(Exit::kMismatch, engine_->path() + ": --lookup " + std::to_string(options.lookup) +
                              ": at most " + std::to_string(most) +
                              "; convert it with a larger --lookup");
  const auto reused = generator_.begin({prompt.begin(), prompt.end()}, options);
  if (!reused) fail(Exit::kMismatch, engine_->path() + ": " + reused.error().text());
  return *reused;
}

bool Generation::run_until_computed(bool of_all_slots) {
  for (uint64_t left = 1; left > 0;) {
    const bool has_run = engine_->run_unless_cancelled([&]() -> Result<void> {
      const auto rest = of_all_slots ? generator_.step() : generator_.prefill();
      if (!rest) return rest.error();
      left = *rest;
      return {};
    });
    if (!has_run) return false;
  }
  return true;
}

double Generation::logprob(int32_t id) {
  Error error;
  ingot_logprob found{};
  if (ingot_generator_logprobs(generator_.get(), id, &found, 1, &error))
    fail_with(engine_->path(), error);
  return found.logprob;
}

bool Generation::next(ingot_token* token) {
  if (!prefill()) return false;
  const auto chosen = generator_.next();
  if (chosen) {
    *token = *chosen;
    return true;
  }
  const Error& error = chosen.error();
  if (error.code == INGOT_CANCELLED) return false;
  if (error.code == INGOT_NOT_FOUND && strstr(error.field, "grammar"))
    fail(Exit::kMismatch, engine_->path() + ": a dead end of the grammar: no token fits it here");
  if (error.code == INGOT_NOT_FOUND)
    fail(Exit::kMismatch, engine_->path() + ": no token is left: the logit of each is -infinity");
  if (error.code == INGOT_INVALID_ARGUMENT)
    fail(Exit::kMismatch, engine_->path() + ": the logit of token " + std::to_string(error.offset) +
                              " is not a number; the model or its weights are damaged");
  fail_with(engine_->path(), error);
}

}  // namespace ingot::cli
