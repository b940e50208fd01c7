// SPDX-License-Identifier: Apache-2.0
// runtime/api/translate_text.h - between text.h and runtime/generate.
#pragma once
#include "ingot/text.h"
#include "runtime/api/translate.h"
#include "runtime/generate/text_tables.h"
#include "runtime/text/constraint.h"

namespace ingot::api {

inline const TextTables* unwrap(const ingot_text* text) {
  return reinterpret_cast<const TextTables*>(text);
}

struct TextConstraint {
  text::TokenConstraint constraint;
  ObjectBlock block;
};
inline TextConstraint* unwrap(ingot_constraint* constraint) {
  return reinterpret_cast<TextConstraint*>(constraint);
}

inline ingot_code refuse_size(ingot_error* error) {
  return refuse_argument(
      "options.size: not set, or a field that this library does not know is not 0", error);
}

/// As the options (may be null) say, else of the model's allocator. The object refuses what is too
/// little.
inline ingot_code take_block(const ingot_block_options* options, const OpenModel& model,
                             uint64_t bytes, ObjectBlock* out, ingot_error* error) {
  ingot_block_options o = {};
  if (options && !read_sized(options, &o)) return refuse_size(error);
  const ingot_allocator* const a = o.allocator;
  if (a && (!a->allocate || !a->release))
    return refuse_argument("options.allocator: without allocate or release", error);
  out->allocator = a ? Allocator{a->user, a->allocate, a->release} : allocator_of(model);
  out->is_lent = o.memory != nullptr;
  out->bytes = out->is_lent ? o.memory_bytes : bytes;
  out->at = static_cast<uint8_t*>(o.memory);
  if (out->is_lent) return INGOT_OK;
  ErrorDetail detail;
  return report(allocate(out->allocator, bytes, 16, "an object's memory", &out->at, &detail),
                detail, error);
}
/// By value: the object that has it lies in it.
inline void drop_block(ObjectBlock block) {
  if (!block.is_lent) block.allocator.release(block.allocator.user, block.at, block.bytes);
}
/// The block is the object's own now, or dropped where none was made.
template <class T>
void keep_block(const ObjectBlock& block, const Status& made, T* object) {
  if (made.ok())
    object->block = block;
  else
    drop_block(block);
}

}  // namespace ingot::api
