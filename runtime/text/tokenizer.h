// SPDX-License-Identifier: Apache-2.0
// runtime/text/tokenizer.h - text to ids and back, over the tables of a file.
//
//   TokenizerView tables;  open_text(part, &tables, detail);       // runtime/format/text_part.h
//   EncodeNeed need;       measure_encode(tables, text.size, &need, detail);
//   encode(tables, text, {}, {memory, need.memory_bytes}, {ids, need.ids}, &count, detail);
//   Decoder decoder;       decoder.put(tables, id, out)            // bytes to print, id by id
//
// Owns     nothing: memory is the caller's, 16-byte aligned; only what a text needs is touched.
// Errors   kLimitExceeded (text above kMaxEncodeBytes), kArenaTooSmall{need, have}, kMisaligned,
//          kNotFound: a character that the vocabulary has no piece for; ErrorDetail::offset is
//          where in the text, counted as normalized from the last added token on.
// Threads  any number over one TokenizerView. No globals.
#pragma once
#include "runtime/format/text_part.h"

namespace ingot::text {

constexpr uint64_t kMaxEncodeBytes = uint64_t{1} << 30;

/// Work done, for tests: it grows with n log n of the text at most.
struct EncodeWork {
  uint64_t characters = 0;  // that scanners looked at
  uint64_t joins = 0;       // pairs of pieces that were looked up
  uint64_t moves = 0;       // in the queue of joins
};

struct EncodeOptions {
  bool add_special = true;     // the ids before and behind a text that the model asks for
  bool parse_special = false;  // control tokens in the text are taken for what they say
  EncodeWork* work = nullptr;
};

struct EncodeNeed {
  uint64_t memory_bytes = 0;
  uint64_t ids = 0;
};

/// For any text of that size.
Status measure_encode(const TokenizerView& t, uint64_t text_bytes, EncodeNeed* need,
                      ErrorDetail* detail);
/// Bytes that are not UTF-8 are taken one by one.
Status encode(const TokenizerView& t, Span<const uint8_t> text, const EncodeOptions& options,
              Span<uint8_t> memory, Span<int32_t> ids, size_t* count, ErrorDetail* detail);

/// Text from ids, as they come: a character is given once all of its bytes are there.
class Decoder {
 public:
  /// Room for what one id or finish() gives.
  static constexpr size_t kMaxBytes = 3 * (kMaxPieceBytes + 4);

  explicit Decoder(bool shows_control = false) : shows_control_(shows_control) {}
  /// Bytes that were written to `out`. An id that is none gives nothing. Bytes that are not UTF-8
  /// become U+FFFD.
  size_t put(const TokenizerView& t, int32_t id, uint8_t out[kMaxBytes]);
  /// What is left of a character that never came whole, as U+FFFD.
  size_t finish(uint8_t out[kMaxBytes]);

 private:
  size_t put_bytes(const uint8_t* bytes, size_t count, bool is_last, uint8_t* out);
  uint8_t held_[4] = {};
  uint8_t held_bytes_ = 0;
  bool shows_control_;
  bool has_begun_ = false;
};

}  // namespace ingot::text
