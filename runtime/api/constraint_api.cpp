// SPDX-License-Identifier: Apache-2.0
// runtime/api/constraint_api.cpp - constraints of an answer, and the grammar that one has.
#include <new>

#include "runtime/api/translate_text.h"
#include "runtime/base/bump_allocator.h"
#include "runtime/base/check_memory.h"

using namespace ingot;
using namespace ingot::api;

namespace {

struct Places {
  TextConstraint* object;
  uint8_t* memory;
  uint64_t used;
};

Places take_places(const TextTables& text, uint8_t* base) {
  BumpAllocator bump(base);
  Places p;
  p.object = bump.take<TextConstraint>(1, 16);
  p.memory = bump.take<uint8_t>(text::TokenConstraint::measure(text.tokenizer), 16);
  p.used = bump.used();
  return p;
}

Status make(const TextTables& text, const ObjectBlock& block, TextConstraint** out,
            ErrorDetail* detail) {
  const Places p = take_places(text, block.at);
  INGOT_TRY(
      check_memory({block.at, size_t(block.bytes)}, p.used, "memory of a constraint", detail));
  *out = new (p.object) TextConstraint;
  const uint64_t bytes = text::TokenConstraint::measure(text.tokenizer);
  return (*out)->constraint.place(text.tokenizer, {p.memory, size_t(bytes)}, detail);
}

}  // namespace

extern "C" {

ingot_code ingot_constraint_requirements(const ingot_text* text, uint64_t* out_bytes,
                                         ingot_error* error) {
  if (!text || !out_bytes) return refuse_argument("text or out_bytes is null", error);
  *out_bytes = take_places(*unwrap(text), nullptr).used;
  return INGOT_OK;
}

ingot_code ingot_constraint_create(const ingot_text* text, const ingot_block_options* options,
                                   ingot_constraint** out_constraint, ingot_error* error) {
  if (!out_constraint) return refuse_argument("out_constraint is null", error);
  *out_constraint = nullptr;
  if (!text) return refuse_argument("text is null", error);
  const TextTables& tables = *unwrap(text);
  ObjectBlock block;
  const uint64_t bytes = take_places(tables, nullptr).used;
  if (const ingot_code code = take_block(options, *tables.model, bytes, &block, error)) return code;
  ErrorDetail detail;
  TextConstraint* made = nullptr;
  const Status status = make(tables, block, &made, &detail);
  keep_block(block, status, made);
  if (status.ok()) *out_constraint = reinterpret_cast<ingot_constraint*>(made);
  return report(status, detail, error);
}

void ingot_constraint_destroy(ingot_constraint* constraint) {
  if (constraint) drop_block(unwrap(constraint)->block);
}

ingot_code ingot_constraint_set(ingot_constraint* constraint, const void* grammar, uint64_t bytes,
                                ingot_error* error) {
  if (!constraint || !grammar) return refuse_argument("constraint or grammar is null", error);
  ErrorDetail detail;
  const Status status =
      unwrap(constraint)
          ->constraint.set({static_cast<const uint8_t*>(grammar), size_t(bytes)}, &detail);
  return report(status, detail, error);
}

}  // extern "C"
