// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate/text_tables.h"

#include <new>

#include "runtime/base/bump_allocator.h"
#include "runtime/base/check_memory.h"

namespace ingot {
namespace {

constexpr uint8_t kLaterVersion[] = "its chat template is of a later version";

struct TextPlaces {
  TextTables* tables;
  uint8_t* copy;
};

TextPlaces take_text_places(const OpenModel& model, uint64_t part_bytes, BumpAllocator* from) {
  TextPlaces p;
  p.tables = from->take<TextTables>(1, 16);
  p.copy = model.source.memory ? nullptr : from->take<uint8_t>(part_bytes, 16);
  return p;
}

Status find_part(const OpenModel& model, PartEntry* part, ErrorDetail* detail) {
  if (model.file.text_part < 0)
    return fail(detail, Code::kNotFound,
                "the file has no tokenizer; convert it from a source with "
                "one");
  *part = file_part(model.file, uint32_t(model.file.text_part));
  if (part->bytes > kMaxTextBytes)
    return fail(detail, Code::kLimitExceeded, "text", kMaxTextBytes, part->bytes);
  return {};
}

}  // namespace

Status measure_text_tables(const OpenModel& model, uint64_t* bytes, ErrorDetail* detail) {
  PartEntry part = {};
  INGOT_TRY(find_part(model, &part, detail));
  BumpAllocator bump(nullptr);
  (void)take_text_places(model, part.bytes, &bump);
  *bytes = bump.used();
  return {};
}

Status open_text_tables(const OpenModel& model, Span<uint8_t> memory, TextTables** out,
                        ErrorDetail* detail) {
  PartEntry part = {};
  INGOT_TRY(find_part(model, &part, detail));
  const uint32_t index = uint32_t(model.file.text_part);
  BumpAllocator bump(memory.data);
  const TextPlaces places = take_text_places(model, part.bytes, &bump);
  INGOT_TRY(check_memory(memory, bump.used(), "memory of a tokenizer", detail));
  const uint8_t* bytes = places.copy;
  if (places.copy) {
    INGOT_TRY(
        read_part(model.source, model.file, index, {places.copy, size_t(part.bytes)}, detail));
  } else {
    bytes = model.source.memory + part.offset;
    INGOT_TRY(check_part_hash(model.source, model.file, index, detail));
  }
  TextTables tables;
  tables.model = &model;
  const Span<const uint8_t> all = {bytes, size_t(part.bytes)};
  INGOT_TRY(open_text(all, &tables.tokenizer, detail));
  const Status chat = open_template(all, &tables.chat, detail);
  if (chat.code() == Code::kUnsupportedFeature)
    tables.chat.refused = {kLaterVersion, sizeof kLaterVersion - 1};
  else if (!chat.ok() && chat.code() != Code::kNotFound)
    return chat;
  tables.has_chat = chat.code() != Code::kNotFound;
  *out = new (places.tables) TextTables(tables);
  return {};
}

}  // namespace ingot
