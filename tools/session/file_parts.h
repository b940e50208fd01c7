// SPDX-License-Identifier: Apache-2.0
// tools/session/file_parts.h - the parts of an .ingot file, for commands that change some of them
// and copy the rest byte for byte.
// Errors   Failure kUnavailable: it cannot be read; kCorrupt: bytes that their hash was not taken
//          of.
#pragma once
#include <string>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"
#include "tools/files/input_file.h"
#include "tools/files/output_file.h"

namespace ingot::cli {

struct FilePart {
  PartKind kind = PartKind::kProgram;
  uint64_t from = 0, bytes = 0;  // in the old file
  std::vector<uint8_t> fresh{};  // instead, where a command makes the part
  uint8_t sha256[kSha256Bytes] = {};
  uint64_t offset = 0;  // in the new file
};

class FileParts {
 public:
  /// @pre the file was opened by the runtime, so that every field is sound.
  explicit FileParts(const std::string& path);

  uint16_t minor() const { return minor_; }
  /// As they lie in the old file.
  const std::vector<FilePart>& parts() const { return parts_; }
  /// Of what is written; at least that of the old file.
  void raise_minor(uint16_t minor);
  bool has(PartKind kind) const;
  /// The bytes of the part of that kind, empty where there is none; compared with their hash.
  std::vector<uint8_t> read(PartKind kind);
  /// Puts a part of that kind in the place of the old one, else behind the part at `behind` or,
  /// past the end, last.
  void put(PartKind kind, std::vector<uint8_t> bytes, size_t behind = ~size_t{0});

  /// Every part has the bytes that its hash was taken of.
  void check_hashes();
  /// Header, part table and parts.
  void write(host::OutputFile* to);
  /// The old file as it is.
  void copy(host::OutputFile* to);

 private:
  std::vector<uint8_t> lay_out();
  template <class Take>
  void each_block(uint64_t from, uint64_t bytes, Take take);

  std::string path_;
  host::InputStream stream_;
  uint16_t minor_ = 0;
  uint32_t segment_alignment_ = 0;
  uint64_t file_bytes_ = 0;
  std::vector<FilePart> parts_;
};

}  // namespace ingot::cli
