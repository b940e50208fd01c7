// SPDX-License-Identifier: Apache-2.0
#include "tools/session/metadata.h"

#include <ingot_schema/metadata_generated.h>

namespace ingot::cli {
namespace {

std::string text(const flatbuffers::String* string) {
  return string ? string->str() : std::string();
}

template <class Vector, class F>
void each(const Vector* vector, F&& action) {
  if (!vector) return;
  for (const auto* element : *vector) {
    if (element) action(*element);
  }
}

}  // namespace

std::vector<uint8_t> read_part(const Engine& engine, ingot_part kind, uint32_t index) {
  Error error;
  uint64_t bytes = 0;
  if (ingot_model_part(engine.model().get(), kind, index, nullptr, 0, &bytes, &error) != INGOT_OK) {
    if (error.code == INGOT_NOT_FOUND) return {};
    fail_with(engine.path(), error);
  }
  std::vector<uint8_t> part(size_t(bytes), uint8_t(0));
  if (!part.empty() && ingot_model_part(engine.model().get(), kind, index, part.data(), bytes,
                                        &bytes, &error) != INGOT_OK) {
    fail_with(engine.path(), error);
  }
  return part;
}

Metadata read_metadata(const Engine& engine) {
  Metadata out;
  const std::vector<uint8_t> part = read_part(engine, INGOT_PART_METADATA);
  if (part.empty()) return out;
  flatbuffers::Verifier verifier(part.data(), part.size());
  if (!fb::VerifyMetadataBuffer(verifier)) {
    host::fail(
        host::Exit::kCorrupt,
        engine.path() +
            ": metadata is damaged (the model itself runs without it); convert the source again");
  }
  const fb::Metadata* m = fb::GetMetadata(part.data());
  out.present = true;
  out.name = text(m->name());
  out.version = text(m->version());
  out.licence = text(m->licence());
  out.producer = text(m->producer());
  out.source_file = text(m->source_file());
  out.source_sha256 = text(m->source_sha256());
  out.source_format = text(m->source_format());
  out.source_producer = text(m->source_producer());
  each(m->source_nodes(), [&](const fb::SourceNode& n) {
    out.nodes.push_back({text(n.name()), text(n.op()), text(n.output())});
  });
  each(m->passes(), [&](const fb::PassRecord& p) {
    out.passes.push_back({text(p.name()), text(p.note()), p.changed()});
  });
  each(m->entries(),
       [&](const fb::KeyValue& e) { out.entries.emplace_back(text(e.key()), text(e.value())); });
  each(m->labels(), [&](const flatbuffers::String& s) { out.labels.push_back(s.str()); });
  each(m->notes(), [&](const flatbuffers::String& s) { out.notes.push_back(s.str()); });
  return out;
}

}  // namespace ingot::cli
