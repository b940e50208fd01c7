// SPDX-License-Identifier: Apache-2.0
// tests/text/small_vocabularies.h - vocabularies made in a test, one of each model.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tools/text/loaded_tokenizer.h"
#include "tools/text/vocabulary.h"

namespace ingot::test {

using vocabulary::LoadedTokenizer;
using vocabulary::Piece;
using vocabulary::Vocabulary;
using Ids = std::vector<int32_t>;

inline uint32_t add_piece(Vocabulary* v, const std::string& bytes,
                          PieceKind kind = PieceKind::kNormal, double score = 0) {
  const bool is_matched = kind == PieceKind::kNormal;
  v->pieces.push_back({bytes, kind, 0, is_matched, score});
  return uint32_t(v->pieces.size() - 1);
}

/// All bytes, and what the merges make, in their order.
inline Vocabulary byte_vocabulary(const std::vector<std::pair<std::string, std::string>>& merges,
                                  std::vector<TextStage> stages = {}) {
  Vocabulary v;
  v.bytes = true;
  v.stages = std::move(stages);
  for (int b = 0; b < 256; b++) add_piece(&v, std::string(1, char(b)));
  vocabulary::find_byte_pieces(&v, PieceKind::kNormal);
  for (const auto& [left, right] : merges) {
    const vocabulary::PieceIndex known = vocabulary::index_of(v.pieces);
    const auto found = known.find(left + right);
    const uint32_t a = known.at(left), b = known.at(right);
    const uint32_t c = found != known.end() ? found->second : add_piece(&v, left + right);
    v.merges.push_back({a, b, c});
  }
  return v;
}

/// Of words of a and b with spaces, as SentencePiece has them: unknown, bytes, then pieces.
inline Vocabulary scored_vocabulary(const std::vector<std::pair<std::string, double>>& pieces,
                                    TextModel model = TextModel::kScored) {
  Vocabulary v;
  v.model = model;
  v.normalizer = TextNormalizer::kSpaces;
  v.space_prefix = SpacePrefix::kAlways;
  v.strip_space = true;
  v.unknown = int32_t(add_piece(&v, "<unk>", PieceKind::kUnknown));
  add_piece(&v, "<s>", PieceKind::kControl);
  v.prefix = {1};
  for (int b = 0; b < 256; b++) add_piece(&v, std::string(1, char(b)), PieceKind::kByte);
  vocabulary::find_byte_pieces(&v, PieceKind::kByte);
  for (const auto& [bytes, score] : pieces) add_piece(&v, bytes, PieceKind::kNormal, score);
  vocabulary::split_at_spaces(&v);
  return v;
}

inline Vocabulary word_vocabulary() {
  Vocabulary v;
  v.model = TextModel::kWords;
  v.normalizer = TextNormalizer::kBertUncased;
  v.stages = {TextStage::kBert};
  v.strip_space = true;
  v.unknown = int32_t(add_piece(&v, "[UNK]", PieceKind::kUnknown));
  v.prefix = {add_piece(&v, "[CLS]", PieceKind::kControl)};
  v.suffix = {add_piece(&v, "[SEP]", PieceKind::kControl)};
  for (const char* piece : {" un", "aff", "able", " a", "b", " b", " !", " \xe4\xb8\xad", " e"})
    add_piece(&v, piece);
  return v;
}

inline LoadedTokenizer loaded(const Vocabulary& v) {
  return LoadedTokenizer(vocabulary::encode_text_part(v, "test"), "test");
}

/// Parts of each model, small enough to change every byte of them.
inline std::vector<std::vector<uint8_t>> small_parts() {
  Vocabulary ranked = byte_vocabulary({{"a", "b"}, {"ab", "c"}, {" ", "a"}, {"\xc3", "\xa9"}},
                                      {TextStage::kNumber, TextStage::kGpt2});
  ranked.whole_pieces = true;
  add_piece(&ranked, "<|end|>", PieceKind::kControl);
  add_piece(&ranked, "<tab>", PieceKind::kAdded);
  ranked.pieces.back().takes_spaces = kTakesSpacesBefore | kTakesSpacesBehind;
  const Vocabulary scored =
      scored_vocabulary({{" ", -1.}, {"a", -2.}, {"b", -3.}, {" a", -4.}, {"ab", -5.}});
  Vocabulary unigram =
      scored_vocabulary({{" ", -2}, {"a", -3}, {" a", -4}, {"ab", -3.5}}, TextModel::kUnigram);
  unigram.byte_pieces.clear();
  unigram.collapse_spaces = unigram.fuse_unknown = true;
  unigram.replacements.rules = {{"\xc3\xa9", "a  b"}, {"\t", " "}, {"ab", "b"}, {"abc", ""}};
  std::vector<std::vector<uint8_t>> parts;
  for (const Vocabulary& v : {ranked, scored, unigram, word_vocabulary()})
    parts.push_back(vocabulary::encode_text_part(v, "test"));
  return parts;
}

}  // namespace ingot::test
