// SPDX-License-Identifier: Apache-2.0
// tools/text/json_vocabulary.cpp - a tokenizer.json. Each of its parts (normalizer, pre-tokenizer,
// model, post-processor, decoder) is one that is known, or is refused by its name.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/text/unicode.h"
#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/failure.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

using Json = nlohmann::json;
using host::Exit;

constexpr const char* kLowBlock = "\xe2\x96\x81";

class JsonVocabulary {
 public:
  JsonVocabulary(const Json& root, const std::string& where) : root_(root), where_(where) {}

  Vocabulary read() {
    if (!root_.is_object() || !root_.contains("model"))
      corrupt("is no tokenizer.json: it has no 'model'");
    const Json& model = root_["model"];
    read_normalizer(part("normalizer"));
    read_pre_tokenizer(part("pre_tokenizer"));
    if ((joins_spaces_ || strips_end_) && !v_.collapse_spaces)
      unsupported("normalizer", "joined or stripped spaces without Metaspace");
    const std::string type = model.value("type", model.contains("merges") ? "BPE" : "");
    if (type == "BPE")
      read_pairs(model);
    else if (type == "Unigram")
      read_unigram(model);
    else if (type == "WordPiece")
      read_words(model);
    else
      unsupported("model", type);
    read_added();
    if (v_.stages.empty() && v_.normalizer == TextNormalizer::kSpaces) split_at_spaces(&v_);
    read_post_processor(part("post_processor"));
    read_decoder(part("decoder"));
    return std::move(v_);
  }

 private:
  [[noreturn]] void corrupt(const std::string& what) const {
    host::fail(Exit::kCorrupt, where_ + ": " + what);
  }
  [[noreturn]] void unsupported(const std::string& part, const std::string& what) const {
    host::fail(Exit::kUnsupported, where_ + ": " + part + " '" + what + "' is not known");
  }
  static const Json& null() {
    static const Json value;
    return value;
  }
  const Json& part(const char* name) const {
    const auto found = root_.find(name);
    return found == root_.end() ? null() : *found;
  }
  static std::string type_of(const Json& part) {
    return part.is_object() ? part.value("type", "") : "";
  }

  void read_normalizer(const Json& n) {
    if (n.is_null()) return;
    const std::string type = type_of(n);
    if (type == "Sequence") {
      for (const Json& each : n.at("normalizers")) read_normalizer(each);
    } else if (type == "Precompiled" && !joins_spaces_ && !strips_end_ &&
               v_.replacements.rules.empty() && v_.normalizer == TextNormalizer::kNone) {
      std::string charsmap;
      if (!bytes_of_base64(n.value("precompiled_charsmap", ""), &charsmap))
        corrupt("precompiled_charsmap is not base64");
      v_.replacements = {rules_of_charsmap(charsmap, where_), true};
      // Longer ones are never looked at.
      std::erase_if(v_.replacements.rules, [](const Replacements::Rule& rule) {
        return rule.from.size() > kMaxClusterBytes;
      });
    } else if (type == "Replace" && !v_.replacements.rules.empty() &&
               n.at("pattern").value("Regex", "") == " {2,}" &&
               (n.value("content", "") == kLowBlock || n.value("content", "") == " ")) {
      joins_spaces_ = true;
    } else if (type == "Strip" && !v_.replacements.rules.empty() && !n.value("strip_left", true) &&
               n.value("strip_right", false)) {
      strips_end_ = true;
    } else if (type == "Prepend" && n.value("prepend", "") == kLowBlock &&
               v_.normalizer != TextNormalizer::kNfc) {
      v_.normalizer = TextNormalizer::kSpaces;
      v_.space_prefix = SpacePrefix::kAlways;
      normalizes_spaces_ = true;
    } else if (type == "Replace" && n.at("pattern").value("String", "") == " " &&
               n.value("content", "") == kLowBlock && v_.normalizer != TextNormalizer::kNfc) {
      v_.normalizer = TextNormalizer::kSpaces;
      normalizes_spaces_ = true;
    } else if (type == "NFC" && v_.normalizer == TextNormalizer::kNone) {
      v_.normalizer = TextNormalizer::kNfc;
    } else if (type == "BertNormalizer") {
      const bool lower = n.value("lowercase", true);
      const Json strip = n.value("strip_accents", Json());
      if (!n.value("clean_text", true) || !n.value("handle_chinese_chars", true) ||
          (!strip.is_null() && strip != Json(lower)))
        unsupported("normalizer", "BertNormalizer " + n.dump());
      v_.normalizer = lower ? TextNormalizer::kBertUncased : TextNormalizer::kBertCased;
    } else {
      unsupported("normalizer", type == "Replace" || type == "Prepend" ? n.dump() : type);
    }
  }

  void read_pre_tokenizer(const Json& p) {
    if (p.is_null()) return;
    const std::string type = type_of(p);
    // Behind it text is letters that stand for bytes, and their classes are others.
    if (v_.bytes && type != "Split") unsupported("pre_tokenizer", type + " behind ByteLevel");
    if (type == "Sequence") {
      for (const Json& each : p.at("pretokenizers")) read_pre_tokenizer(each);
    } else if (type == "ByteLevel") {
      if (p.value("add_prefix_space", true))
        unsupported("pre_tokenizer", "ByteLevel with add_prefix_space");
      v_.bytes = true;
      if (p.value("use_regex", true)) v_.stages.push_back(TextStage::kGpt2);
    } else if (type == "Split") {
      read_split(p);
    } else if (type == "Digits") {
      v_.stages.push_back(p.value("individual_digits", false) ? TextStage::kNumber
                                                              : TextStage::kNumbers);
    } else if (type == "Punctuation" && p.value("behavior", "Isolated") == "Contiguous") {
      v_.stages.push_back(TextStage::kPunctuation);
    } else if (type == "Metaspace") {
      read_metaspace(p);
    } else if (type == "WhitespaceSplit" && v_.normalizer == TextNormalizer::kNone &&
               v_.stages.empty()) {
      replace_space();
      joins_spaces_ = strips_end_ = true;
    } else if (type == "BertPreTokenizer") {
      v_.stages.push_back(TextStage::kBert);
    } else {
      unsupported("pre_tokenizer", type);
    }
  }

  /// White space of any kind that is not replaced already is a space.
  void replace_space() {
    std::set<std::string> replaced = {" "};
    for (const Replacements::Rule& rule : v_.replacements.rules) replaced.insert(rule.from);
    for (uint32_t code = 0; code < 0x3001; code++) {
      uint8_t bytes[4];
      const std::string spelled(bytes, bytes + text::put_code(code, bytes));
      if ((text::traits_of(code) & text::kSpace) && !replaced.count(spelled))
        v_.replacements.rules.push_back({spelled, " "});
    }
  }

  void read_split(const Json& p) {
    const Json& pattern = p.at("pattern");
    // Spaces are gone by then.
    if (pattern.value("String", "") == " " && v_.normalizer == TextNormalizer::kSpaces) return;
    TextStage stage;
    bool is_total = false;
    if (!find_pattern(pattern.value("Regex", ""), &stage, &is_total))
      unsupported("pre_tokenizer", "Split " + pattern.dump());
    const std::string behavior = p.value("behavior", "");
    const bool inverted = p.value("invert", false);
    if (!(behavior == "Isolated" && (!inverted || is_total)) &&
        !(behavior == "Removed" && inverted && is_total))
      unsupported("pre_tokenizer", "Split " + behavior + (inverted ? ", inverted" : ""));
    if (v_.bytes && stage != TextStage::kDigits3)
      unsupported("pre_tokenizer", "Split " + pattern.dump() + " behind ByteLevel");
    v_.stages.push_back(stage);
  }

  void read_metaspace(const Json& p) {
    const std::string scheme =
        p.value("prepend_scheme", p.value("add_prefix_space", true) ? "always" : "never");
    if (p.value("replacement", kLowBlock) != kLowBlock ||
        (scheme != "first" && scheme != "always" && scheme != "never"))
      unsupported("pre_tokenizer", "Metaspace " + p.dump());
    if (v_.normalizer == TextNormalizer::kNfc) unsupported("pre_tokenizer", "Metaspace behind NFC");
    v_.normalizer = TextNormalizer::kSpaces;
    v_.prefix_unless_space = true;
    v_.space_prefix = scheme == "first"    ? SpacePrefix::kFirst
                      : scheme == "always" ? SpacePrefix::kAlways
                                           : SpacePrefix::kNever;
    v_.collapse_spaces = joins_spaces_;
    v_.keep_end_space = joins_spaces_ && !strips_end_;
    // Spaces at the start of a text are one then, which only a prefix gives here.
    if ((joins_spaces_ || strips_end_) && (scheme != "always" || !joins_spaces_))
      unsupported("pre_tokenizer", "Metaspace " + p.dump() + " behind joined spaces");
    // What stands for a space in a text is one, and joined too.
    const auto is_low_block = [](const Replacements::Rule& rule) {
      return rule.from == kLowBlock && rule.to == " ";
    };
    if (joins_spaces_ &&
        std::none_of(v_.replacements.rules.begin(), v_.replacements.rules.end(), is_low_block))
      unsupported("normalizer", "joined spaces where U+2581 is none");
    if (p.value("split", true)) v_.stages.push_back(TextStage::kSpaces);
  }

  Piece& piece_at(uint64_t id) {
    if (id >= kMaxPieces)
      corrupt("a piece has the id " + std::to_string(id) + "; at most " +
              std::to_string(kMaxPieces));
    while (v_.pieces.size() <= id) {  // an id that no piece has
      v_.pieces.emplace_back();
      v_.pieces.back().kind = PieceKind::kUnused;
    }
    return v_.pieces[id];
  }

  void read_vocabulary(const Json& model) {
    for (const auto& [text, id] : model.at("vocab").items()) {
      Piece& piece = piece_at(id.get<uint64_t>());
      if (piece.kind != PieceKind::kUnused) corrupt("two pieces have the id " + id.dump());
      piece.kind = PieceKind::kNormal;
      piece.bytes = text;
    }
  }

  /// The spelling of the source becomes what is printed.
  void spell_pieces(bool has_byte_pieces) {
    for (Piece& piece : v_.pieces) {
      if (piece.kind != PieceKind::kNormal) continue;
      unsigned byte = 0;
      if (has_byte_pieces && piece.bytes.size() == 6 &&
          std::sscanf(piece.bytes.c_str(), "<0x%2X>", &byte) == 1) {
        piece.kind = PieceKind::kByte;
        piece.bytes = std::string(1, char(byte));
        continue;
      }
      std::string spelled;
      piece.is_matched = spell(piece.bytes, &spelled);
      if (piece.is_matched) piece.bytes = spelled;
    }
  }
  bool spell(const std::string& text, std::string* out) const {
    if (v_.bytes) return bytes_of_letters(text, out) && !out->empty();
    if (v_.normalizer != TextNormalizer::kSpaces) {
      *out = text;
      return !text.empty();
    }
    *out = with_spaces(text);
    return text.find(' ') == std::string::npos && !text.empty();
  }

  int32_t id_of(const Json& model, const char* field) const {
    const Json text = model.value(field, Json());
    if (text.is_null()) return -1;
    const Json& vocabulary = model.at("vocab");
    const auto found = vocabulary.find(text.get<std::string>());
    if (found != vocabulary.end()) return found->get<int32_t>();
    for (const Json& added : part("added_tokens"))
      if (added.at("content") == text) return added.at("id").get<int32_t>();
    corrupt(std::string(field) + " " + text.dump() + " is no piece");
  }

  void read_pairs(const Json& model) {
    for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json value = model.value(name, Json());
      if (!value.is_null() && value != "" && value != 0.0) unsupported("model", name);
    }
    v_.whole_pieces = model.value("ignore_merges", false);
    v_.fuse_unknown = model.value("fuse_unk", false);
    v_.unknown = id_of(model, "unk_token");
    read_vocabulary(model);
    const bool falls_back = model.value("byte_fallback", false);
    spell_pieces(falls_back);
    if (v_.bytes || falls_back)
      find_byte_pieces(&v_, v_.bytes ? PieceKind::kNormal : PieceKind::kByte);
    const PieceIndex index = index_of(v_.pieces);
    const auto id = [&](const std::string& text, const Json& row) {
      std::string spelled;
      const auto found = spell(text, &spelled) ? index.find(spelled) : index.end();
      if (found == index.end()) corrupt("merge " + row.dump() + " is of pieces that are not there");
      return found->second;
    };
    for (const Json& row : model.at("merges")) {
      std::string left, right;
      if (row.is_array() && row.size() == 2) {
        left = row[0].get<std::string>(), right = row[1].get<std::string>();
      } else {
        const std::string text = row.get<std::string>();
        const size_t space = text.find(' ', 1);
        if (space == std::string::npos) corrupt("merge " + row.dump() + " is not of two");
        left = text.substr(0, space), right = text.substr(space + 1);
      }
      v_.merges.push_back({id(left, row), id(right, row), id(left + right, row)});
    }
  }

  void read_unigram(const Json& model) {
    v_.model = TextModel::kUnigram;
    if (v_.normalizer != TextNormalizer::kSpaces) unsupported("model", "Unigram without spaces");
    v_.fuse_unknown = true;
    uint64_t id = 0;
    for (const Json& row : model.at("vocab")) {
      Piece& piece = piece_at(id++);
      piece.kind = PieceKind::kNormal;
      piece.bytes = row.at(0).get<std::string>();
      piece.score = row.at(1).get<double>();
    }
    const Json unknown = model.value("unk_id", Json());
    if (!unknown.is_null()) {
      v_.unknown = unknown.get<int32_t>();
      if (v_.unknown < 0 || uint64_t(v_.unknown) >= id) corrupt("unk_id is no piece");
      v_.pieces[size_t(v_.unknown)].kind = PieceKind::kUnknown;
    }
    const bool falls_back = model.value("byte_fallback", false);
    spell_pieces(falls_back);
    if (falls_back) find_byte_pieces(&v_, PieceKind::kByte);
  }

  void read_words(const Json& model) {
    v_.model = TextModel::kWords;
    const std::string joined = model.value("continuing_subword_prefix", "##");
    if (joined != "##") unsupported("model", "WordPiece with continuing_subword_prefix " + joined);
    if (model.value("max_input_chars_per_word", 100) != 100)
      unsupported("model", "WordPiece with max_input_chars_per_word other than 100");
    v_.unknown = id_of(model, "unk_token");
    read_vocabulary(model);
    for (Piece& piece : v_.pieces) {
      if (piece.kind != PieceKind::kNormal) continue;
      const bool continues = piece.bytes.compare(0, 2, "##") == 0 && piece.bytes.size() > 2;
      piece.bytes = continues ? piece.bytes.substr(2) : " " + piece.bytes;
      piece.is_matched = true;
    }
  }

  void read_added() {
    for (const Json& added : part("added_tokens")) {
      const std::string text = added.at("content").get<std::string>();
      if (added.value("single_word", false)) unsupported("added token with single_word", text);
      // The token is found before it: the same where its text has the normal form already.
      const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
      const bool keeps_ascii = !normalizes_spaces_ && v_.normalizer != TextNormalizer::kBertCased &&
                               v_.normalizer != TextNormalizer::kBertUncased;
      const bool has_normalizer = !part("normalizer").is_null() && !(keeps_ascii && is_ascii);
      if (added.value("normalized", false) && has_normalizer)
        unsupported("added token that is matched behind the normalizer", text);
      const bool is_control = added.value("special", false);
      // Text has spaces in the place of U+2581 by then: a piece as others are.
      if (!is_control && v_.normalizer == TextNormalizer::kSpaces && with_spaces(text) != text)
        continue;
      Piece& piece = piece_at(added.at("id").get<uint64_t>());
      piece.kind = is_control ? PieceKind::kControl : PieceKind::kAdded;
      piece.is_matched = piece.is_matched && !is_control && piece.bytes == text;
      piece.bytes = text;
      piece.takes_spaces = uint8_t((added.value("lstrip", false) ? kTakesSpacesBefore : 0) |
                                   (added.value("rstrip", false) ? kTakesSpacesBehind : 0));
    }
  }

  /// Ids around one text.
  void read_post_processor(const Json& p) {
    if (p.is_null() || type_of(p) == "ByteLevel") return;
    const std::string type = type_of(p);
    if (type == "Sequence") {
      for (const Json& each : p.at("processors")) read_post_processor(each);
    } else if (type == "TemplateProcessing") {
      bool is_behind = false;
      for (const Json& each : p.at("single")) {
        if (each.contains("Sequence")) {
          is_behind = true;
          continue;
        }
        const std::string name = each.at("SpecialToken").at("id").get<std::string>();
        for (const Json& id : p.at("special_tokens").at(name).at("ids"))
          (is_behind ? v_.suffix : v_.prefix).push_back(id.get<uint32_t>());
      }
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      v_.prefix.push_back(p.at("cls").at(1).get<uint32_t>());
      v_.suffix.push_back(p.at("sep").at(1).get<uint32_t>());
    } else {
      unsupported("post_processor", type);
    }
  }

  void read_decoder(const Json& d) {
    if (d.is_null()) return;
    const std::string type = type_of(d);
    if (type == "Sequence") {
      for (const Json& each : d.at("decoders")) read_decoder(each);
    } else if (type == "Strip" && d.value("content", "") == " " && d.value("start", 0) <= 1 &&
               d.value("stop", 0) == 0) {
      v_.strip_space = d.value("start", 0) == 1;
    } else if (type == "Metaspace") {
      v_.strip_space = d.value("prepend_scheme", "always") != "never";
    } else if (type == "WordPiece") {
      v_.strip_space = true;
    } else if (type != "ByteLevel" && type != "ByteFallback" && type != "Fuse" &&
               !(type == "Replace" && d.at("pattern").value("String", "") == kLowBlock &&
                 d.value("content", "") == " ")) {
      unsupported("decoder", type);
    }
  }

  const Json& root_;
  const std::string& where_;
  Vocabulary v_;
  bool joins_spaces_ = false, strips_end_ = false;  // spaces of a text, those at its end
  bool normalizes_spaces_ = false;                  // which added tokens with spaces then have not
};

}  // namespace

Vocabulary vocabulary_of_json(std::string_view text, const std::string& where) {
  const Json root = checkpoint::parse_sorted_json(text, where);
  try {
    return JsonVocabulary(root, where).read();
  } catch (const nlohmann::json::exception& error) {
    host::fail(Exit::kCorrupt, where + ": is no tokenizer.json as it is known: " + error.what());
  }
}

}  // namespace ingot::vocabulary
