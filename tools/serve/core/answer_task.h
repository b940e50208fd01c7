// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/answer_task.h - one answer of a language model: what was asked, and who takes
// the tokens as they come.
// Threads  one at a time: the protocol's until submit(), the slot's until end() or fail().
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/include/ingot/text.hpp"
#include "tools/serve/core/serve_error.h"

namespace ingot::serve {

struct AnswerRequest {
  std::vector<int32_t> prompt;
  std::vector<ingot_setting> settings;  // names are those of ingot_setting_at()
  uint64_t seed = 0;
  std::vector<ingot_logit_bias> biases;
  std::vector<std::string> stop_texts;
  std::vector<uint8_t> grammar;  // compiled; empty: any text
  uint32_t tokens = 0;           // at most; 0: until another end
  bool ignores_end = false;      // a control token does not end it
  int32_t top_logprobs = -1;     // how many, beside the token's own; -1: not that one either
};

/// A token, and what the answer says with it for sure.
struct AnswerPiece {
  int32_t id = 0;
  bool is_control = false;  // it ends the answer and is no part of it
  std::string_view text;
  std::span<const ingot_logprob> logprobs;  // the token's own first
};

struct AnswerCounts {
  uint64_t prompt = 0, cached = 0, generated = 0;  // tokens
};

/// None of the calls may wait.
class AnswerTask {
 public:
  virtual ~AnswerTask() = default;
  /// The request is sound, and a slot computes it.
  virtual void begin() = 0;
  virtual void add(const AnswerPiece& piece) = 0;
  /// The last call is one of these two.
  virtual void end(ingot_end why) = 0;
  virtual void fail(Refusal why, const std::string& text) = 0;
  /// Whether nobody waits for it any more. Any thread.
  virtual bool is_gone() const = 0;

  AnswerRequest request;
  AnswerCounts counts;                      // complete before end(), the prompt's before begin()
  int32_t stop_text = -1;                   // of the request, that ended it
  uint64_t queued_ns = 0, deadline_ns = 0;  // of ingot_clock_ns()
};

}  // namespace ingot::serve
