// SPDX-License-Identifier: Apache-2.0
// tools/cli/commands/firmware_answer.h - what a language model in a firmware is asked, and what it
// answers on this machine.
#pragma once
#include <optional>
#include <string>

#include "tools/compile/firmware/answer.h"

namespace ingot::cli {

/// --generate, --prompt and --prompt-ids as they were given.
struct AnswerArguments {
  std::string tokens;
  std::optional<std::string> prompt, prompt_ids;

  bool is_asked() const { return !tokens.empty(); }
  /// @throws Failure kUsage where one excludes another, or a number is none.
  void check() const;
};

/// Tokens of the prompt and of the longest answer. @throws as make_answer().
int64_t tokens_of(const std::string& source, const std::string& file,
                  const AnswerArguments& arguments);

/// As `ingot generate` answers, without drawing. `file` is what was converted of `source`, for one
/// token in a run. @throws Failure kMismatch: no language model, no tokenizer for a text, a token
/// that the model has not, a context that is too short.
firmware::ProjectAnswer make_answer(const std::string& source, const std::string& file,
                                    const AnswerArguments& arguments);

}  // namespace ingot::cli
