// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/storage.h - where the bytes of tensors lie. Several tensors may share
// one storage.
// Errors   host::Failure: kUnavailable (cannot be read), kCorrupt (damaged).
// Threads  one at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ingot::checkpoint {

/// Bytes that stay where they are as long as this lives.
struct Bytes {
  std::shared_ptr<const void> owner;
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;
  virtual uint64_t size() const = 0;
  /// All of it: mapped, or read into memory that is free again when the last copy of the result is.
  virtual Bytes load() const = 0;
};

/// A whole file, mapped read-only.
class MappedFile {
 public:
  /// @throws Failure kUnavailable.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  MappedFile();
  const uint8_t* data_;  // never null, so that arithmetic on an empty file's is sound
  uint64_t size_ = 0;
};

/// @pre offset + size lies in the file.
std::shared_ptr<const Storage> mapped_storage(std::shared_ptr<const MappedFile> file,
                                              uint64_t offset, uint64_t size);
std::shared_ptr<const Storage> memory_storage(std::vector<uint8_t> bytes);
/// Bytes that something else keeps alive.
std::shared_ptr<const Storage> held_storage(Bytes bytes);
/// A part of another. @pre offset + size lies in it.
std::shared_ptr<const Storage> part_of(std::shared_ptr<const Storage> whole, uint64_t offset,
                                       uint64_t size);

}  // namespace ingot::checkpoint
