// SPDX-License-Identifier: Apache-2.0
// runtime/text/replace.cpp - strings that a tokenizer replaces first (schema/text.fbs,
// Replacements): the compatibility forms of characters, mostly.
#include <cstring>

#include "runtime/text/normalize.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

struct Match {
  int32_t entry = -1;
  size_t bytes = 0;
};

/// A string at the start of the text: the shortest, or the longest.
Match match(const TrieView& keys, const uint8_t* text, size_t size, bool shortest) {
  Match found;
  uint32_t node = 0;
  for (size_t i = 0; i < size; i++) {
    if ((node = trie_child(keys, node, text[i])) == kNoNode) break;
    if (keys.piece[node] < 0) continue;
    found = {keys.piece[node], i + 1};
    if (shortest) break;
  }
  return found;
}

/// Of what is drawn on the character before it: marks but those of tones, joiners, two vowels, two
/// sound marks, skin colors (Unicode's Grapheme_Cluster_Break Extend, SpacingMark, ZWJ).
bool extends(const Char& c) {
  static constexpr uint32_t kTones[][2] = {
      {0x102B, 0x102C}, {0x1038, 0x1038}, {0x1062, 0x1064},  {0x1067, 0x106D}, {0x1083, 0x1083},
      {0x1087, 0x108C}, {0x108F, 0x108F}, {0x109A, 0x109C},  {0x1A61, 0x1A61}, {0x1A63, 0x1A64},
      {0xAA7B, 0xAA7B}, {0xAA7D, 0xAA7D}, {0x11720, 0x11721}};
  static constexpr uint32_t kOthers[][2] = {
      {0xE33, 0xE33}, {0xEB3, 0xEB3}, {0x200C, 0x200D}, {0xFF9E, 0xFF9F}, {0x1F3FB, 0x1F3FF}};
  for (const auto& other : kOthers)
    if (c.code >= other[0] && c.code <= other[1]) return true;
  if (!c.is(kMark)) return false;
  for (const auto& tone : kTones)
    if (c.code >= tone[0] && c.code <= tone[1]) return false;
  return true;
}
/// Nothing is drawn on line ends and control characters.
bool stands_alone(const Char& c) {
  const bool is_control = c.is(kControl) && !c.is(kUnassigned) && !extends(c);
  return c.code < 0x20 || c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029 || is_control;
}

/// Where a character and its marks end, a return and its line feed.
size_t cluster_end(Span<const uint8_t> text, size_t at, const Char& first) {
  size_t end = at + first.bytes;
  if (first.code == '\r') return end + (end < text.size && text[end] == '\n');
  if (stands_alone(first)) return end;
  for (Char c; end < text.size; end += c.bytes)
    if (!extends(c = char_at(text.data + end, text.size - end))) break;
  return end;
}

}  // namespace

uint64_t replaced_bound(const TokenizerView& t, uint64_t bytes) {
  return t.replacements.keys.empty() ? bytes : bytes * t.replacements.growth;
}

size_t replace_strings(const TokenizerView& t, Span<const uint8_t> text, uint8_t* out) {
  const ReplacementsView& r = t.replacements;
  size_t n = 0, end = 0;  // of a cluster
  for (size_t i = 0; i < text.size;) {
    const Char c = char_at(text.data + i, text.size - i);
    size_t taken = c.bytes;
    Match found;
    if (r.by_cluster) {
      const bool is_whole = i >= end;  // not the rest of one that was too long
      if (is_whole) end = cluster_end(text, i, c);
      if (is_whole && end - i <= kMaxClusterBytes)
        found = match(r.keys, text.data + i, end - i, true);
      if (found.entry >= 0)
        taken = end - i;
      else
        found = match(r.keys, text.data + i, c.bytes, true);
    } else {
      found = match(r.keys, text.data + i, text.size - i, false);
      if (found.entry >= 0) taken = found.bytes;
    }
    if (found.entry >= 0) {
      const Span<const uint8_t> with = r.with(uint32_t(found.entry));
      if (with.size) memcpy(out + n, with.data, with.size);
      n += with.size;
    } else if (c.code == kReplacement) {
      n += put_code(kReplacement, out + n);
    } else {
      memcpy(out + n, text.data + i, c.bytes);
      n += c.bytes;
    }
    i += taken;
  }
  return n;
}

}  // namespace ingot::text
