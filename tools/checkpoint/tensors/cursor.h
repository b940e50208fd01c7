// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/cursor.h - reading numbers and bytes in order from memory that may lie.
// Every read is checked.
// Errors   host::Failure kCorrupt: "<where>: <what> ends early".
#pragma once
#include <cstdint>
#include <string>

#include "tools/files/failure.h"

namespace ingot::checkpoint {

class Cursor {
 public:
  /// `where` names the file and the part in errors, and must outlive this.
  Cursor(const uint8_t* data, uint64_t size, const std::string& where)
      : data_(data), size_(size), where_(&where) {}

  uint64_t left() const { return size_ - at_; }
  uint64_t at() const { return at_; }
  const uint8_t* here() const { return data_ + at_; }
  const std::string& where() const { return *where_; }
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(
        host::Exit::kCorrupt,
        *where_ + ": " + why + "; the download is incomplete or the file is damaged: get it anew");
  }
  /// The next `count` bytes, passed over.
  const uint8_t* bytes(uint64_t count, const char* what) {
    if (count > left())
      refuse(std::string(what) + " of " + std::to_string(count) + " bytes, and " +
             std::to_string(left()) + " are left");
    at_ += count;
    return data_ + at_ - count;
  }
  /// Little endian, 1 to 8 bytes.
  uint64_t number(uint32_t width, const char* what) {
    const uint8_t* p = bytes(width, what);
    uint64_t n = 0;
    for (uint32_t i = 0; i < width; i++) n |= uint64_t(p[i]) << (8 * i);
    return n;
  }
  /// Up to a zero byte, which is passed over too.
  std::string text(const char* what) {
    const uint64_t start = at_;
    while (at_ < size_ && data_[at_]) at_++;
    if (at_ == size_) refuse(std::string(what) + " has no end");
    at_++;
    return std::string(reinterpret_cast<const char*>(data_) + start, size_t(at_ - start - 1));
  }
  void expect(const char* magic, size_t count) {
    const uint8_t* p = bytes(count, magic);
    for (size_t i = 0; i < count; i++)
      if (p[i] != uint8_t(magic[i])) refuse(std::string("expected '") + magic + "'");
  }
  void skip_to_multiple(uint64_t start, uint64_t of) {
    while ((at_ - start) % of && at_ < size_) at_++;
  }

 private:
  const uint8_t* data_;
  uint64_t size_, at_ = 0;
  const std::string* where_;
};

}  // namespace ingot::checkpoint
