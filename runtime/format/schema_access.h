// SPDX-License-Identifier: Apache-2.0
// runtime/format/schema_access.h - the generated accessors, for runtime/format alone.
#pragma once
#include "ingot_schema/ingot_generated.h"
#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot {

/// Number of entries; 0 for an absent vector.
template <class Vector>
inline uint32_t vector_size(const Vector* vector) {
  return vector ? vector->size() : 0;
}
inline const char* text_or_empty(const flatbuffers::String* text) {
  return text ? text->c_str() : "";
}
/// Numbers or rows as they lie; T is as the generated type. Empty for an absent vector.
template <class T, class Vector>
inline Span<const T> span_of(const Vector* vector) {
  if (!vector) return {};
  return {reinterpret_cast<const T*>(vector->Data()), vector->size()};
}
/// kMeaningInvalid{field, operand}.
inline Status refuse_meaning(ErrorDetail* detail, const char* field, uint64_t operand = 0,
                             uint64_t need = 0, uint64_t have = 0) {
  const Status bad = fail(detail, Code::kMeaningInvalid, field, need, have);
  if (detail) detail->operand = int32_t(operand);
  return bad;
}

}  // namespace ingot
