// SPDX-License-Identifier: Apache-2.0
// runtime/text/scan.h - what patterns of a pre-tokenizer are made of, over a part of a text.
#pragma once
#include "runtime/text/unicode.h"

namespace ingot::text {

class Scan {
 public:
  Scan(const uint8_t* text, size_t end, uint64_t* looked_at)
      : text_(text), end_(end), looked_at_(looked_at) {}

  size_t end() const { return end_; }
  Char at(size_t i) const {
    ++*looked_at_;
    return char_at(text_ + i, end_ - i);
  }
  /// The end of the longest run of characters that `accepts` from `i` on.
  template <class Accepts>
  size_t run(size_t i, Accepts accepts) const {
    for (Char c = at(i); c.bytes && accepts(c); c = at(i)) i += c.bytes;
    return i;
  }
  size_t run_of(size_t i, unsigned traits) const {
    return run(i, [traits](const Char& c) { return c.is(traits); });
  }
  size_t run_not(size_t i, unsigned traits) const {
    return run(i, [traits](const Char& c) { return c.is_not(traits); });
  }

 private:
  const uint8_t* text_;
  size_t end_;
  uint64_t* looked_at_;
};

}  // namespace ingot::text
