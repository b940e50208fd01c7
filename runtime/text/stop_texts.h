// SPDX-License-Identifier: Apache-2.0
// runtime/text/stop_texts.h - the bytes of an answer up to a stop text, which may begin in one
// token and end in another. What may be the beginning of one is held back until it is known.
//
//   measure_stop_texts(texts, &bytes, detail);
//   StopTexts stops;       stops.open(texts, {memory, bytes}, detail);
//   n = stops.put(bytes_of_a_token, out);    if (stops.stopped_by() >= 0) ...
//   n = stops.finish(out);
//
// The answer ends in front of the stop text that is complete first; of several that are complete at
// the same byte, of the longest. Work is bytes times texts.
//
// Owns     nothing: memory (of any alignment) and texts are the caller's and outlive it.
// Errors   kInvalidArgument (an empty text: `offset`), kLimitExceeded{need, have}, kArenaTooSmall.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot::text {

constexpr size_t kMaxStopTexts = 256;
constexpr size_t kMaxStopBytes = 32768;  // of all of them

using StopText = Span<const uint8_t>;

Status measure_stop_texts(Span<const StopText> texts, uint64_t* bytes, ErrorDetail* detail);

class StopTexts {
 public:
  Status open(Span<const StopText> texts, Span<uint8_t> memory, ErrorDetail* detail);
  /// Writes what belongs to the answer for sure: at most held() + bytes.size. Nothing behind a stop
  /// text.
  size_t put(Span<const uint8_t> bytes, uint8_t* out);
  /// The end of the answer: writes what was held back.
  size_t finish(uint8_t* out);
  /// Which text ended the answer; -1: none.
  int stopped_by() const { return stopped_by_; }
  size_t held() const { return held_; }

 private:
  size_t give(size_t count, uint8_t byte, uint8_t* out) const;

  Span<const StopText> texts_;
  // For each text how much of it was seen; for each byte of a text which beginning of it is also an
  // end of what goes up to this byte.
  uint16_t* seen_ = nullptr;
  uint16_t* shorter_ = nullptr;
  size_t held_ = 0, held_text_ = 0;  // the first held_ bytes of that text
  int stopped_by_ = -1;
};

}  // namespace ingot::text
