// SPDX-License-Identifier: Apache-2.0
// runtime/text/stages.h - splits text before it becomes pieces (schema/text.fbs, TextStage). The
// patterns that tokenizers state as regular expressions are scanners here. Time is linear in the
// text; nothing is allocated.
#pragma once
#include "runtime/format/text_part.h"

namespace ingot::text {

/// A part of a text: bytes [begin, end).
struct Range {
  size_t begin = 0, end = 0;
};

/// The parts of a text from the left. Stages nest: each splits what the one before left.
class PartWalk {
 public:
  PartWalk(Span<const TextStage> stages, const uint8_t* text, size_t bytes);
  /// False behind the last part.
  bool next(Range* part);
  /// Characters that scanners looked at so far, for tests.
  uint64_t looked_at() const { return looked_at_; }

 private:
  struct Level {
    size_t at = 0, end = 0;           // what is left to split
    size_t match = 0, match_end = 0;  // found, behind the gap that was given first; equal: none
  };
  Span<const TextStage> stages_;
  const uint8_t* text_;
  size_t depth_ = 0;
  Level levels_[kMaxStages + 1];
  uint64_t looked_at_ = 0;
};

}  // namespace ingot::text
