// SPDX-License-Identifier: Apache-2.0
// runtime/text/decode.cpp - ids to text, id by id.
#include <cstring>

#include "runtime/text/tokenizer.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/// Bytes that could become a character with more of them behind.
bool may_grow(const uint8_t* bytes, size_t count) {
  if (count >= code_bytes(bytes[0])) return false;
  for (size_t i = 1; i < count; i++)
    if (!continues(bytes[i])) return false;
  if (count == 1) return true;
  // The second byte decides whether it is too long a form, a surrogate or beyond the last code.
  const uint8_t a = bytes[0], b = bytes[1];
  return !(a == 0xE0 && b < 0xA0) && !(a == 0xED && b >= 0xA0) && !(a == 0xF0 && b < 0x90) &&
         !(a == 0xF4 && b >= 0x90);
}

}  // namespace

size_t Decoder::put_bytes(const uint8_t* bytes, size_t count, bool is_last, uint8_t* out) {
  size_t n = 0;
  for (size_t i = 0; i < count;) {
    const Char c = char_at(bytes + i, count - i);
    const bool is_broken = c.bytes == 1 && bytes[i] >= 0x80;
    if (is_broken && !is_last && may_grow(bytes + i, count - i)) {
      held_bytes_ = uint8_t(count - i);
      memcpy(held_, bytes + i, held_bytes_);
      return n;
    }
    n += put_code(c.code, out + n);
    i += c.bytes;
  }
  held_bytes_ = 0;
  return n;
}

size_t Decoder::put(const TokenizerView& t, int32_t id, uint8_t out[kMaxBytes]) {
  if (id < 0 || uint32_t(id) >= t.count) return 0;
  if (t.kind(uint32_t(id)) == PieceKind::kControl && !shows_control_) return 0;
  Span<const uint8_t> piece = t.piece(uint32_t(id));
  if (!has_begun_ && t.strip_space && piece.size && piece[0] == ' ')
    piece = {piece.data + 1, piece.size - 1};
  has_begun_ = true;
  uint8_t bytes[sizeof held_ + kMaxPieceBytes];
  memcpy(bytes, held_, held_bytes_);
  if (piece.size) memcpy(bytes + held_bytes_, piece.data, piece.size);
  return put_bytes(bytes, held_bytes_ + piece.size, false, out);
}

size_t Decoder::finish(uint8_t out[kMaxBytes]) {
  uint8_t bytes[sizeof held_];
  const size_t count = held_bytes_;
  memcpy(bytes, held_, count);
  has_begun_ = false;
  return put_bytes(bytes, count, true, out);
}

}  // namespace ingot::text
