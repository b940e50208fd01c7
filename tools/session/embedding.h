// SPDX-License-Identifier: Apache-2.0
// tools/session/embedding.h - vectors of texts by an embedding model (docs/llm.md): tokens go in,
// "embedding" comes out.
#pragma once
#include <string>
#include <vector>

#include "tools/session/engine.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {

class Embedding {
 public:
  /// Makes the session, for texts of 1 token to the context in one arena.
  /// @throws Failure kMismatch for a file that is no embedding model
  Embedding(Engine* engine, SessionSettings settings);

  int64_t context() const { return context_; }
  int64_t width() const { return width_; }
  /// Of 1 to context() tokens. False: cancelled.
  bool run(const std::vector<int32_t>& ids, float* vector);

 private:
  Engine* engine_;
  int64_t context_ = 0, width_ = 0;
};

/// Tokens in the middle of a text are left out until `most` are there: what the model wants behind
/// a text stays. False: all of them were few enough.
bool cut(const TokenizerView& tokenizer, int64_t most, std::vector<int32_t>* ids);

}  // namespace ingot::cli
