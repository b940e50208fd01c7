// SPDX-License-Identifier: Apache-2.0
// tools/text/gguf_vocabulary.cpp - the tokenizer in a GGUF file's metadata (tokenizer.ggml.*).
#include <algorithm>

#include "tools/files/failure.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

using checkpoint::GgufFile;
using host::Exit;

class GgufVocabulary {
 public:
  explicit GgufVocabulary(const GgufFile& file) : file_(file), where_(file.path()) {}

  Vocabulary read() {
    const std::string model = file_.text("tokenizer.ggml.model").value_or("");
    read_pieces();
    if (model == "gpt2")
      read_byte_pairs();
    else if (model == "gemma4")
      read_character_pairs();
    else if (model == "llama")
      read_scored();
    else if (model == "t5")
      read_unigram();
    else if (model == "bert")
      read_words();
    else
      unsupported("tokenizer.ggml.model '" + model + "'; known: gpt2, llama, gemma4, t5, bert");
    add_ends();
    add_chat();
    return std::move(v_);
  }

 private:
  static constexpr const char* kKey = "tokenizer.ggml.";

  [[noreturn]] void unsupported(const std::string& what) const {
    host::fail(Exit::kUnsupported, where_ + ": " + what);
  }
  [[noreturn]] void corrupt(const std::string& what) const {
    host::fail(Exit::kCorrupt, where_ + ": " + what + "; get the file anew");
  }
  std::string key(const char* name) const { return kKey + std::string(name); }

  void read_pieces() {
    texts_ = file_.texts(key("tokens"));
    if (texts_.empty()) corrupt("tokenizer.ggml.tokens is missing or empty");
    const std::vector<int64_t> kinds = file_.integers(key("token_type"));
    const std::vector<double> scores = file_.numbers(key("scores"));
    if ((!kinds.empty() && kinds.size() != texts_.size()) ||
        (!scores.empty() && scores.size() != texts_.size()))
      corrupt("tokenizer.ggml: " + std::to_string(texts_.size()) + " tokens, " +
              std::to_string(kinds.size()) + " types and " + std::to_string(scores.size()) +
              " scores");
    v_.pieces.resize(texts_.size());
    for (size_t i = 0; i < texts_.size(); i++) {
      Piece& piece = v_.pieces[i];
      const int64_t kind = kinds.empty() ? 1 : kinds[i];
      if (kind < 1 || kind > 6)
        corrupt("token " + std::to_string(i) + " has the type " + std::to_string(kind) +
                ", expected 1 to 6");
      piece.kind = PieceKind(kind);
      piece.bytes = texts_[i];
      if (!scores.empty()) piece.score = scores[i];
    }
  }

  int32_t id(const char* name) const {
    const int64_t n = file_.integer(key(name)).value_or(-1);
    if (n >= int64_t(texts_.size()))
      corrupt(key(name) + " is " + std::to_string(n) + " of " + std::to_string(texts_.size()) +
              " tokens");
    return n < 0 ? -1 : int32_t(n);
  }

  /// U+2581 in a piece is a space; "<0x0A>" is a byte. Added tokens with spaces are joined as
  /// others are.
  void unescape_pieces() {
    for (size_t i = 0; i < texts_.size(); i++) {
      Piece& piece = v_.pieces[i];
      const std::string spaced = with_spaces(texts_[i]);
      if (piece.kind == PieceKind::kAdded && spaced != texts_[i]) piece.kind = PieceKind::kNormal;
      if (piece.kind == PieceKind::kByte) {
        unsigned byte = 256;
        if (texts_[i].size() != 6 || std::sscanf(texts_[i].c_str(), "<0x%2X>", &byte) != 1)
          corrupt("token " + std::to_string(i) + " is of a byte and not called <0x00> to <0xFF>");
        piece.bytes = std::string(1, char(byte));
      } else if (piece.kind == PieceKind::kNormal) {
        // A real space never comes to be matched: text has none left by then.
        piece.is_matched = texts_[i].find(' ') == std::string::npos && !texts_[i].empty();
        piece.bytes = spaced;
      } else if (piece.kind == PieceKind::kAdded) {
        piece.is_matched = texts_[i].find(' ') == std::string::npos && !texts_[i].empty();
      }
    }
    find_byte_pieces(&v_, PieceKind::kByte);
  }

  void read_merges() {
    const PieceIndex index = index_of(v_.pieces);
    const std::vector<std::string> rows = file_.texts(key("merges"));
    std::string joined;
    for (size_t i = 0; i < rows.size(); i++) {
      const size_t space = rows[i].find(' ', 1);
      if (space == std::string::npos) corrupt("merge " + std::to_string(i) + " is not of two");
      std::string left, right;
      const bool known =
          spell(rows[i].substr(0, space), &left) && spell(rows[i].substr(space + 1), &right);
      const auto a = index.find(left), b = index.find(right);
      joined = left + right;
      const auto c = index.find(joined);
      if (!known || a == index.end() || b == index.end() || c == index.end())
        corrupt("merge " + std::to_string(i) + " '" + rows[i] +
                "' is of pieces that the vocabulary does not have");
      v_.merges.push_back({a->second, b->second, c->second});
    }
  }
  bool spell(const std::string& text, std::string* bytes) const {
    if (v_.bytes) return bytes_of_letters(text, bytes);
    *bytes = with_spaces(text);
    return true;
  }

  void read_byte_pairs() {
    const std::string name = file_.text(key("pre")).value_or("");
    if (name.empty())
      unsupported(
          "tokenizer.ggml.pre is missing: how text is split is not known; convert the "
          "model to GGUF anew");
    const PreTokenizer* how = find_pre_tokenizer(name);
    if (!how) unsupported("tokenizer.ggml.pre '" + name + "': this pre-tokenizer is not known");
    v_.stages = how->stages;
    v_.whole_pieces = how->whole_pieces;
    adds_bos_ = how->adds_bos;
    v_.bytes = true;
    v_.unknown = id("unknown_token_id");
    for (size_t i = 0; i < texts_.size(); i++) {
      Piece& piece = v_.pieces[i];
      std::string bytes;
      if (piece.kind != PieceKind::kNormal || !bytes_of_letters(texts_[i], &bytes)) continue;
      piece.bytes = bytes;
      piece.is_matched = !bytes.empty();
    }
    find_byte_pieces(&v_, PieceKind::kNormal);
    read_merges();
  }

  void read_character_pairs() {
    v_.normalizer = TextNormalizer::kSpaces;
    v_.stages = {TextStage::kLines};
    v_.unknown = id("unknown_token_id");
    adds_bos_ = true;
    prefix_space(false);
    unescape_pieces();
    split_at_spaces(&v_);
    read_merges();
  }

  void prefix_space(bool by_default) {
    v_.strip_space = file_.flag(key("add_space_prefix")).value_or(by_default);
    v_.space_prefix = v_.strip_space ? SpacePrefix::kAlways : SpacePrefix::kNever;
    v_.collapse_spaces = file_.flag(key("remove_extra_whitespaces")).value_or(false);
  }

  void read_scored() {
    v_.model = TextModel::kScored;
    v_.normalizer = TextNormalizer::kSpaces;
    v_.unknown = id("unknown_token_id");
    if (v_.unknown < 0 && v_.pieces[0].kind == PieceKind::kUnknown) v_.unknown = 0;
    adds_bos_ = true;
    prefix_space(true);
    unescape_pieces();
    split_at_spaces(&v_);
  }

  void read_unigram() {
    std::string charsmap;
    for (const int64_t byte : file_.integers(key("precompiled_charsmap"))) charsmap += char(byte);
    if (!charsmap.empty()) v_.replacements.rules = rules_of_charsmap(charsmap, where_);
    v_.model = TextModel::kUnigram;
    v_.normalizer = TextNormalizer::kSpaces;
    v_.unknown = id("unknown_token_id");
    v_.fuse_unknown = true;
    adds_eos_ = true;
    prefix_space(true);
    unescape_pieces();
    split_at_spaces(&v_);
  }

  void read_words() {
    const bool lower = file_.flag(key("normalizer.lowercase")).value_or(true);
    if (file_.flag(key("normalizer.strip_accents")).value_or(lower) != lower)
      unsupported("tokenizer.ggml.normalizer.strip_accents other than normalizer.lowercase");
    v_.model = TextModel::kWords;
    v_.normalizer = lower ? TextNormalizer::kBertUncased : TextNormalizer::kBertCased;
    v_.stages = {TextStage::kBert};
    v_.strip_space = true;
    v_.unknown = id("unknown_token_id");
    for (size_t i = 0; i < texts_.size(); i++) {
      Piece& piece = v_.pieces[i];
      if (piece.kind != PieceKind::kNormal) continue;
      piece.bytes = with_spaces(texts_[i]);
      piece.is_matched = !piece.bytes.empty();
    }
    adds_bos_ = adds_eos_ = true;
  }

  void add_ends() {
    const bool is_bert = v_.model == TextModel::kWords;
    int32_t bos = id("bos_token_id"), eos = id("eos_token_id");
    if (is_bert) {
      const int32_t cls = id("cls_token_id"), sep = id("seperator_token_id");
      bos = cls >= 0 ? cls : bos, eos = sep >= 0 ? sep : eos;
    }
    const bool adds_bos = file_.flag(key("add_bos_token")).value_or(adds_bos_),
               adds_eos =
                   file_.flag(key(is_bert ? "add_sep_token" : "add_eos_token")).value_or(adds_eos_);
    if (adds_bos && bos >= 0) v_.prefix.push_back(uint32_t(bos));
    if (adds_eos && eos >= 0) v_.suffix.push_back(uint32_t(eos));
  }

  void add_chat() {
    const std::optional<std::string> source = file_.text("tokenizer.chat_template");
    if (!source) return;
    v_.chat = chat::chat_template_of(*source, where_);
    const int32_t bos = id("bos_token_id"), eos = id("eos_token_id");
    if (bos >= 0) v_.chat.bos = texts_[size_t(bos)];
    if (eos >= 0) v_.chat.eos = texts_[size_t(eos)];
  }

  const GgufFile& file_;
  const std::string& where_;
  std::vector<std::string> texts_;
  Vocabulary v_;
  bool adds_bos_ = false, adds_eos_ = false;
};

}  // namespace

Vocabulary vocabulary_of_gguf(const GgufFile& file) { return GgufVocabulary(file).read(); }

bool has_vocabulary(const GgufFile& file) {
  return file.text("tokenizer.ggml.model").value_or("no_vocab") != "no_vocab";
}

}  // namespace ingot::vocabulary
