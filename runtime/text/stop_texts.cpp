// SPDX-License-Identifier: Apache-2.0
// runtime/text/stop_texts.cpp - Knuth, Morris and Pratt for each text: what is held back is the
// longest beginning of a text, so that no byte is stored.
#include "runtime/text/stop_texts.h"

#include <cstring>

namespace ingot::text {

Status measure_stop_texts(Span<const StopText> texts, uint64_t* bytes, ErrorDetail* detail) {
  if (texts.size > kMaxStopTexts)
    return fail(detail, Code::kLimitExceeded, "stop texts", kMaxStopTexts, texts.size);
  uint64_t sum = 0;
  for (size_t t = 0; t < texts.size; t++) {
    if (texts[t].empty())
      return fail(detail, Code::kInvalidArgument, "a stop text has a byte", 1, 0, t);
    sum += texts[t].size <= kMaxStopBytes ? texts[t].size : kMaxStopBytes + 1;
  }
  if (sum > kMaxStopBytes)
    return fail(detail, Code::kLimitExceeded, "bytes of stop texts", kMaxStopBytes, sum);
  *bytes = (texts.size + sum + 1) * sizeof(uint16_t);
  return {};
}

Status StopTexts::open(Span<const StopText> texts, Span<uint8_t> memory, ErrorDetail* detail) {
  uint64_t need = 0;
  INGOT_TRY(measure_stop_texts(texts, &need, detail));
  if (memory.size < need) return fail(detail, Code::kArenaTooSmall, "memory", need, memory.size);
  texts_ = texts;
  held_ = held_text_ = 0, stopped_by_ = -1;
  seen_ = reinterpret_cast<uint16_t*>(memory.data + reinterpret_cast<uintptr_t>(memory.data) % 2);
  shorter_ = seen_ + texts.size;
  memset(seen_, 0, texts.size * sizeof *seen_);
  uint16_t* row = shorter_;
  for (const StopText& text : texts) {
    row[0] = 0;
    uint16_t n = 0;
    for (size_t i = 1; i < text.size; i++) {
      while (n > 0 && text[i] != text[n]) n = row[n - 1];
      if (text[i] == text[n]) n++;
      row[i] = n;
    }
    row += text.size;
  }
  return {};
}

/// Of what is held and `byte` behind it, the first ones.
size_t StopTexts::give(size_t count, uint8_t byte, uint8_t* out) const {
  const size_t held = count < held_ ? count : held_;
  if (held) memcpy(out, texts_[held_text_].data, held);
  if (count > held) out[held] = byte;
  return count;
}

size_t StopTexts::put(Span<const uint8_t> bytes, uint8_t* out) {
  size_t written = 0;
  for (size_t i = 0; i < bytes.size && stopped_by_ < 0; i++) {
    const uint8_t byte = bytes[i];
    size_t longest = 0, longest_text = 0, stop = 0;
    const uint16_t* row = shorter_;
    for (size_t t = 0; t < texts_.size; row += texts_[t].size, t++) {
      const StopText& text = texts_[t];
      uint16_t n = seen_[t];
      while (n > 0 && byte != text[n]) n = row[n - 1];
      if (byte == text[n]) n++;
      seen_[t] = n;
      if (n == text.size && n > stop) stop = n, stopped_by_ = int(t);
      if (n > longest) longest = n, longest_text = t;
    }
    written += give(held_ + 1 - (stop ? stop : longest), byte, out + written);
    held_ = stop ? 0 : longest, held_text_ = longest_text;
  }
  return written;
}

size_t StopTexts::finish(uint8_t* out) {
  const size_t written = give(held_, 0, out);
  held_ = 0;
  return written;
}

}  // namespace ingot::text
