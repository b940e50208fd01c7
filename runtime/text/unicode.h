// SPDX-License-Identifier: Apache-2.0
// runtime/text/unicode.h - code points of UTF-8, what they are, and how BERT folds them. Tables
// are written by tools/text/make_unicode_tables.py.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/base/span.h"

namespace ingot::text {

// Bits of what a code point is.
enum Trait : uint16_t {
  kUpper = 1,         // Lu, Lt
  kLower = 2,         // Ll
  kOtherLetter = 4,   // Lm, Lo
  kNonspacing = 8,    // Mn
  kOtherMark = 16,    // Mc, Me
  kNumber = 32,       // N
  kPunctuation = 64,  // P
  kSymbol = 128,      // S
  kSpace = 256,       // White_Space
  kNewline = 512,     // \r, \n
  kControl = 1024,    // Cc, Cf, Co, and what is not assigned
  kUnassigned = 2048,
  kLetter = kUpper | kLower | kOtherLetter,
  kMark = kNonspacing | kOtherMark,
};

constexpr uint32_t kReplacement = 0xFFFD;  // what a byte that is not UTF-8 stands for

struct Char {
  uint32_t code = 0;
  uint16_t traits = 0;
  uint8_t bytes = 0;  // 0: the end of the text
  bool is(unsigned mask) const { return (traits & mask) != 0; }
  /// There is one, and it is none of these.
  bool is_not(unsigned mask) const { return bytes != 0 && (traits & mask) == 0; }
};

uint16_t traits_of(uint32_t code);
/// The code point at `at`; a byte that begins none is one by itself, kReplacement.
Char char_at(const uint8_t* at, size_t left);
bool is_utf8(Span<const uint8_t> text);
/// Bytes of that code point, 1 to 4, into `out`.
size_t put_code(uint32_t code, uint8_t* out);
/// Bytes of a code point that begins so; 1 for what begins none.
size_t code_bytes(uint8_t first);

/// Chinese, Japanese and Korean ideographs, which BERT takes one by one.
bool is_ideograph(uint32_t code);
/// Canonical decomposition without nonspacing marks, in lower case: at most three codes. 0: the
/// code is such a mark.
size_t fold(uint32_t code, uint32_t out[3]);

}  // namespace ingot::text
