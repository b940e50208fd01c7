// SPDX-License-Identifier: Apache-2.0
#include "runtime/text/normalize.h"

#include <cstring>

#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

constexpr uint8_t kLowBlock[3] = {0xE2, 0x96, 0x81};  // U+2581, which stands for a space

/// Spaces and their stand-in alike, in front of a text where the model wants one, and where it asks
/// for it no more than one together and none at the ends.
size_t unify_spaces(const TokenizerView& t, Span<const uint8_t> text, bool is_first, uint8_t* out) {
  size_t n = 0;
  const bool has_prefix =
      t.space_prefix == SpacePrefix::kAlways || (t.space_prefix == SpacePrefix::kFirst && is_first);
  const auto space_bytes = [&](size_t at) -> size_t {
    if (at < text.size && text[at] == ' ') return 1;
    const bool stands = text.size - at >= 3 && memcmp(text.data + at, kLowBlock, 3) == 0;
    return stands ? 3 : 0;
  };
  size_t i = 0;
  if (t.collapse_spaces)
    while (i < text.size && space_bytes(i)) i += space_bytes(i);
  if (t.keep_end_space && i > 0 && i == text.size) out[n++] = ' ';
  if (has_prefix && i < text.size && !(t.prefix_unless_space && space_bytes(i))) out[n++] = ' ';
  while (i < text.size) {
    const size_t space = space_bytes(i);
    if (space == 0) {
      out[n++] = text[i++];
      continue;
    }
    i += space;
    if (t.collapse_spaces) {
      while (i < text.size && space_bytes(i)) i += space_bytes(i);
      if (i == text.size && !t.keep_end_space) break;
    }
    out[n++] = ' ';
  }
  return n;
}

/// BERT's: control characters are dropped, and of the uncased models accents and capitals; what is
/// not assigned is not, and becomes unknown words. White space is a space, but for what is a
/// control character as well: vertical tab, form feed, U+0085.
size_t fold_text(Span<const uint8_t> text, bool folds, uint8_t* out) {
  size_t n = 0;
  for (size_t i = 0; i < text.size;) {
    const Char c = char_at(text.data + i, text.size - i);
    i += c.bytes;
    if (c.code == 0xB || c.code == 0xC || c.code == 0x85) continue;
    if (c.is(kSpace)) {
      out[n++] = ' ';
    } else if (c.code != kReplacement && (!c.is(kControl) || c.is(kUnassigned))) {
      uint32_t codes[3] = {c.code};
      const size_t count = folds ? fold(c.code, codes) : 1;
      for (size_t k = 0; k < count; k++) n += put_code(codes[k], out + n);
    }
  }
  return n;
}

}  // namespace

uint64_t normalized_bound(const TokenizerView& t, uint64_t bytes) {
  switch (t.normalizer) {
    case TextNormalizer::kSpaces: return bytes + 1;
    case TextNormalizer::kBertCased:
    case TextNormalizer::kBertUncased:
    case TextNormalizer::kNfc: return 3 * bytes;
    case TextNormalizer::kNone: break;
  }
  return bytes;
}

uint64_t code_bound(const TokenizerView& t, uint64_t bytes) {
  return t.normalizer == TextNormalizer::kNfc ? 2 * bytes : 0;
}

size_t normalize(const TokenizerView& t, Span<const uint8_t> text, bool is_first, uint32_t* codes,
                 uint8_t* out) {
  if (t.normalizer == TextNormalizer::kNfc) return compose_text(text, codes, out);
  if (t.normalizer == TextNormalizer::kSpaces) return unify_spaces(t, text, is_first, out);
  return fold_text(text, t.normalizer == TextNormalizer::kBertUncased, out);
}

}  // namespace ingot::text
