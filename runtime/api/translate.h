// SPDX-License-Identifier: Apache-2.0
// runtime/api/translate.h - between the structs of ingot.h and those of the runtime.
#pragma once
#include <cstddef>
#include <cstring>

#include "ingot/ingot.h"
#include "runtime/session/session.h"

namespace ingot::api {

inline const OpenModel* unwrap(const ingot_model* model) {
  return reinterpret_cast<const OpenModel*>(model);
}
inline RunSession* unwrap(ingot_session* session) { return reinterpret_cast<RunSession*>(session); }
inline const RunSession* unwrap(const ingot_session* session) {
  return reinterpret_cast<const RunSession*>(session);
}

/// Writes the caller's error (which may be null) when status is not ok, and gives its code.
ingot_code report(const Status& status, const ErrorDetail& detail, ingot_error* error);
/// A null or senseless argument.
ingot_code refuse_number(const char* field, uint64_t need, uint64_t have, ingot_error* error);
ingot_code refuse_argument(const char* field, ingot_error* error,
                           ingot_code code = INGOT_INVALID_ARGUMENT);

/// Session options as the runtime has them; null: all defaults.
ingot_code translate(const ingot_session_options* given, SessionRequest* out, ingot_error* error);

/// Copies a struct that starts with its size; what the caller's lacks is zero, and what this
/// library does not know must be.
template <class T>
bool read_sized(const T* from, T* to) {
  std::memset(to, 0, sizeof *to);
  if (from->size < sizeof(size_t)) return false;
  std::memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(from);
  for (size_t i = sizeof *to; i < from->size; i++)
    if (bytes[i]) return false;
  return true;
}
/// Writes as much as the caller's struct holds, which keeps its size; what this library does not
/// know becomes zero.
template <class T>
bool write_sized(const T& from, T* to) {
  const size_t size = to->size;
  if (size < sizeof(size_t)) return false;
  std::memset(to, 0, size);
  std::memcpy(to, &from, size < sizeof from ? size : sizeof from);
  to->size = size;
  return true;
}

inline ingot_code wrote(bool ok) {
  return ok ? ingot_code{INGOT_OK} : ingot_code{INGOT_INVALID_ARGUMENT};
}

ingot_tensor tensor_of(const TensorView& view);
/// False when dtype or rank is out of range.
bool view_of(const ingot_tensor& tensor, TensorView* out);
ingot_instruction instruction_of(const OpenModel& model, uint32_t index);

}  // namespace ingot::api
