// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/embedding_model.h - texts of an embedding model: its tokenizer and its ports. A
// text is a request like any other: tokens in, one vector out.
// Threads  any.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/include/ingot/text.hpp"

namespace ingot::serve {

struct Job;

class EmbeddingModel {
 public:
  static constexpr size_t kMaxInputs = 2048;  // of a request

  /// Null where `*why_not` says why it is none.
  static std::unique_ptr<EmbeddingModel> open(const Model& model, std::string* why_not);

  uint64_t context() const { return context_; }
  uint64_t width() const { return width_; }
  uint64_t vocabulary() const { return text_.summary().token_count; }
  /// Of a request at most, of as many texts as may be in one.
  uint64_t largest_body() const { return (uint64_t{1} << 20) + 16 * context_ * kMaxInputs; }

  /// @throws ServeError kInvalid
  std::vector<int32_t> encode(const std::string& text) const;
  /// Makes the job ask for the vector of so many tokens.
  static void ask(const std::vector<int32_t>& ids, Job* job);
  /// Of a job that ran.
  static const float* vector(const Job& job);

 private:
  Text text_;
  uint64_t context_ = 0, width_ = 0;
};

}  // namespace ingot::serve
