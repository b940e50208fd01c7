// SPDX-License-Identifier: Apache-2.0
// runtime/text/encode.cpp - a text to ids: added tokens are found, what lies between is normalized,
// split by the stages, and each part becomes pieces.
#include "runtime/base/check_memory.h"
#include "runtime/text/encoder.h"
#include "runtime/text/normalize.h"
#include "runtime/text/stages.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

Buffers take_buffers(const TokenizerView& t, uint64_t text_bytes, BumpAllocator* from) {
  const uint64_t replaced_bytes = replaced_bound(t, text_bytes),
                 normalized_bytes = normalized_bound(t, replaced_bytes);
  Buffers b;
  if (!t.replacements.keys.empty()) b.replaced = from->take<uint8_t>(replaced_bytes);
  if (t.normalizer != TextNormalizer::kNone) b.normalized = from->take<uint8_t>(normalized_bytes);
  b.codes = from->take<uint32_t>(2 * code_bound(t, replaced_bytes));
  switch (t.model) {
    case TextModel::kRanked:
    case TextModel::kScored:
      b.symbols = from->take<Symbol>(normalized_bytes);
      b.joins = from->take<Join>(2 * normalized_bytes);
      break;
    case TextModel::kUnigram: b.steps = from->take<Step>(normalized_bytes + 1); break;
    case TextModel::kWords: break;
  }
  return b;
}

/// The text between added tokens.
Status encode_segment(Encoder* e, Span<const uint8_t> text, size_t at, size_t end, bool is_first) {
  const TokenizerView& t = e->t;
  if (at == end) return {};
  Span<const uint8_t> part{text.data + at, end - at};
  if (!t.replacements.keys.empty())
    part = {e->buffers.replaced, replace_strings(t, part, e->buffers.replaced)};
  if (t.normalizer != TextNormalizer::kNone)
    part = {e->buffers.normalized,
            normalize(t, part, is_first, e->buffers.codes, e->buffers.normalized)};
  e->last_is_unknown = false;
  PartWalk walk(t.stages, part.data, part.size);
  for (Range range; walk.next(&range);) {
    e->part_at = at + range.begin;
    const uint8_t* begin = part.data + range.begin;
    const size_t size = range.end - range.begin;
    switch (t.model) {
      case TextModel::kRanked:
      case TextModel::kScored: INGOT_TRY(encode_pairs(e, begin, size)); break;
      case TextModel::kUnigram: INGOT_TRY(encode_unigram(e, begin, size)); break;
      case TextModel::kWords: INGOT_TRY(encode_word(e, begin, size)); break;
    }
  }
  e->work.characters += walk.looked_at();
  return {};
}

/// The longest added token at `at`, or -1.
int32_t added_at(const Encoder& e, Span<const uint8_t> text, size_t at) {
  int32_t longest = -1;
  uint32_t node = 0;
  for (size_t i = at; i < text.size; i++) {
    if ((node = trie_child(e.t.added, node, text[i])) == kNoNode) break;
    const int32_t piece = e.t.added.piece[node];
    if (piece >= 0 && (e.options.parse_special || e.t.kind(uint32_t(piece)) == PieceKind::kAdded))
      longest = piece;
  }
  return longest;
}

size_t skip_spaces(Span<const uint8_t> text, size_t at) {
  for (;;) {
    const Char c = char_at(text.data + at, text.size - at);
    if (!c.is(kSpace)) return at;
    at += c.bytes;
  }
}
/// Where the spaces begin that end at `end`.
size_t drop_spaces(Span<const uint8_t> text, size_t begin, size_t end) {
  while (end > begin) {
    size_t at = end - 1;
    while (at > begin && end - at < 4 && (text[at] & 0xC0) == 0x80) at--;
    const Char c = char_at(text.data + at, end - at);
    if (c.bytes != end - at || !c.is(kSpace)) break;
    end = at;
  }
  return end;
}

Status encode_text(Encoder* e, Span<const uint8_t> text) {
  size_t begin = 0;
  bool is_first = true;
  for (size_t at = 0; at < text.size && !e->t.added.empty();) {
    const int32_t piece = added_at(*e, text, at);
    if (piece < 0) {
      at++;
      continue;
    }
    const uint8_t kind = e->t.piece_kinds[size_t(piece)];
    const size_t end = kind & kTakesSpacesBefore ? drop_spaces(text, begin, at) : at;
    INGOT_TRY(encode_segment(e, text, begin, end, is_first));
    INGOT_TRY(e->put(uint32_t(piece)));
    is_first = false;
    at += e->t.piece(uint32_t(piece)).size;
    if (kind & kTakesSpacesBehind) at = skip_spaces(text, at);
    begin = at;
  }
  return encode_segment(e, text, begin, text.size, is_first);
}

}  // namespace

Status Encoder::put_unknown(const uint8_t* text, size_t begin, size_t bytes) {
  if (has_byte_pieces(text + begin, bytes)) {
    for (size_t i = 0; i < bytes; i++) INGOT_TRY(put(uint32_t(t.byte_pieces[text[begin + i]])));
    return {};
  }
  if (t.unknown < 0)
    return fail(detail, Code::kNotFound, "a piece of the vocabulary for a character", 0, 0,
                part_at + begin);
  if (last_is_unknown && t.fuse_unknown) return {};
  INGOT_TRY(put(uint32_t(t.unknown)));
  last_is_unknown = true;
  return {};
}

Status measure_encode(const TokenizerView& t, uint64_t text_bytes, EncodeNeed* need,
                      ErrorDetail* detail) {
  if (text_bytes > kMaxEncodeBytes)
    return fail(detail, Code::kLimitExceeded, "text", kMaxEncodeBytes, text_bytes);
  BumpAllocator bump(nullptr);
  const uint64_t bytes = normalized_bound(t, replaced_bound(t, text_bytes));
  if (bytes > ~uint32_t{0})  // places in it are of 32 bits
    return fail(detail, Code::kLimitExceeded, "text: as long as it may become", ~uint32_t{0},
                bytes);
  (void)take_buffers(t, text_bytes, &bump);
  need->memory_bytes = bump.used();
  need->ids = bytes + t.prefix.size + t.suffix.size;
  return {};
}

Status encode(const TokenizerView& t, Span<const uint8_t> text, const EncodeOptions& options,
              Span<uint8_t> memory, Span<int32_t> ids, size_t* count, ErrorDetail* detail) {
  EncodeNeed need;
  INGOT_TRY(measure_encode(t, text.size, &need, detail));
  INGOT_TRY(check_memory(memory, need.memory_bytes, "memory", detail));
  BumpAllocator bump(memory.data);
  Encoder e{t, options, take_buffers(t, text.size, &bump), ids};
  e.detail = detail;
  *count = 0;
  if (options.add_special)
    for (const uint32_t id : t.prefix) INGOT_TRY(e.put(id));
  INGOT_TRY(encode_text(&e, text));
  if (options.add_special)
    for (const uint32_t id : t.suffix) INGOT_TRY(e.put(id));
  *count = e.count;
  if (options.work) *options.work = e.work;
  return {};
}

}  // namespace ingot::text
