// SPDX-License-Identifier: Apache-2.0
#include "tools/session/generation.h"

#include <algorithm>
#include <cstring>

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

constexpr const char* kLength = "T";  // the symbol of tokens in a run

uint32_t port_of(const std::vector<std::string>& names, const std::string& name,
                 const std::string& file) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail(Exit::kMismatch, file + ": is no language model: it has no port '" + name +
                              "'; convert one from a GGUF file or a Hugging Face folder");
  return uint32_t(found - names.begin());
}

/// The bound of tokens in a run.
int64_t most_of(const Engine& engine) {
  for (uint32_t i = 0; i < engine.summary().symbol_count; i++) {
    const auto symbol = engine.model().symbol(i);
    if (symbol && std::strcmp(symbol->name, kLength) == 0)
      return std::max<int64_t>(symbol->high, 1);  // 0: no bound
  }
  return 1;
}

/// The port's memory for `bytes` of this type. @throws Failure where the session's has other ones
void* memory_of(const Engine& engine, const char* name, const Result<ingot_tensor>& port,
                ingot_dtype dtype, size_t bytes) {
  if (!port) fail_with(engine.path(), port.error());
  const ingot_tensor tensor = port.value();
  if (tensor.dtype != dtype || tensor.bytes != bytes || !tensor.data)
    fail(Exit::kMismatch, engine.path() + ": is no language model: port '" + name + "' has " +
                              std::to_string(tensor.bytes) + " bytes of " +
                              ingot_dtype_name(tensor.dtype) + ", expected " +
                              std::to_string(bytes) + " of " + ingot_dtype_name(dtype) +
                              "; docs/llm.md has the ports");
  return tensor.data;
}

/// Rows of the largest cache.
int64_t context_of(const Engine& engine) {
  int64_t rows = 0;
  for (uint32_t i = 0; i < engine.summary().state_count; i++) {
    const ingot_value_type type = engine.state(i).type;
    if (type.rank > 0) rows = std::max<int64_t>(rows, type.dims[0]);
  }
  return rows;
}

}  // namespace

Generation::Generation(Engine* engine, SessionSettings settings) : engine_(engine) {
  tokens_ = port_of(engine->input_names(), "tokens", engine->path());
  place_ = port_of(engine->input_names(), "position", engine->path());
  logits_ = port_of(engine->output_names(), "logits", engine->path());
  most_tokens_ = most_of(*engine);
  context_ = context_of(*engine);
  settings.flags |= INGOT_REBINDABLE;
  engine->bind_dims({{kLength, 1}});
  engine->create_session(settings);
  Session& session = engine->session();
  (void)memory_of(*engine, "tokens", session.input(tokens_), INGOT_I32, sizeof(int32_t));
  (void)memory_of(*engine, "position", session.input(place_), INGOT_I64, sizeof position_);
  const auto logits = session.output(logits_);
  if (!logits) fail_with(engine->path(), logits.error());
  vocabulary_ = int64_t(logits.value().bytes / sizeof(float));
  (void)memory_of(*engine, "logits", logits, INGOT_F32, size_t(vocabulary_) * sizeof(float));
}

void Generation::run_part(std::span<const int32_t> ids) {
  Session& session = engine_->session();
  if (int64_t(ids.size()) != bound_) {
    const auto bound = session.rebind(kLength, int64_t(ids.size()));
    if (!bound) fail_with(engine_->path(), bound.error());
    bound_ = int64_t(ids.size());
  }
  std::memcpy(memory_of(*engine_, "tokens", session.input(tokens_), INGOT_I32, ids.size_bytes()),
              ids.data(), ids.size_bytes());
  std::memcpy(memory_of(*engine_, "position", session.input(place_), INGOT_I64, sizeof position_),
              &position_, sizeof position_);
  engine_->run();
  position_ += int64_t(ids.size());
}

std::span<const float> Generation::feed(std::span<const int32_t> ids) {
  if (int64_t(ids.size()) > context_ - position_)
    fail(Exit::kMismatch,
         engine_->path() + ": a context of " + std::to_string(context_) + " tokens, found " +
             (position_ ? std::to_string(position_) + " in use and " : "") +
             std::to_string(ids.size()) + " more; convert it with a larger --context");
  if (ids.empty()) return {};
  while (!ids.empty()) {
    const size_t part = std::min(ids.size(), size_t(most_tokens_));
    run_part(ids.first(part));
    ids = ids.subspan(part);
  }
  const void* const logits = memory_of(*engine_, "logits", engine_->session().output(logits_),
                                       INGOT_F32, size_t(vocabulary_) * sizeof(float));
  return {static_cast<const float*>(logits), size_t(vocabulary_)};
}

}  // namespace ingot::cli
