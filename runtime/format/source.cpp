// SPDX-License-Identifier: Apache-2.0
// runtime/format/source.cpp - three kinds of source behind one bounded read.
#include "runtime/format/source.h"

#include <cstring>

namespace ingot {

Status source_from_path(const char* path, Source* out, ErrorDetail* detail) {
  *out = Source{};
  return os::open_file(path, &out->file, &out->bytes, detail);
}

Status source_from_memory(const void* memory, uint64_t bytes, Source* out, ErrorDetail* detail) {
  *out = Source{};
  if (!memory) return fail(detail, Code::kInvalidArgument, "source.memory is null");
  if (reinterpret_cast<uintptr_t>(memory) % 16 != 0)
    return fail(detail, Code::kMisaligned, "source.memory", 16,
                reinterpret_cast<uintptr_t>(memory) % 16);
  out->memory = static_cast<const uint8_t*>(memory);
  out->bytes = bytes;
  return {};
}

Status source_from_reader(uint64_t bytes, ReadFunction read, void* context, Source* out,
                          ErrorDetail* detail) {
  *out = Source{};
  if (!read) return fail(detail, Code::kInvalidArgument, "source.read is null");
  out->bytes = bytes;
  out->read = read;
  out->context = context;
  return {};
}

void close_source(Source* source) {
  os::close_file(&source->file);
  *source = Source{};
}

Status read_source(const Source& source, uint64_t offset, void* destination, uint64_t bytes,
                   ErrorDetail* detail) {
  if (offset > source.bytes || bytes > source.bytes - offset)
    return fail(detail, Code::kTruncated, "file: ends early", bytes,
                offset < source.bytes ? source.bytes - offset : 0, offset);
  if (bytes == 0) return {};
  if (source.memory) {
    memcpy(destination, source.memory + offset, size_t(bytes));
    return {};
  }
  if (source.file.is_open()) return os::read_file(source.file, offset, destination, bytes, detail);
  if (source.read && source.read(source.context, offset, destination, bytes)) return {};
  return fail(detail, Code::kFileRead, "source.read failed", bytes, 0, offset);
}

}  // namespace ingot
