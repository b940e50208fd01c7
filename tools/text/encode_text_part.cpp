// SPDX-License-Identifier: Apache-2.0
// tools/text/encode_text_part.cpp - the tables as they are searched: pieces one behind the other,
// tries in order of depth, merges by their left piece. What comes out is validated as a reader
// does it.
#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <numeric>

#include "ingot_schema/text_generated.h"
#include "tools/files/failure.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// Of the strings of `ids`, which lead to `values` or to themselves; of equal ones the first.
Offset<fb::Trie> encode_trie(FlatBufferBuilder* to, const std::vector<Piece>& pieces,
                             std::vector<uint32_t> ids, const std::vector<int32_t>& values = {}) {
  const auto text = [&](uint32_t id) -> const std::string& { return pieces[id].bytes; };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](uint32_t a, uint32_t b) { return text(a) < text(b); });
  ids.erase(std::unique(ids.begin(), ids.end(),
                        [&](uint32_t a, uint32_t b) { return text(a) == text(b); }),
            ids.end());
  struct Node {
    size_t begin, end, depth;  // strings that share the first `depth` bytes
  };
  std::vector<Node> nodes = {{0, ids.size(), 0}};
  std::vector<uint32_t> first;
  std::vector<uint8_t> label = {0};
  std::vector<int32_t> piece;
  for (size_t n = 0; n < nodes.size(); n++) {
    const Node node = nodes[n];
    size_t i = node.begin;
    const bool ends = i < node.end && text(ids[i]).size() == node.depth && node.depth > 0;
    const int32_t id = ends ? int32_t(ids[i++]) : -1;
    piece.push_back(ends && !values.empty() ? values[size_t(id)] : id);
    first.push_back(uint32_t(nodes.size()));
    while (i < node.end) {
      const uint8_t byte = uint8_t(text(ids[i])[node.depth]);
      size_t next = i;
      while (next < node.end && uint8_t(text(ids[next])[node.depth]) == byte) next++;
      nodes.push_back({i, next, node.depth + 1});
      label.push_back(byte);
      i = next;
    }
  }
  first.push_back(uint32_t(nodes.size()));
  const auto firsts = to->CreateVector(first);
  const auto labels = to->CreateVector(label);
  return fb::CreateTrie(*to, firsts, labels, to->CreateVector(piece));
}

Offset<fb::Replacements> encode_replacements(FlatBufferBuilder* to, const Replacements& from) {
  std::vector<Piece> keys;
  std::vector<int32_t> values;
  std::map<std::string_view, int32_t> known;
  std::vector<uint32_t> starts = {0};
  std::vector<uint8_t> bytes;
  for (const Replacements::Rule& rule : from.rules) {
    const auto [value, is_new] = known.try_emplace(rule.to, int32_t(known.size()));
    keys.push_back({rule.from});
    values.push_back(value->second);
    if (!is_new) continue;
    bytes.insert(bytes.end(), rule.to.begin(), rule.to.end());
    starts.push_back(uint32_t(bytes.size()));
  }
  std::vector<uint32_t> ids(keys.size());
  std::iota(ids.begin(), ids.end(), 0u);
  const auto trie = encode_trie(to, keys, std::move(ids), values);
  const auto all_starts = to->CreateVector(starts);
  return fb::CreateReplacements(*to, trie, all_starts, to->CreateVector(bytes), from.by_cluster);
}

struct Merges {
  std::vector<uint32_t> first;
  std::vector<fb::Merge> rows;
};

/// By left piece, then by right one; of equal pairs the first rank.
Merges sort_merges(const Vocabulary& v) {
  std::vector<uint32_t> order(v.merges.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const MergePair &x = v.merges[a], &y = v.merges[b];
    return std::tie(x.left, x.right, a) < std::tie(y.left, y.right, b);
  });
  Merges out;
  out.first.assign(v.pieces.size() + 1, 0);
  for (size_t i = 0; i < order.size(); i++) {
    const MergePair& merge = v.merges[order[i]];
    if (i > 0 && v.merges[order[i - 1]].left == merge.left &&
        v.merges[order[i - 1]].right == merge.right)
      continue;
    out.rows.emplace_back(merge.right, order[i], merge.piece);
    out.first[merge.left + 1]++;
  }
  std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
  return out;
}

/// Larger scores are joined first; equal ones have one order.
std::vector<uint32_t> orders_of(const std::vector<Piece>& pieces) {
  std::vector<double> scores;
  for (const Piece& piece : pieces)
    if (piece.is_matched) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<uint32_t> orders(pieces.size());
  for (size_t i = 0; i < pieces.size(); i++)
    if (pieces[i].is_matched)
      orders[i] = uint32_t(
          std::lower_bound(scores.begin(), scores.end(), pieces[i].score, std::greater<>()) -
          scores.begin());
  return orders;
}

bool is_named(PieceKind kind) {
  return kind == PieceKind::kAdded || kind == PieceKind::kControl || kind == PieceKind::kUnknown;
}

template <class Wanted>
std::vector<uint32_t> ids_where(const std::vector<Piece>& pieces, Wanted wanted) {
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < pieces.size(); i++)
    if (!pieces[i].bytes.empty() && wanted(pieces[i])) ids.push_back(uint32_t(i));
  return ids;
}

Offset<fb::ChatTemplate> encode_chat(FlatBufferBuilder* to, const chat::ChatTemplate& chat) {
  const chat::CompiledTemplate& program = chat.program;
  if (!chat.refused.empty()) {
    const auto refused = to->CreateString(chat.refused);
    fb::ChatTemplateBuilder t(*to);
    t.add_version(kTemplateVersion);
    t.add_refused(refused);
    return t.Finish();
  }
  std::vector<uint32_t> starts = {0};
  std::vector<uint8_t> bytes;
  for (const std::string& text : program.texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    starts.push_back(uint32_t(bytes.size()));
  }
  std::vector<fb::TemplateFunction> functions;
  for (const TemplateFunctionRow& f : program.functions)
    functions.emplace_back(f.entry, f.slots, f.stack, f.arguments, f.names);
  const auto text_starts = to->CreateVector(starts);
  const auto text_bytes = to->CreateVector(bytes);
  const auto code = to->CreateVector(program.code);
  const auto lines = to->CreateVector(program.lines);
  const auto rows = to->CreateVectorOfStructs(functions);
  Offset<flatbuffers::String> bos, eos;  // none is undefined in the template
  if (!chat.bos.empty()) bos = to->CreateString(chat.bos);
  if (!chat.eos.empty()) eos = to->CreateString(chat.eos);
  return fb::CreateChatTemplate(*to, kTemplateVersion, 0, program.inputs, text_starts, text_bytes,
                                code, lines, rows, bos, eos);
}

/// As a reader of the file would.
void check_part(const std::vector<uint8_t>& part, const std::string& where) {
  const std::unique_ptr<uint8_t, void (*)(uint8_t*)> aligned(
      static_cast<uint8_t*>(::operator new(part.size(), std::align_val_t(16))),
      [](uint8_t* p) { ::operator delete(p, std::align_val_t(16)); });
  std::memcpy(aligned.get(), part.data(), part.size());
  TokenizerView view;
  ErrorDetail detail;
  TemplateView chat;
  Status status = open_text({aligned.get(), part.size()}, &view, &detail);
  if (status.ok()) status = open_template({aligned.get(), part.size()}, &chat, &detail);
  if (status.ok() || status.code() == Code::kNotFound) return;
  const bool is_limit = status.code() == Code::kLimitExceeded;
  host::fail(is_limit ? host::Exit::kUnsupported : host::Exit::kCorrupt,
             where + ": no sound tokenizer: " + detail.field + " (entry " +
                 std::to_string(detail.operand) + ", expected " + std::to_string(detail.need) +
                 ", found " + std::to_string(detail.have) + "); get the file anew");
}

}  // namespace

std::vector<uint8_t> encode_text_part(const Vocabulary& v, const std::string& where) {
  if (v.pieces.size() > kMaxPieces)
    host::fail(host::Exit::kUnsupported, where + ": a vocabulary of " +
                                             std::to_string(v.pieces.size()) + " pieces; at most " +
                                             std::to_string(kMaxPieces));
  FlatBufferBuilder to;
  std::vector<uint32_t> starts = {0};
  std::vector<uint8_t> bytes, kinds;
  std::vector<double> scores;
  for (const Piece& piece : v.pieces) {
    bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
    starts.push_back(uint32_t(bytes.size()));
    kinds.push_back(uint8_t(piece.kind) | piece.takes_spaces);
    scores.push_back(piece.score);
  }
  const auto piece_starts = to.CreateVector(starts);
  const auto piece_bytes = to.CreateVector(bytes);
  const auto piece_kinds = to.CreateVector(kinds);
  const auto stages =
      to.CreateVector(reinterpret_cast<const uint8_t*>(v.stages.data()), v.stages.size());
  Offset<flatbuffers::Vector<double>> score_vector;
  if (v.model == TextModel::kUnigram) score_vector = to.CreateVector(scores);
  Offset<flatbuffers::Vector<uint32_t>> orders, merge_first;
  if (v.model == TextModel::kScored) orders = to.CreateVector(orders_of(v.pieces));
  Offset<flatbuffers::Vector<const fb::Merge*>> merges;
  if (v.model == TextModel::kRanked) {
    const Merges sorted = sort_merges(v);
    merge_first = to.CreateVector(sorted.first);
    merges = to.CreateVectorOfStructs(sorted.rows);
  }
  const auto byte_pieces = to.CreateVector(v.byte_pieces);
  Offset<fb::Trie> pieces;
  if (v.model != TextModel::kRanked || !v.bytes || v.whole_pieces)
    pieces = encode_trie(&to, v.pieces,
                         ids_where(v.pieces, [](const Piece& p) { return p.is_matched; }));
  const auto added = encode_trie(
      &to, v.pieces, ids_where(v.pieces, [](const Piece& p) { return is_named(p.kind); }));
  const auto prefix = to.CreateVector(v.prefix);
  const auto suffix = to.CreateVector(v.suffix);
  Offset<fb::Replacements> replacements;
  if (!v.replacements.rules.empty()) replacements = encode_replacements(&to, v.replacements);
  Offset<fb::ChatTemplate> chat;
  if (v.chat.is_there) chat = encode_chat(&to, v.chat);
  fb::TokenizerBuilder t(to);
  t.add_model(fb::TextModel(v.model));
  t.add_stages(stages.o);
  t.add_normalizer(fb::TextNormalizer(v.normalizer));
  t.add_space_prefix(fb::SpacePrefix(v.space_prefix));
  t.add_prefix_unless_space(v.prefix_unless_space);
  t.add_collapse_spaces(v.collapse_spaces);
  t.add_bytes(v.bytes);
  t.add_whole_pieces(v.whole_pieces);
  t.add_fuse_unknown(v.fuse_unknown);
  t.add_strip_space(v.strip_space);
  t.add_piece_starts(piece_starts);
  t.add_piece_bytes(piece_bytes);
  t.add_piece_kinds(piece_kinds);
  t.add_scores(score_vector);
  t.add_orders(orders);
  t.add_merge_first(merge_first);
  t.add_merges(merges);
  t.add_byte_pieces(byte_pieces);
  t.add_unknown(v.unknown);
  t.add_pieces(pieces);
  t.add_added(added);
  t.add_prefix(prefix);
  t.add_suffix(suffix);
  t.add_replacements(replacements);
  t.add_keep_end_space(v.keep_end_space);
  fb::FinishTextBuffer(to, fb::CreateText(to, t.Finish(), chat));
  std::vector<uint8_t> part(to.GetBufferPointer(), to.GetBufferPointer() + to.GetSize());
  check_part(part, where);
  return part;
}

bool bytes_of_letters(std::string_view letters, std::string* bytes) {
  // Printable bytes of Latin-1 stand for themselves, the others for U+0100 and up, in order.
  static const std::map<uint32_t, char> kByte = [] {
    std::map<uint32_t, char> byte_of;
    uint32_t next = 0x100;
    for (uint32_t b = 0; b < 256; b++) {
      const bool is_itself =
          (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
      byte_of[is_itself ? b : next++] = char(b);
    }
    return byte_of;
  }();
  bytes->clear();
  for (size_t i = 0; i < letters.size(); i++) {
    uint32_t code = uint8_t(letters[i]);
    if (code >= 0xC3 && code <= 0xC5 && i + 1 < letters.size())
      code = (code & 31) << 6 | (uint8_t(letters[++i]) & 63);
    else if (code == 0xC2 && i + 1 < letters.size())
      code = uint8_t(letters[++i]);
    else if (code >= 0x80)
      return false;
    const auto byte = kByte.find(code);
    if (byte == kByte.end()) return false;
    bytes->push_back(byte->second);
  }
  return true;
}

std::string with_spaces(std::string_view text) {
  constexpr std::string_view kLowBlock = "\xe2\x96\x81";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool stands = text.substr(i, kLowBlock.size()) == kLowBlock;
    out += stands ? ' ' : text[i];
    i += stands ? kLowBlock.size() : 1;
  }
  return out;
}

PieceIndex index_of(const std::vector<Piece>& pieces) {
  PieceIndex index;
  for (size_t i = 0; i < pieces.size(); i++)
    if (pieces[i].is_matched) index.emplace(pieces[i].bytes, uint32_t(i));
  return index;
}

void split_at_spaces(Vocabulary* v) {
  bool has_space = false;
  for (const Piece& piece : v->pieces) {
    if (!piece.is_matched) continue;
    has_space = has_space || piece.bytes == " ";
    for (size_t i = 1; i < piece.bytes.size(); i++)
      if (piece.bytes[i] == ' ' && piece.bytes[i - 1] != ' ') return;
  }
  if (has_space) v->stages.push_back(TextStage::kSpaceRuns);
}

void find_byte_pieces(Vocabulary* v, PieceKind kind) {
  std::vector<int32_t> found(256, -1);
  bool has_one = false;
  for (size_t i = 0; i < v->pieces.size(); i++) {
    const Piece& piece = v->pieces[i];
    if (piece.kind != kind || piece.bytes.size() != 1) continue;
    int32_t& entry = found[uint8_t(piece.bytes[0])];
    if (entry < 0) entry = int32_t(i);
    has_one = true;
  }
  if (has_one) v->byte_pieces = std::move(found);
}

}  // namespace ingot::vocabulary
