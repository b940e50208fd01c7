// SPDX-License-Identifier: Apache-2.0
// runtime/text/encoder.h - what the models share: where ids go, and the memory that they work in.
#pragma once
#include "runtime/base/bump_allocator.h"
#include "runtime/text/tokenizer.h"

namespace ingot::text {

/// A piece of a part while pairs are joined: bytes of the text, and the neighbors that are left.
struct Symbol {
  uint32_t begin, bytes;
  uint32_t at;  // the piece, or of a scored model the node in the trie; kNoNode: none
  uint32_t previous, next;
};
/// A pair that could be joined: of the least key, the first is.
struct Join {
  uint32_t key, left;
  uint32_t bytes;  // of both; others when one has changed since
  uint32_t at;     // of the result, as in Symbol
};
/// The best way to a place in the text.
struct Step {
  double score;
  uint32_t from;
  int32_t piece;  // -1: unknown
};

struct Buffers {
  uint8_t* replaced = nullptr;
  uint8_t* normalized = nullptr;
  uint32_t* codes = nullptr;  // twice code_bound() of them
  Symbol* symbols = nullptr;
  Join* joins = nullptr;
  Step* steps = nullptr;
};

struct Encoder {
  const TokenizerView& t;
  const EncodeOptions& options;
  Buffers buffers;
  Span<int32_t> ids;
  size_t count = 0;
  size_t part_at = 0;  // where it begins in the text
  bool last_is_unknown = false;
  EncodeWork work{};
  ErrorDetail* detail = nullptr;

  Status put(uint32_t id) {
    if (count == ids.size) return fail(detail, Code::kArenaTooSmall, "ids", count + 1, ids.size);
    ids[count++] = int32_t(id);
    last_is_unknown = false;
    return {};
  }
  /// One character that is no piece: its bytes as pieces, or the unknown one.
  Status put_unknown(const uint8_t* text, size_t begin, size_t bytes);
  bool has_byte_pieces(const uint8_t* bytes, size_t count_of_bytes) const {
    if (t.byte_pieces.empty()) return false;
    for (size_t i = 0; i < count_of_bytes; i++)
      if (t.byte_pieces[bytes[i]] < 0) return false;
    return true;
  }
};

// One part of a normalized text, by each model.
Status encode_pairs(Encoder* e, const uint8_t* text, size_t bytes);
Status encode_unigram(Encoder* e, const uint8_t* text, size_t bytes);
Status encode_word(Encoder* e, const uint8_t* text, size_t bytes);

/// Where `bytes` lead from `node`, or kNoNode.
inline uint32_t trie_walk(const TrieView& trie, uint32_t node, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count && node != kNoNode; i++) node = trie_child(trie, node, bytes[i]);
  return node;
}

}  // namespace ingot::text
