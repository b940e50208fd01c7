// SPDX-License-Identifier: Apache-2.0
// tools/session/engine_states.cpp - state variables of a session, wherever they lie: a device that
// keeps them to itself hands out, and takes, only what a saved state holds.
#include <algorithm>

#include "runtime/format/state_file.h"
#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

/// Variable i as the saved state has it, to be read and written there.
ingot_tensor tensor_in(std::vector<uint8_t>* saved, uint32_t i) {
  StateFile file;
  StateRecord record;
  uint64_t at = kStateHeaderBytes;
  bool found = open_state_file(saved->data(), saved->size(), &file, nullptr).ok();
  for (uint32_t k = 0; found && k <= i; k++) found = next_state_record(file, &at, &record);
  ingot_tensor tensor{};
  if (!found) return tensor;
  tensor.data = saved->data() + (record.data - saved->data());
  tensor.bytes = record.bytes;
  tensor.dtype = ingot_dtype(record.type.dtype);
  tensor.rank = record.type.rank;
  std::copy(record.type.dims, record.type.dims + tensor.rank, tensor.dims);
  tensor.row_stride = record.type.row_length();
  return tensor;
}

}  // namespace

ingot_tensor Engine::state_tensor(uint32_t i) {
  if (const auto tensor = session_.state(i)) return *tensor;  // else the device keeps it to itself
  Result<std::vector<uint8_t>> saved = session_.save_state();
  const std::string where = path_ + ": state '" + state(i).type.name + "'";
  if (!saved.ok()) fail_with(where, saved.error());
  saved_states_ = std::move(*saved);
  return tensor_in(&saved_states_, i);
}

void Engine::set_state(uint32_t i, const host::Array& array, const std::string& where) {
  set_port(state_tensor(i), array, where);
  if (session_.state(i)) return;
  const uint64_t hashed = saved_states_.size() - kSha256Bytes;
  sha256(saved_states_.data(), hashed, saved_states_.data() + hashed);
  const Result<void> done = session_.restore_state(saved_states_.data(), saved_states_.size());
  if (!done.ok()) fail_with(where, done.error());
}

}  // namespace ingot::cli
