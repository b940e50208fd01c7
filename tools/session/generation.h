// SPDX-License-Identifier: Apache-2.0
// tools/session/generation.h - a decoder token by token: the session of a file with the ports of
// docs/llm.md (tokens, position, logits) and its caches.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

class Generation {
 public:
  /// Makes the session, for runs of 1 to most_tokens() tokens in one arena.
  /// @throws Failure kMismatch for a file without these ports.
  Generation(Engine* engine, SessionSettings settings);

  int64_t context() const { return context_; }          // tokens that the caches hold
  int64_t most_tokens() const { return most_tokens_; }  // of one run
  int64_t vocabulary() const { return vocabulary_; }
  int64_t position() const { return position_; }  // tokens in the caches
  /// Begins anew, or goes back: the caches count as having so many tokens.
  void rewind(int64_t position) { position_ = position; }

  /// Computes `ids` behind those in the caches, in parts where they are many.
  /// @return the logits of the last of them, until the next call; empty where `ids` is
  /// @throws Failure kMismatch where they do not fit the context, with both numbers
  std::span<const float> feed(std::span<const int32_t> ids);

 private:
  void run_part(std::span<const int32_t> ids);

  Engine* engine_;
  uint32_t tokens_ = 0, place_ = 0, logits_ = 0;  // ports
  int64_t context_ = 0, most_tokens_ = 1, vocabulary_ = 0, position_ = 0, bound_ = 1;
};

}  // namespace ingot::cli
