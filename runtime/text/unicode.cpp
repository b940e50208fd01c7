// SPDX-License-Identifier: Apache-2.0
// runtime/text/unicode.cpp - two-level tables: blocks of 128 code points, groups of 64 blocks.
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

#include "runtime/text/unicode_classes.inl"
#include "runtime/text/unicode_fold.inl"
#include "runtime/text/unicode_ideographs.inl"

constexpr uint32_t kCodes = 0x110000;
constexpr unsigned kNonspacingClass = 6;
constexpr uint16_t kTraits[16] = {
    kControl, kUpper,       kLower,  kUpper, kOtherLetter, kOtherLetter, kNonspacing, kOtherMark,
    kNumber,  kPunctuation, kSymbol, kSpace, kControl,     kControl,     0,           0};

constexpr unsigned byte_of(const uint64_t* words, uint32_t i) {
  return words[i / 8] >> i % 8 * 8 & 255;
}

constexpr unsigned class_of(uint32_t code) {
  if (code >= kCodes) return 0;
  const uint32_t block = code / 128;
  const uint32_t row = byte_of(kClassBlocks, byte_of(kClassGroups, block / 64) * 64 + block % 64);
  const uint32_t i = row * 128 + code % 128;
  return kClassNibbles[i / 16] >> i % 16 * 4 & 15;
}

template <size_t N>
const uint64_t* find_fold(const uint64_t (&rows)[N], uint32_t code) {
  size_t low = 0, high = N;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (rows[middle] >> 42 < code)
      low = middle + 1;
    else
      high = middle;
  }
  return low < N && rows[low] >> 42 == code ? &rows[low] : nullptr;
}

constexpr uint16_t other_traits(uint32_t code) {
  if (code == '\r' || code == '\n') return kSpace | kNewline;
  if ((code >= 9 && code <= 12) || code == 0x85) return kSpace;
  const unsigned found = class_of(code);
  if (found != 0) return kTraits[found];
  const bool is_private =
      (code >= 0xE000 && code < 0xF900) || (code >= 0xF0000 && (code & 0xFFFF) < 0xFFFE);
  return is_private ? kControl : kControl | kUnassigned;
}

/// Most characters of most texts, looked up once.
struct AsciiTraits {
  uint16_t traits[0x80] = {};
  constexpr AsciiTraits() {
    for (uint32_t code = 0; code < 0x80; code++) traits[code] = other_traits(code);
  }
};
constexpr AsciiTraits kAscii;

bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

uint16_t traits_of(uint32_t code) { return code < 0x80 ? kAscii.traits[code] : other_traits(code); }

Char char_at(const uint8_t* at, size_t left) {
  if (left == 0) return {};
  const uint8_t b = at[0];
  uint32_t code = kReplacement;
  uint8_t bytes = 1;
  if (b < 0x80) {
    code = b;
  } else if (b >= 0xC2 && b < 0xE0 && left > 1 && continues(at[1])) {
    code = (b & 31u) << 6 | (at[1] & 63u), bytes = 2;
  } else if (b >= 0xE0 && b < 0xF0 && left > 2 && continues(at[1]) && continues(at[2])) {
    const uint32_t c = (b & 15u) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
    if (c >= 0x800 && (c < 0xD800 || c >= 0xE000)) code = c, bytes = 3;
  } else if (b >= 0xF0 && b < 0xF5 && left > 3 && continues(at[1]) && continues(at[2]) &&
             continues(at[3])) {
    const uint32_t c = (b & 7u) << 18 | (at[1] & 63u) << 12 | (at[2] & 63u) << 6 | (at[3] & 63u);
    if (c >= 0x10000 && c < kCodes) code = c, bytes = 4;
  }
  return {code, traits_of(code), bytes};
}

bool is_utf8(Span<const uint8_t> text) {
  for (size_t i = 0; i < text.size;) {
    const Char c = char_at(text.data + i, text.size - i);
    if (c.bytes == 1 && text[i] >= 0x80) return false;
    i += c.bytes;
  }
  return true;
}

size_t put_code(uint32_t code, uint8_t* out) {
  if (code < 0x80) {
    out[0] = uint8_t(code);
    return 1;
  }
  const size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = bytes - 1; i > 0; i--, code >>= 6) out[i] = uint8_t(0x80 | (code & 63));
  out[0] = uint8_t((0xF00 >> bytes & 0xFF) | code);
  return bytes;
}

size_t code_bytes(uint8_t first) {
  return first >= 0xF0 && first < 0xF5 ? 4
         : first >= 0xE0               ? (first < 0xF0 ? 3 : 1)
         : first >= 0xC2               ? 2
                                       : 1;
}

bool is_ideograph(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

size_t fold(uint32_t code, uint32_t out[3]) {
  out[0] = code;
  if (code < 0x80) {
    if (code >= 'A' && code <= 'Z') out[0] = code + 32;
    return 1;
  }
  if (code >= 0xAC00 && code < 0xD7A4) {  // Hangul: leading, vowel, trailing
    const uint32_t s = code - 0xAC00, trailing = s % 28;
    out[0] = 0x1100 + s / 588, out[1] = 0x1161 + s % 588 / 28, out[2] = 0x11A7 + trailing;
    return trailing ? 3 : 2;
  }
  if (class_of(code) == kNonspacingClass) return 0;
  const uint64_t* row = code < 0xF900 ? find_fold(kFolds, code) : find_fold(kHighFolds, code);
  if (!row) return 1;
  constexpr uint32_t kCode = 0x1FFFFF;
  const uint32_t first = uint32_t(*row >> 21) & kCode, second = uint32_t(*row) & kCode;
  out[0] = first, out[1] = second;
  if (second == 0) return 1;
  const uint64_t* two = first < 0xF900 ? find_fold(kFolds, first) : find_fold(kHighFolds, first);
  if (!two) return 2;
  out[0] = uint32_t(*two >> 21) & kCode, out[1] = uint32_t(*two) & kCode, out[2] = second;
  return 3;
}

}  // namespace ingot::text
