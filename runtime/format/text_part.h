// SPDX-License-Identifier: Apache-2.0
// runtime/format/text_part.h - the part of a file with the tables of a tokenizer (schema/text.fbs).
// open_text() validates all of it once; what comes out is searched where it lies, and every index
// in it may be followed.
//
// Owns     nothing: the spans lead into the part, which must outlive them.
// Errors   kStructureInvalid, kLimitExceeded (kMaxTextBytes, kMaxPieces, kMaxPieceBytes),
//          kMeaningInvalid{field, operand = piece or node}.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot {

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 28;
constexpr uint32_t kMaxPieces = 1u << 22;
constexpr uint32_t kMaxPieceBytes = 1024;
constexpr uint32_t kMaxGrowth = 64;     // bytes that a replaced byte becomes
constexpr size_t kMaxClusterBytes = 5;  // of a cluster that is replaced at once

// Numbers of schema/text.fbs.
enum class TextModel : uint8_t { kRanked, kScored, kUnigram, kWords };
enum class TextStage : uint8_t {
  kGpt2,
  kLlama3,
  kQwen2,
  kQwen35,
  kGpt4o,
  kTekken,
  kDeepseek3,
  kNumber,
  kNumbers,
  kNumbers3,
  kDigits3,
  kPunctuation,
  kNewline,
  kLines,
  kCasedLetters,
  kWidePunctuation,
  kTrailingSpace,
  kHanHangul,
  kLetters,
  kMarks,
  kHanKana,
  kSpaces,
  kBert,
  kBloom,
  kSpaceRuns
};
constexpr uint8_t kTextStages = 25;
constexpr size_t kMaxStages = 8;
enum class TextNormalizer : uint8_t { kNone, kSpaces, kBertCased, kBertUncased, kNfc };
enum class SpacePrefix : uint8_t { kNever, kFirst, kAlways };
enum class PieceKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kAdded = 4,
  kUnused = 5,
  kByte = 6
};
constexpr uint8_t kPieceKindMask = 15, kTakesSpacesBefore = 16, kTakesSpacesBehind = 32;

struct MergeRow {
  uint32_t right, rank, piece;
};

/// Byte strings as a tree, in order of depth. Node 0 is the root.
struct TrieView {
  Span<const uint32_t> first;  // of nodes + 1: children of node i are [first[i], first[i + 1])
  Span<const uint8_t> label;
  Span<const int32_t> piece;
  uint32_t depth = 0;  // of the longest string
  bool empty() const { return label.size <= 1; }
};

/// Strings that are replaced in a text before it is normalized: `keys` leads to what each becomes.
struct ReplacementsView {
  TrieView keys;
  Span<const uint32_t> starts;
  Span<const uint8_t> bytes;
  bool by_cluster = false;
  uint32_t growth = 1;  // most bytes that one byte of text becomes
  Span<const uint8_t> with(uint32_t i) const {
    return {bytes.data + starts[i], starts[i + 1] - starts[i]};
  }
};

struct TokenizerView {
  TextModel model = TextModel::kRanked;
  TextNormalizer normalizer = TextNormalizer::kNone;
  SpacePrefix space_prefix = SpacePrefix::kNever;
  bool prefix_unless_space = false, collapse_spaces = false, bytes = false, whole_pieces = false,
       fuse_unknown = false, strip_space = false, keep_end_space = false;
  ReplacementsView replacements;
  Span<const TextStage> stages;
  uint32_t count = 0;  // of pieces
  Span<const uint32_t> piece_starts;
  Span<const uint8_t> piece_bytes;
  Span<const uint8_t> piece_kinds;
  Span<const double> scores;
  Span<const uint32_t> orders;
  Span<const uint32_t> merge_first;
  Span<const MergeRow> merges;
  Span<const int32_t> byte_pieces;
  int32_t unknown = -1;
  TrieView pieces, added;
  Span<const uint32_t> prefix, suffix;
  double lowest_score = 0;

  Span<const uint8_t> piece(uint32_t id) const {
    return {piece_bytes.data + piece_starts[id], piece_starts[id + 1] - piece_starts[id]};
  }
  PieceKind kind(uint32_t id) const { return PieceKind(piece_kinds[id] & kPieceKindMask); }
};

/// Validates the part; kNotFound where it has no tokenizer. `part` is 16-byte aligned. Time is
/// linear in the part.
Status open_text(Span<const uint8_t> part, TokenizerView* out, ErrorDetail* detail);

constexpr uint32_t kNoNode = ~uint32_t{0};
/// The child of `node` by that byte, or kNoNode.
inline uint32_t trie_child(const TrieView& trie, uint32_t node, uint8_t byte) {
  uint32_t low = trie.first[node], high = trie.first[node + 1];
  while (high - low > 8) {
    const uint32_t middle = low + (high - low) / 2;
    if (trie.label[middle] <= byte)
      low = middle;
    else
      high = middle;
  }
  for (; low < high; low++)
    if (trie.label[low] == byte) return low;
  return kNoNode;
}
/// The row that joins two pieces, or null.
inline const MergeRow* find_merge(const TokenizerView& t, uint32_t left, uint32_t right) {
  uint32_t low = t.merge_first[left], high = t.merge_first[left + 1];
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (t.merges[middle].right < right)
      low = middle + 1;
    else
      high = middle;
  }
  return low < t.merge_first[left + 1] && t.merges[low].right == right ? &t.merges[low] : nullptr;
}

}  // namespace ingot
