// SPDX-License-Identifier: Apache-2.0
// runtime/format/source.h - where the bytes of a model come from: a file, the caller's memory, or
// the caller's reader.
// Owns     nothing, except that source_from_path() opens a file which close_source() closes.
// Threads  as the reader; files and memory may be read from several threads.
#pragma once
#include "runtime/base/os/file.h"
#include "runtime/base/status.h"

namespace ingot {

/// The caller's reader: copies exactly `bytes` from `offset` to `destination`; false when it
/// cannot.
using ReadFunction = bool (*)(void* context, uint64_t offset, void* destination, uint64_t bytes);

struct Source {
  uint64_t bytes = 0;  // of the whole file
  // set when all of it is addressable and never changes: used where it lies
  const uint8_t* memory = nullptr;
  os::File file;                // open when it is a file: weights can be mapped from it
  ReadFunction read = nullptr;  // set for a reader
  void* context = nullptr;
};

Status source_from_path(const char* path, Source* out, ErrorDetail* detail);
/// `memory` must outlive the source, be 16-byte aligned (else kMisaligned) and stay as it is.
Status source_from_memory(const void* memory, uint64_t bytes, Source* out, ErrorDetail* detail);
Status source_from_reader(uint64_t bytes, ReadFunction read, void* context, Source* out,
                          ErrorDetail* detail);
void close_source(Source* source);

/// Reads exactly `bytes`; kTruncated when the source is shorter, kFileRead when it fails.
Status read_source(const Source& source, uint64_t offset, void* destination, uint64_t bytes,
                   ErrorDetail* detail);

}  // namespace ingot
