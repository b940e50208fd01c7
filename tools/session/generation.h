// SPDX-License-Identifier: Apache-2.0
// tools/session/generation.h - a language model's answers on the command line: runtime/generate
// over an Engine, each run under its watch, failures as lines.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/include/ingot/text.hpp"
#include "tools/session/engine.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {

/// The text of the engine's file. @throws Failure kMismatch where it has no tokenizer
Text open_text(const Engine& engine);
/// What the command line says with it, while it lasts.
vocabulary::LoadedTokenizer tokenizer_of(const Text& text, const std::string& file);

class Generation {
 public:
  /// Makes the session, for runs of 1 to the most tokens in one arena.
  /// @param text  null: tokens alone
  /// @throws Failure kMismatch for a file that is no language model.
  Generation(Engine* engine, SessionSettings settings, const Text* text);

  /// Tokens are proposed by the model of a file of the same tokens; settings.arena_limit is of
  /// both sessions. @throws Failure kMismatch with the first token that differs
  void draft_by(const std::string& path, const OpenSettings& open, SessionSettings settings);
  /// Null: none.
  const Engine* draft() const { return draft_engine_.get(); }

  int64_t context() const { return int64_t(generator_.summary().context); }
  int64_t vocabulary() const { return int64_t(generator_.summary().vocabulary); }
  uint32_t slots() const { return uint32_t(generator_.summary().slots); }
  /// Also what look-up or the draft proposed, and what of it was accepted, of the answer.
  ingot_generator_summary summary() const { return generator_.summary(); }

  /// @throws Failure kMismatch for one of a token that there is not
  void check_biases(std::span<const ingot_logit_bias> biases) const;
  /// Answers are texts of the compiled grammar, which outlives them; none, if it is empty.
  void constrain(const Text& text, std::span<const uint8_t> grammar);
  /// Begins an answer. @return tokens of the prompt that the caches hold already
  /// @throws Failure kMismatch where they do not fit the context, with both numbers
  uint64_t begin(std::span<const int32_t> prompt, const ingot_answer_options& options);
  /// Computes the prompt, a part at a time. False: cancelled.
  bool prefill() { return run_until_computed(false); }
  /// Computes what the answers of all slots are behind, together. False: cancelled.
  bool step() { return run_until_computed(true); }
  SlotGenerator slot(uint32_t index) const { return generator_.slot(index); }
  /// Natural logarithm of the probability of a token behind the prompt. @pre prefill()
  double logprob(int32_t id);
  /// The next token. False: cancelled.
  bool next(ingot_token* token);
  /// Any thread, and a signal handler.
  void cancel() { generator_.cancel(); }

 private:
  bool run_until_computed(bool of_all_slots);

  Engine* engine_;
  const Text* text_;
  Constraint constraint_;
  std::unique_ptr<Engine> draft_engine_;
  Text draft_text_;
  Generator draft_;
  Generator generator_;
};

}  // namespace ingot::cli
