// SPDX-License-Identifier: Apache-2.0
// tools/compile/write/file_writer.h - encodes a FileSpec: header, program, metadata, weights,
// golden. Weights stream: one constant is in memory at a time; constants of equal bytes are stored
// once.
// Errors   host::Failure kUnavailable when the disk or the folder refuses;
//          graph::ConversionError(kInternal) when the spec contradicts itself (a constant of
//          the wrong size). No partial output: the file appears only when complete and on disk.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/compile/write/program_builder.h"

namespace ingot::host {
class OutputFile;
}

namespace ingot::convert {

struct WrittenFile {
  uint64_t file_bytes = 0, program_bytes = 0, metadata_bytes = 0, weight_bytes = 0,
           golden_bytes = 0;
  uint64_t shared_bytes = 0;  // of constants that were stored once for several values
};

/// Writes next to `path`, syncs, renames, syncs the folder.
WrittenFile write_file(const FileSpec& spec, const std::string& path);
/// Writes all but the name: temporary() of the output can be opened, commit() is the caller's.
WrittenFile write_file(const FileSpec& spec, host::OutputFile* output);
/// The same bytes in memory; for tests, planning and small models.
std::vector<uint8_t> write_memory(const FileSpec& spec, uint64_t expected_weights = 0);

}  // namespace ingot::convert
