// SPDX-License-Identifier: Apache-2.0
// tools/text/llama2c_vocabulary.cpp - the tokenizer.bin of llama2.c: a SentencePiece model's pieces
// with their scores. <unk>, <s> and </s> come first; "<0x0A>" is a byte; spaces are spaces.
#include <cmath>
#include <cstring>

#include "runtime/base/byte_order.h"
#include "tools/files/failure.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {

Vocabulary vocabulary_of_llama2c(const std::string& path, uint64_t count) {
  const auto file = checkpoint::MappedFile::open(path);
  const auto cut = [&](uint64_t token) {
    host::fail(host::Exit::kCorrupt, path + ": ends in token " + std::to_string(token) + " of " +
                                         std::to_string(count) + "; get the file anew");
  };
  Vocabulary v;
  v.model = TextModel::kScored;
  v.normalizer = TextNormalizer::kSpaces;
  v.space_prefix = SpacePrefix::kAlways;
  v.strip_space = true;
  v.unknown = 0;
  v.prefix = {1};
  if (file->size() < 4) cut(0);
  uint64_t at = 4;  // the longest piece's length
  for (uint64_t i = 0; i < count; i++) {
    if (file->size() - at < 8) cut(i);
    Piece piece;
    float score;
    std::memcpy(&score, file->data() + at, sizeof score);
    const uint64_t bytes = load_little<uint32_t>(file->data() + at + 4);
    at += 8;
    if (file->size() - at < bytes) cut(i);
    piece.bytes.assign(reinterpret_cast<const char*>(file->data()) + at, size_t(bytes));
    at += bytes;
    if (!std::isfinite(score))
      host::fail(host::Exit::kCorrupt, path + ": the score of token " + std::to_string(i) +
                                           " is not a number; get the file anew");
    piece.score = double(score);
    unsigned byte = 0;
    if (i == 0) {
      piece.kind = PieceKind::kUnknown;
    } else if (i < 3) {
      piece.kind = PieceKind::kControl;
      piece.bytes = i == 1 ? "<s>" : "</s>";  // lines of llama2.c's own around them
    } else if (bytes == 6 && std::sscanf(piece.bytes.c_str(), "<0x%2X>", &byte) == 1) {
      piece.kind = PieceKind::kByte;
      piece.bytes = std::string(1, char(byte));
    } else {
      piece.is_matched = bytes > 0;
    }
    v.pieces.push_back(std::move(piece));
  }
  if (at != file->size())
    host::fail(host::Exit::kMismatch, path + ": has more than the " + std::to_string(count) +
                                          " tokens of the model; expected the tokenizer that the "
                                          "model was trained with");
  find_byte_pieces(&v, PieceKind::kByte);
  split_at_spaces(&v);
  return v;
}

}  // namespace ingot::vocabulary
