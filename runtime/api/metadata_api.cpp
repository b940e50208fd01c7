// SPDX-License-Identifier: Apache-2.0
// runtime/api/metadata_api.cpp - one text out of the metadata part, read on demand.
#include <cstring>

#include "runtime/api/translate.h"
#include "runtime/format/metadata.h"

using namespace ingot;
using namespace ingot::api;

extern "C" ingot_code ingot_model_metadata(const ingot_model* model, const char* key, char* out,
                                           uint64_t capacity, uint64_t* out_bytes,
                                           ingot_error* error) {
  if (out_bytes) *out_bytes = 0;
  if (!model || !key || !out_bytes || (!out && capacity))
    return refuse_argument("model, key, out or out_bytes is null", error);
  const OpenModel& m = *unwrap(model);
  if (m.file.metadata_part < 0)
    return refuse_argument("metadata: the file carries none", error, INGOT_NOT_FOUND);
  const PartEntry part = file_part(m.file, uint32_t(m.file.metadata_part));
  ErrorDetail detail;
  uint8_t* block = nullptr;
  Status status;
  const uint8_t* bytes = m.source.memory ? m.source.memory + part.offset : nullptr;
  if (!bytes) {
    if (!m.allocator.allocate)
      return refuse_argument("metadata: the model has no allocator", error);
    status = allocate(m.allocator, part.bytes, 16, "metadata", &block, &detail);
    if (status.ok()) status = read_source(m.source, part.offset, block, part.bytes, &detail);
    bytes = block;
  }
  const char* text = nullptr;
  size_t length = 0;
  if (status.ok())
    status = find_metadata({bytes, size_t(part.bytes)}, key, &text, &length, &detail);
  if (status.ok()) {
    *out_bytes = length;
    if (capacity && capacity < length)
      status = fail(&detail, Code::kInvalidArgument, "capacity: at least", length, capacity);
    else if (capacity)
      std::memcpy(out, text, length);
  }
  if (status.code() == Code::kNotFound) name_error(&detail, key);
  if (block) m.allocator.release(m.allocator.user, block, part.bytes);
  return report(status, detail, error);
}
