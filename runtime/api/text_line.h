// SPDX-License-Identifier: Apache-2.0
// runtime/api/text_line.h - builds one line in the caller's memory, counts what it would take,
// allocates nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot::api {

class TextLine {
 public:
  TextLine(char* out, size_t size) : out_(out), size_(size) {}

  TextLine& add(char c) {
    if (length_ + 1 < size_) out_[length_] = c;
    length_++;
    return *this;
  }
  [[gnu::noinline]] TextLine& add(const char* text) {  // dozens of places add a few words
    while (*text) add(*text++);
    return *this;
  }
  TextLine& add(uint64_t n) { return digits(n, false); }
  /// 1234567 as 1,234,567.
  TextLine& add_grouped(uint64_t n) { return digits(n, true); }
  TextLine& add_signed(int64_t n) {
    if (n >= 0) return add(uint64_t(n));
    return add('-').add(uint64_t{0} - uint64_t(n));
  }
  /// Ends the line. Length without the 0, whether it fitted or not.
  size_t end() {
    if (size_) out_[length_ < size_ ? length_ : size_ - 1] = 0;
    return length_;
  }

 private:
  [[gnu::noinline]] TextLine& digits(uint64_t n, bool grouped) {
    char reversed[27];
    int count = 0;
    do {
      if (grouped && count % 4 == 3) reversed[count++] = ',';
      reversed[count++] = char('0' + n % 10);
      n /= 10;
    } while (n);
    while (count) add(reversed[--count]);
    return *this;
  }
  char* out_;
  size_t size_;
  size_t length_ = 0;
};

}  // namespace ingot::api
