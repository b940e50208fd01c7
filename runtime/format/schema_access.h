// SPDX-License-Identifier: Apache-2.0
// runtime/format/schema_access.h - the generated accessors, for runtime/format alone.
#pragma once
#include "ingot_schema/ingot_generated.h"

namespace ingot {

/// Number of entries; 0 for an absent vector.
template <class Vector>
inline uint32_t vector_size(const Vector* vector) {
  return vector ? vector->size() : 0;
}
inline const char* text_or_empty(const flatbuffers::String* text) {
  return text ? text->c_str() : "";
}

}  // namespace ingot
