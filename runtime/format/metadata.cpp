// SPDX-License-Identifier: Apache-2.0
#include "runtime/format/metadata.h"

#include <cstring>

#include "ingot_schema/metadata_generated.h"
#include "runtime/format/file_layout.h"

namespace ingot {

Status find_metadata(Span<const uint8_t> part, const char* key, const char** text, size_t* length,
                     ErrorDetail* detail) {
  constexpr unsigned kDepth = 8, kTables = 4u << 20;
  if (part.size > kMaxProgramBytes)
    return fail(detail, Code::kLimitExceeded, "metadata", kMaxProgramBytes, part.size);
  flatbuffers::Verifier verifier(part.data, part.size, kDepth, kTables);
  if (!fb::VerifyMetadataBuffer(verifier)) return fail(detail, Code::kStructureInvalid, "metadata");
  const fb::Metadata* metadata = fb::GetMetadata(part.data);
  const struct {
    const char* key;
    const flatbuffers::String* value;
  } own[] = {{"name", metadata->name()},
             {"version", metadata->version()},
             {"licence", metadata->licence()},
             {"producer", metadata->producer()},
             {"source_file", metadata->source_file()},
             {"source_format", metadata->source_format()},
             {"source_sha256", metadata->source_sha256()},
             {"source_producer", metadata->source_producer()}};
  const flatbuffers::String* found = nullptr;
  for (const auto& row : own)
    if (row.value && std::strcmp(row.key, key) == 0) found = row.value;
  if (!found && metadata->entries())
    for (const fb::KeyValue* entry : *metadata->entries())
      if (std::strcmp(entry->key()->c_str(), key) == 0) {
        found = entry->value();
        break;
      }
  if (!found) return fail(detail, Code::kNotFound, "metadata key");
  *text = found->c_str(), *length = found->size();
  return {};
}

}  // namespace ingot
