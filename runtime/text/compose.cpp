// SPDX-License-Identifier: Apache-2.0
// runtime/text/compose.cpp - canonical composition (NFC): runs of characters that depend on each
// other are taken apart, their marks ordered by class, and put together again. Linear in the text:
// the marks of a long run are ordered by counting.
#include "runtime/text/normalize.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

#include "runtime/text/unicode_compositions.inl"
#include "runtime/text/unicode_decompositions.inl"

constexpr uint32_t kFirstHangul = 0xAC00, kHangul = 11172, kLeading = 0x1100, kVowel = 0x1161,
                   kTrailing = 0x11A7;
constexpr uint64_t kCode = 0x1FFFFF;
constexpr uint32_t kFirstDependent = 0x300;  // below, every character stands for itself
constexpr uint32_t kBroken = 0x80000000;     // a byte that is not UTF-8

/// The first row that is not below `key` in its upper bits.
template <size_t N>
size_t lower_bound(const uint64_t (&rows)[N], uint64_t key) {
  size_t low = 0, high = N;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (rows[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint8_t combining_class(uint32_t code) {
  if (code < kFirstDependent || code >= kBroken) return 0;
  const size_t i = lower_bound(kCombiningRuns, uint64_t{code + 1} << 32);
  if (i == 0) return 0;
  const uint64_t run = kCombiningRuns[i - 1];
  return code - uint32_t(run >> 32) < (uint32_t(run >> 8) & 0xFFFFFF) ? uint8_t(run) : 0;
}

/// Puts the canonical decomposition behind `codes`; how many there are then.
size_t decompose(uint32_t code, uint32_t* codes, size_t count) {
  if (code >= kFirstHangul && code < kFirstHangul + kHangul) {
    const uint32_t s = code - kFirstHangul;
    codes[count++] = kLeading + s / 588, codes[count++] = kVowel + s % 588 / 28;
    if (s % 28) codes[count++] = kTrailing + s % 28;
    return count;
  }
  uint32_t behind[4];  // seconds of the steps, of which there are fewer
  size_t steps = 0;
  while (code >= 0xC0 && code < kBroken && steps < 4) {
    const size_t i = lower_bound(kDecompositions, uint64_t{code} << 42);
    if (i == sizeof kDecompositions / sizeof *kDecompositions || kDecompositions[i] >> 42 != code)
      break;
    code = uint32_t(kDecompositions[i] >> 21 & kCode);
    if (kDecompositions[i] & kCode) behind[steps++] = uint32_t(kDecompositions[i] & kCode);
  }
  codes[count++] = code;
  while (steps > 0) codes[count++] = behind[--steps];
  return count;
}

/// One code for two, or 0.
uint32_t compose(uint32_t first, uint32_t second) {
  if (first >= kLeading && first < kLeading + 19 && second >= kVowel && second < kVowel + 21)
    return kFirstHangul + ((first - kLeading) * 21 + (second - kVowel)) * 28;
  if (first >= kFirstHangul && first < kFirstHangul + kHangul && (first - kFirstHangul) % 28 == 0 &&
      second > kTrailing && second < kTrailing + 28)
    return first + (second - kTrailing);
  if (first >= kBroken || second >= kBroken) return 0;
  const uint64_t key = uint64_t{first} << 42 | uint64_t{second} << 21;
  const size_t i = lower_bound(kCompositions, key);
  const bool is_pair =
      i < sizeof kCompositions / sizeof *kCompositions && kCompositions[i] >> 21 == key >> 21;
  return is_pair ? uint32_t(kCompositions[i] & kCode) : 0;
}

/// What stands before it cannot change because of it, nor the other way round.
bool begins_run(uint32_t code) {
  if (code < kFirstDependent || code >= kBroken) return true;
  if ((code >= kVowel && code < kVowel + 21) || (code > kTrailing && code < kTrailing + 28))
    return false;
  uint32_t codes[5];
  decompose(code, codes, 0);
  if (combining_class(codes[0]) != 0) return false;
  for (const uint32_t starter : kJoiningStarters)
    if (starter == codes[0]) return false;
  return true;
}

/// Marks between starters in the order of their classes, equal ones as they were.
void order_marks(uint32_t* codes, size_t count, uint32_t* spare) {
  constexpr size_t kFew = 16;
  for (size_t begin = 0; begin < count;) {
    if (combining_class(codes[begin]) == 0) {
      begin++;
      continue;
    }
    size_t end = begin;
    while (end < count && combining_class(codes[end]) != 0) end++;
    if (end - begin <= kFew) {
      for (size_t i = begin + 1; i < end; i++)
        for (size_t k = i; k > begin && combining_class(codes[k - 1]) > combining_class(codes[k]);
             k--) {
          const uint32_t code = codes[k];
          codes[k] = codes[k - 1], codes[k - 1] = code;
        }
    } else {
      uint32_t starts[256] = {};
      for (size_t i = begin; i < end; i++) starts[combining_class(codes[i])]++;
      uint32_t sum = 0;
      for (uint32_t& start : starts) {
        const uint32_t here = start;
        start = sum, sum += here;
      }
      for (size_t i = begin; i < end; i++) spare[starts[combining_class(codes[i])]++] = codes[i];
      for (size_t i = begin; i < end; i++) codes[i] = spare[i - begin];
    }
    begin = end;
  }
}

/// Pairs become one where nothing between them has the class of the second or a higher one; how
/// many codes are left.
size_t compose_run(uint32_t* codes, size_t count) {
  size_t kept = 0, starter = 0;
  bool has_starter = false;
  int last_class = -1;  // of what was kept behind the starter; -1: nothing
  for (size_t i = 0; i < count; i++) {
    const int own_class = combining_class(codes[i]);
    if (has_starter && (last_class == -1 || last_class < own_class)) {
      const uint32_t joined = compose(codes[starter], codes[i]);
      if (joined) {
        codes[starter] = joined;
        continue;
      }
    }
    if (own_class == 0) {
      starter = kept, has_starter = true, last_class = -1;
    } else {
      last_class = own_class;
    }
    codes[kept++] = codes[i];
  }
  return kept;
}

}  // namespace

size_t compose_text(Span<const uint8_t> text, uint32_t* codes, uint8_t* out) {
  uint32_t* spare = codes + 2 * text.size;
  size_t n = 0, count = 0;
  const auto finish_run = [&] {
    order_marks(codes, count, spare);
    count = compose_run(codes, count);
    for (size_t i = 0; i < count; i++) {
      if (codes[i] >= kBroken)
        out[n++] = uint8_t(codes[i]);
      else
        n += put_code(codes[i], out + n);
    }
    count = 0;
  };
  for (size_t i = 0; i < text.size;) {
    const Char c = char_at(text.data + i, text.size - i);
    const bool is_broken = c.bytes == 1 && text[i] >= 0x80;
    const uint32_t code = is_broken ? kBroken | text[i] : c.code;
    if (count && begins_run(code)) finish_run();
    count = decompose(code, codes, count);
    i += c.bytes;
  }
  finish_run();
  return n;
}

}  // namespace ingot::text
