// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/file.h - files and the clock: with memory.h and thread.h the only calls into an
// operating system.
// Owns     nothing: a File is a handle that its opener closes.
// Threads  any; a File may be read from several at once.
// Errors   kFileOpen, kFileRead, kTruncated, kMapFailed; ErrorDetail.have is the system's error
//          number. Without an operating system every call but page_bytes() fails, and the linker
//          drops what nobody calls.
#pragma once
#include <cstdint>

#include "runtime/base/status.h"

namespace ingot::os {

struct File {
  int64_t handle = -1;
  bool is_open() const { return handle >= 0; }
};

/// Opens a regular file for reading; a directory or a device is kFileOpen. "registry:NAME@TAG" is
/// that model of the registry in the folder that the variable INGOT_REGISTRY names.
Status open_file(const char* path, File* out, uint64_t* out_bytes, ErrorDetail* detail);
void close_file(File* file);

/// Reads exactly `bytes`; kTruncated when the file ends before.
Status read_file(File file, uint64_t offset, void* destination, uint64_t bytes,
                 ErrorDetail* detail);

/// Maps read-only and shared. `offset` is a multiple of page_bytes(). `at` null: anywhere; else
/// exactly there, over a reservation of the caller's.
Status map_file(File file, uint64_t offset, uint64_t bytes, void* at, const uint8_t** out,
                ErrorDetail* detail);
void unmap_file(const void* address, uint64_t bytes);

/// What a number of the system's errors means, "No such file or directory"; in `room` or static.
const char* system_error_text(uint64_t number, char* room, uint64_t bytes);

uint64_t page_bytes();
uint64_t monotonic_ns();

}  // namespace ingot::os
