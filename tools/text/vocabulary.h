// SPDX-License-Identifier: Apache-2.0
// tools/text/vocabulary.h - a tokenizer as plain values, whatever it was read from, and the part of
// a file that it becomes (schema/text.fbs).
// Errors   host::Failure kUnsupported: what Ingot does not have, by its name in the source;
//          kCorrupt: a source that contradicts itself.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/format/text_part.h"
#include "tools/checkpoint/flat/gguf.h"
#include "tools/text/template_compiler.h"

namespace ingot::vocabulary {

struct Piece {
  std::string bytes;  // as they are printed
  PieceKind kind = PieceKind::kNormal;
  uint8_t takes_spaces = 0;  // kTakesSpacesBefore, kTakesSpacesBehind
  bool is_matched = false;   // with text, besides by its name
  double score = 0;
};

struct MergePair {
  uint32_t left = 0, right = 0, piece = 0;
};

/// Strings that are replaced before a text is normalized.
struct Replacements {
  struct Rule {
    std::string from, to;
  };
  std::vector<Rule> rules;
  bool by_cluster = false;  // as the library `tokenizers` does it (schema/text.fbs)
};

struct Vocabulary {
  TextModel model = TextModel::kRanked;
  std::vector<TextStage> stages;
  TextNormalizer normalizer = TextNormalizer::kNone;
  SpacePrefix space_prefix = SpacePrefix::kNever;
  bool prefix_unless_space = false, collapse_spaces = false, bytes = false, whole_pieces = false,
       fuse_unknown = false, strip_space = false, keep_end_space = false;
  Replacements replacements;
  std::vector<Piece> pieces;
  std::vector<MergePair> merges;  // by rank
  std::vector<int32_t> byte_pieces;
  int32_t unknown = -1;
  std::vector<uint32_t> prefix, suffix;
  chat::ChatTemplate chat;
};

/// The bytes of the part, as open_text() takes them. `where` begins every error.
std::vector<uint8_t> encode_text_part(const Vocabulary& vocabulary, const std::string& where);

Vocabulary vocabulary_of_gguf(const checkpoint::GgufFile& file);
/// False where the metadata has no tokenizer.
bool has_vocabulary(const checkpoint::GgufFile& file);
/// Of llama2.c's tokenizer.bin, with as many tokens as the model.
Vocabulary vocabulary_of_llama2c(const std::string& path, uint64_t count);
/// Of a tokenizer.json, as the library `tokenizers` writes it.
Vocabulary vocabulary_of_json(std::string_view json, const std::string& where);
/// The chat template beside it, if there is one, and the tokens that templates name.
void add_chat_of_folder(Vocabulary* vocabulary, const std::string& folder);

/// What a source's spelling of a byte-level piece says: each of its 256 letters is a byte. False
/// where a character is none of them.
bool bytes_of_letters(std::string_view letters, std::string* bytes);
/// The rules of SentencePiece's precompiled_charsmap. `where` begins every error.
std::vector<Replacements::Rule> rules_of_charsmap(std::string_view charsmap,
                                                  const std::string& where);
/// False where a character is no digit of it.
bool bytes_of_base64(std::string_view text, std::string* bytes);
/// U+2581 stands for a space.
std::string with_spaces(std::string_view text);
/// Pieces of `bytes` by their bytes, first come.
using PieceIndex = std::unordered_map<std::string_view, uint32_t>;
PieceIndex index_of(const std::vector<Piece>& pieces);
/// The parts of a text without a stage of its own may be cut where a space follows something else,
/// if no piece has one there.
void split_at_spaces(Vocabulary* vocabulary);
/// byte_pieces from pieces of one byte that are of that kind.
void find_byte_pieces(Vocabulary* vocabulary, PieceKind kind);

/// Stages by what sources call them.
struct PreTokenizer {
  std::vector<TextStage> stages;
  bool whole_pieces = false, adds_bos = false;
};
/// tokenizer.ggml.pre; null where it is not known.
const PreTokenizer* find_pre_tokenizer(std::string_view name);
/// The stage of a regular expression of a tokenizer.json; false where it is not known. `is_total`:
/// it leaves nothing between its matches.
bool find_pattern(std::string_view pattern, TextStage* stage, bool* is_total);

}  // namespace ingot::vocabulary
