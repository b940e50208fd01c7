// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/archive.h - a zip archive as named members that are read when asked for.
// Needs libzip; without it every zip is refused, and that is reported.
// Errors   host::Failure kCorrupt (damaged, a name twice, sizes that contradict each other),
//          kUnsupported (encrypted, no libzip).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/storage.h"

namespace ingot::checkpoint {

class Archive {
 public:
  static std::shared_ptr<Archive> open(const std::string& path);
  /// An archive inside another: `name` is what errors call it.
  static std::shared_ptr<Archive> open_bytes(std::vector<uint8_t> bytes, const std::string& name);
  /// A part of a file that is an archive by itself. @pre offset + size lies in the file.
  static std::shared_ptr<Archive> open_part(std::shared_ptr<const MappedFile> file, uint64_t offset,
                                            uint64_t size, const std::string& name);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const std::vector<std::string>& names() const { return names_; }  // in the archive's order
  bool has(const std::string& name) const;
  /// The names of the .tflite files of a .task bundle, quoted, some 400 characters at most.
  std::string bundled_models() const;
  /// Unpacked bytes as the directory says.
  uint64_t size(const std::string& name) const;
  /// All of it, its CRC checked. `limit`: more is refused before anything is unpacked.
  std::vector<uint8_t> read(const std::string& name, uint64_t limit) const;
  /// Its first bytes, `count` at most; the CRC is not reached.
  std::vector<uint8_t> read_start(const std::string& name, uint64_t count) const;
  /// Read each time it is loaded.
  static std::shared_ptr<const Storage> member(const std::shared_ptr<Archive>& archive,
                                               const std::string& name);

 private:
  Archive() = default;
  struct Handle;
  static std::shared_ptr<Archive> open_held(std::unique_ptr<Handle> handle, const uint8_t* bytes,
                                            uint64_t size, const std::string& name);
  void list_members();
  std::unique_ptr<Handle> handle_;
  std::string path_;
  std::vector<std::string> names_;
};

}  // namespace ingot::checkpoint
