// SPDX-License-Identifier: Apache-2.0
// runtime/api/state_api.cpp - state variables: listed, seen, saved, restored, checked; parking.
#include "runtime/api/translate.h"

using namespace ingot;
using namespace ingot::api;

extern "C" {

ingot_code ingot_model_state(const ingot_model* model, uint32_t index, ingot_state* out_state) {
  if (!model || !out_state) return INGOT_INVALID_ARGUMENT;
  const Span<const StateDef> states = unwrap(model)->program.states;
  if (index >= states.size) return INGOT_NOT_FOUND;
  ingot_state state = {};
  if (const ingot_code code = ingot_model_value(model, uint32_t(states[index].value), &state.type))
    return code;
  state.type.name = states[index].name;
  state.output_name = states[index].output_name;
  state.has_initial_value = states[index].init >= 0;
  return wrote(write_sized(state, out_state));
}

int32_t ingot_model_find_state(const ingot_model* model, const char* name) {
  if (!model || !name) return -1;
  const Span<const StateDef> states = unwrap(model)->program.states;
  for (size_t i = 0; i < states.size; i++)
    if (std::strcmp(states[i].name, name) == 0) return int32_t(i);
  return -1;
}

ingot_code ingot_session_state(ingot_session* session, uint32_t index, ingot_tensor* out_tensor) {
  if (!session || !out_tensor) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  if (index >= s.model->program.states.size) return INGOT_NOT_FOUND;
  if (!s.device.interface->host_memory) return INGOT_WRONG_STATE;
  *out_tensor = tensor_of(s.tables.states[index].view);
  return INGOT_OK;
}

ingot_code ingot_session_save_state(ingot_session* session, void* out, uint64_t capacity,
                                    uint64_t* out_bytes, ingot_error* error) {
  if (out_bytes) *out_bytes = 0;
  if (!session || !out_bytes || (!out && capacity))
    return refuse_argument("session, out or out_bytes is null", error);
  ErrorDetail detail;
  return report(
      save_state(unwrap(session), static_cast<uint8_t*>(out), capacity, out_bytes, &detail), detail,
      error);
}

ingot_code ingot_session_restore_state(ingot_session* session, const void* state, uint64_t bytes,
                                       ingot_error* error) {
  if (!session || !state) return refuse_argument("session or state is null", error);
  ErrorDetail detail;
  return report(restore_state(unwrap(session), static_cast<const uint8_t*>(state), bytes, &detail),
                detail, error);
}

ingot_code ingot_session_check_state(ingot_session* session, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  ErrorDetail detail;
  return report(check_state(unwrap(session), &detail), detail, error);
}

ingot_code ingot_session_park(ingot_session* session, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  ErrorDetail detail;
  return report(park_session(unwrap(session), &detail), detail, error);
}

}  // extern "C"
