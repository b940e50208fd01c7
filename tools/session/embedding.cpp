// SPDX-License-Identifier: Apache-2.0
#include "tools/session/embedding.h"

#include <algorithm>
#include <cstring>

namespace ingot::cli {
namespace {

constexpr const char* kTokens = "tokens";
constexpr const char* kVector = "embedding";

}  // namespace

Embedding::Embedding(Engine* engine, SessionSettings settings) : engine_(engine) {
  const auto input = engine->model().input(kTokens);
  const auto output = engine->model().output(kVector);
  if (!input || !output || input->dtype != INGOT_I32 || input->rank != 2 ||
      output->dtype != INGOT_F32 || output->rank != 2 || output->dims[1] < 1)
    host::fail(host::Exit::kMismatch,
               engine->path() + ": is no embedding model: it has no " +
                   (input ? "output 'embedding'" : "input 'tokens'") +
                   "; convert one from a folder of sentence-transformers or its GGUF file");
  width_ = output->dims[1];
  const bool is_open = input->dim_symbol[1] >= 0;
  context_ = is_open ? engine->model().symbol(uint32_t(input->dim_symbol[1]))->high : 1;
  settings.flags |= INGOT_REBINDABLE;
  engine->bind_dims({{"T", 1}});
  engine->create_session(settings);
}

bool Embedding::run(const std::vector<int32_t>& ids, float* vector) {
  Session& session = engine_->session();
  const auto check = [&](const auto& result) {
    if (!result) fail_with(engine_->path(), result.error());
  };
  check(session.rebind("T", int64_t(ids.size())));
  const auto tokens = session.input<int32_t>(kTokens);
  check(tokens);
  std::copy(ids.begin(), ids.end(), tokens->begin());
  if (!engine_->run_unless_cancelled()) return false;
  const auto found = session.output<float>(kVector);
  check(found);
  std::copy(found->begin(), found->end(), vector);
  return true;
}

bool cut(const TokenizerView& tokenizer, int64_t most, std::vector<int32_t>* ids) {
  if (int64_t(ids->size()) <= most) return false;
  const auto behind = std::ptrdiff_t(std::min<uint64_t>(tokenizer.suffix.size, uint64_t(most)));
  ids->erase(ids->begin() + most - behind, ids->end() - behind);
  return true;
}

}  // namespace ingot::cli
