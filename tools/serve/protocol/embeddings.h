// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/embeddings.h - the body of /v1/embeddings, OpenAI's, and the reply to it.
// Bytes    a client's: depth, kinds, counts and ranges are checked.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/core/repository.h"

namespace ingot::serve {

struct Embeddings {
  std::shared_ptr<ServedModel> model;
  std::string name;  // as the client wrote it
  bool is_base64 = false;
  std::vector<std::vector<int32_t>> inputs;
  size_t done = 0;
  std::string reply;  // as far as it is made
};

/// @throws ServeError, with the field
Embeddings read_embeddings(const Repository& repository, std::string_view body);
/// The vector of the next input.
void add_embedding(const float* vector, Embeddings* request);
/// Behind all of them.
void end_embeddings(Embeddings* request);

}  // namespace ingot::serve
