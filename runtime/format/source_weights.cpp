// SPDX-License-Identifier: Apache-2.0
#include "runtime/format/source_weights.h"

#include "ingot_schema/metadata_generated.h"
#include "runtime/format/file_layout.h"

namespace ingot {
namespace {

using Rows = flatbuffers::Vector<flatbuffers::Offset<fb::SourceWeight>>;

const fb::SourceWeight& row(const void* rows, uint32_t i) {
  return *static_cast<const Rows*>(rows)->Get(i);
}

}  // namespace

Status SourceWeights::open(Span<const uint8_t> part, SourceWeights* out, ErrorDetail* detail) {
  constexpr unsigned kDepth = 8, kTables = 4u << 20;
  *out = SourceWeights();
  if (part.size > kMaxProgramBytes)
    return fail(detail, Code::kLimitExceeded, "metadata", kMaxProgramBytes, part.size);
  flatbuffers::Verifier verifier(part.data, part.size, kDepth, kTables);
  if (!fb::VerifyMetadataBuffer(verifier)) return fail(detail, Code::kStructureInvalid, "metadata");
  const Rows* rows = fb::GetMetadata(part.data)->weights();
  out->rows_ = rows;
  out->size_ = rows ? rows->size() : 0;
  return {};
}

int32_t SourceWeights::value(uint32_t i) const { return row(rows_, i).value(); }

const char* SourceWeights::device(uint32_t i) const {
  const flatbuffers::String* device = row(rows_, i).device();
  return device ? device->c_str() : "";
}

size_t SourceWeights::name(uint32_t i, char* out, size_t size) const {
  size_t length = 0;
  const auto add = [&](char c) {
    if (length + 1 < size) out[length] = c;
    length++;
  };
  for (const flatbuffers::String* key : *row(rows_, i).path()) {
    if (length) add('.');
    for (const char* c = key->c_str(); *c; c++) add(*c);
  }
  if (size) out[length < size ? length : size - 1] = 0;
  return length;
}

bool SourceWeights::dims(uint32_t i, uint8_t* rank, int64_t* dims) const {
  const auto* from = row(rows_, i).dims();
  *rank = 0;
  if (!from) return true;
  if (from->size() > uint32_t(kMaxRank)) return false;
  for (uint32_t d = 0; d < from->size(); d++) {
    dims[d] = from->Get(d);
    if (dims[d] < 0) return false;
  }
  *rank = uint8_t(from->size());
  return true;
}

}  // namespace ingot
