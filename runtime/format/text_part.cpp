// SPDX-License-Identifier: Apache-2.0
// runtime/format/text_part.cpp - validates the part with a tokenizer: structure, ranges, then what
// the pieces are. Nothing is followed before it was checked.
#include "runtime/format/text_part.h"

#include <cstring>

#include "ingot_schema/text_generated.h"
#include "runtime/format/schema_access.h"

namespace ingot {
namespace {

static_assert(sizeof(MergeRow) == sizeof(fb::Merge), "rows are read where they lie");

/// The first and the last of the ranges that `starts` makes of `total` entries, ascending between.
bool are_starts(Span<const uint32_t> starts, uint64_t count, uint64_t total) {
  if (starts.size != count + 1 || starts[0] != 0 || starts[count] != total) return false;
  for (uint64_t i = 0; i < count; i++)
    if (starts[i] > starts[i + 1]) return false;
  return true;
}

TrieView view_of(const fb::Trie& from) {
  return {span_of<uint32_t>(from.first()), span_of<uint8_t>(from.label()),
          span_of<int32_t>(from.piece())};
}

/// Children lie behind their parents and tile the nodes, labels ascend, no string is longer than a
/// piece.
Status check_shape(TrieView* t, uint32_t pieces, ErrorDetail* d) {
  const uint64_t nodes = t->label.size;
  if (nodes == 0 || nodes >= ~uint32_t{0} || t->piece.size != nodes || t->first.size != nodes + 1 ||
      t->first[0] != 1 || t->first[nodes] != nodes)
    return refuse_meaning(d, "trie: as many labels and pieces as nodes", 0, nodes, t->first.size);
  for (uint64_t i = 0; i < nodes; i++) {
    if (t->first[i] <= i || t->first[i] > t->first[i + 1] || t->first[i + 1] > nodes)
      return refuse_meaning(d, "trie.first ascends and leads forward", i);
    if (t->piece[i] < -1 || t->piece[i] >= int64_t(pieces))
      return refuse_meaning(d, "trie.piece is a piece", i, pieces, uint64_t(t->piece[i]));
    for (uint64_t c = t->first[i] + 1; c < t->first[i + 1]; c++)
      if (t->label[c - 1] >= t->label[c]) return refuse_meaning(d, "trie.label ascends", i);
  }
  if (t->piece[0] != -1) return refuse_meaning(d, "trie.piece of the root is none");
  for (uint64_t begin = 0, end = 1; begin < end; t->depth++) {  // a level of nodes
    const uint64_t next = t->first[end];
    begin = end, end = next;
    if (t->depth > kMaxPieceBytes)
      return fail(d, Code::kLimitExceeded, "trie: depth", kMaxPieceBytes, t->depth);
  }
  t->depth--;
  return {};
}

/// Each node with a piece is reached by the bytes of that piece, whose kind is in `kinds`.
Status check_strings(const TokenizerView& v, const TrieView& t, uint32_t kinds, const char* field,
                     ErrorDetail* d) {
  uint64_t expected = 0, found = 0;
  for (const int32_t piece : t.piece) expected += piece >= 0;
  for (uint32_t p = 0; p < v.count; p++) {
    uint32_t node = 0;
    for (const uint8_t byte : v.piece(p))
      if ((node = trie_child(t, node, byte)) == kNoNode) break;
    if (node == kNoNode || node == 0 || t.piece[node] != int32_t(p)) continue;
    if (!(kinds >> unsigned(v.kind(p)) & 1)) return refuse_meaning(d, field, p);
    found++;
  }
  return found == expected ? Status() : refuse_meaning(d, field, 0, expected, found);
}

constexpr uint32_t kind_bit(PieceKind kind) { return 1u << unsigned(kind); }
constexpr uint32_t kMatched = kind_bit(PieceKind::kNormal) | kind_bit(PieceKind::kAdded);
constexpr uint32_t kNamed =
    kind_bit(PieceKind::kAdded) | kind_bit(PieceKind::kControl) | kind_bit(PieceKind::kUnknown);

Status check_trie(const TokenizerView& v, const fb::Trie* from, uint32_t kinds, const char* field,
                  TrieView* out, ErrorDetail* d) {
  if (!from) return {};
  *out = view_of(*from);
  INGOT_TRY(check_shape(out, v.count, d));
  return check_strings(v, *out, kinds, field, d);
}

/// What is replaced, and how much longer a text may become.
Status check_replacements(const fb::Replacements* from, ReplacementsView* r, ErrorDetail* d) {
  if (!from) return {};
  r->keys = view_of(*from->keys());
  r->starts = span_of<uint32_t>(from->starts());
  r->bytes = span_of<uint8_t>(from->bytes());
  r->by_cluster = from->by_cluster();
  if (r->starts.size == 0 || r->starts.size > kMaxPieces ||
      !are_starts(r->starts, r->starts.size - 1, r->bytes.size))
    return refuse_meaning(d, "replacements.starts ascend to the end of bytes");
  INGOT_TRY(check_shape(&r->keys, uint32_t(r->starts.size - 1), d));
  r->growth = 3;  // of a byte that is not UTF-8
  uint64_t depth = 0;
  for (uint64_t begin = 0, end = 1; begin < end; depth++) {  // a level of nodes
    for (uint64_t i = begin; i < end; i++) {
      if (r->keys.piece[i] < 0) continue;
      const uint64_t growth = (r->with(uint32_t(r->keys.piece[i])).size + depth - 1) / depth;
      if (growth > kMaxGrowth)
        return fail(d, Code::kLimitExceeded, "replacements: growth", kMaxGrowth, growth);
      if (growth > r->growth) r->growth = uint32_t(growth);
    }
    const uint64_t next = r->keys.first[end];
    begin = end, end = next;
  }
  return {};
}

Status check_pieces(const fb::Tokenizer& from, TokenizerView* v, ErrorDetail* d) {
  v->piece_starts = span_of<uint32_t>(from.piece_starts());
  v->piece_bytes = span_of<uint8_t>(from.piece_bytes());
  v->piece_kinds = span_of<uint8_t>(from.piece_kinds());
  if (v->piece_kinds.size > kMaxPieces)
    return fail(d, Code::kLimitExceeded, "pieces", kMaxPieces, v->piece_kinds.size);
  v->count = uint32_t(v->piece_kinds.size);
  if (v->count == 0) return refuse_meaning(d, "there is a piece");
  if (!are_starts(v->piece_starts, v->count, v->piece_bytes.size))
    return refuse_meaning(d, "piece_starts ascend to the end of piece_bytes");
  for (uint32_t p = 0; p < v->count; p++) {
    if (v->piece(p).size > kMaxPieceBytes)
      return fail(d, Code::kLimitExceeded, "piece: bytes", kMaxPieceBytes, v->piece(p).size);
    const uint8_t kind = v->piece_kinds[p];
    const unsigned low = kind & kPieceKindMask;
    if (low < 1 || low > unsigned(PieceKind::kByte) || kind >= 64)
      return refuse_meaning(d, "piece_kinds: 1 to 6", p, 6, kind);
    if (kind > kPieceKindMask && !(kNamed >> low & 1))
      return refuse_meaning(d, "piece_kinds: only an added token takes spaces", p);
  }
  return {};
}

Status check_ids(Span<const uint32_t> ids, const TokenizerView& v, const char* field,
                 ErrorDetail* d) {
  constexpr size_t kMax = 16;
  if (ids.size > kMax) return fail(d, Code::kLimitExceeded, field, kMax, ids.size);
  for (const uint32_t id : ids)
    if (id >= v.count) return refuse_meaning(d, field, id, v.count, id);
  return {};
}

Status check_bytes(const fb::Tokenizer& from, TokenizerView* v, ErrorDetail* d) {
  v->byte_pieces = span_of<int32_t>(from.byte_pieces());
  const size_t size = v->byte_pieces.size;
  if (size != 0 && size != 256) return refuse_meaning(d, "byte_pieces: 256 or none", 0, 256, size);
  if (v->bytes && size == 0)
    return refuse_meaning(d, "byte_pieces of a model over bytes", 0, 256, 0);
  for (size_t b = 0; b < size; b++) {
    const int32_t p = v->byte_pieces[b];
    if (p < -1 || p >= int64_t(v->count)) return refuse_meaning(d, "byte_pieces[]", b, v->count);
    if (p < 0) continue;
    const Span<const uint8_t> bytes = v->piece(uint32_t(p));
    if (bytes.size != 1 || bytes[0] != b)
      return refuse_meaning(d, "byte_pieces[]: a piece of that byte", b, b);
  }
  return {};
}

/// Rows of each left piece ascend, and join what they say they join.
Status check_merges(const fb::Tokenizer& from, TokenizerView* v, ErrorDetail* d) {
  v->merge_first = span_of<uint32_t>(from.merge_first());
  v->merges = span_of<MergeRow>(from.merges());
  if (v->model != TextModel::kRanked)
    return v->merges.size || v->merge_first.size
               ? refuse_meaning(d, "merges of a model without ranks")
               : Status();
  if (!are_starts(v->merge_first, v->count, v->merges.size))
    return refuse_meaning(d, "merge_first ascends to the end of merges");
  for (uint32_t left = 0; left < v->count; left++) {
    const Span<const uint8_t> a = v->piece(left);
    for (uint32_t i = v->merge_first[left]; i < v->merge_first[left + 1]; i++) {
      const MergeRow& row = v->merges[i];
      if (row.right >= v->count || row.piece >= v->count)
        return refuse_meaning(d, "merges[]: pieces", i, v->count);
      if (i > v->merge_first[left] && v->merges[i - 1].right >= row.right)
        return refuse_meaning(d, "merges[].right ascends", i);
      const Span<const uint8_t> b = v->piece(row.right), joined = v->piece(row.piece);
      if (a.size == 0 || b.size == 0 || joined.size != a.size + b.size ||
          memcmp(joined.data, a.data, a.size) != 0 ||
          memcmp(joined.data + a.size, b.data, b.size) != 0)
        return refuse_meaning(d, "merges[].piece is its left piece and its right one", i);
    }
  }
  return {};
}

Status check_scores(const fb::Tokenizer& from, TokenizerView* v, ErrorDetail* d) {
  v->scores = span_of<double>(from.scores());
  if (reinterpret_cast<uintptr_t>(v->scores.data) % alignof(double) != 0)
    return refuse_meaning(d, "scores lie where a number may lie");
  v->orders = span_of<uint32_t>(from.orders());
  const size_t scores = v->model == TextModel::kUnigram ? v->count : 0,
               orders = v->model == TextModel::kScored ? v->count : 0;
  if (v->scores.size != scores)
    return refuse_meaning(d, "scores, of unigram", 0, scores, v->scores.size);
  if (v->orders.size != orders)
    return refuse_meaning(d, "orders, of scored", 0, orders, v->orders.size);
  constexpr double kMax = 1e9;
  for (uint32_t p = 0; p < scores; p++) {
    if (!(v->scores[p] >= -kMax && v->scores[p] <= kMax))
      return refuse_meaning(d, "scores[] are numbers of at most 1e9", p);
    if (v->kind(p) == PieceKind::kNormal && v->scores[p] < v->lowest_score)
      v->lowest_score = v->scores[p];
  }
  return {};
}

Status check_stages(Span<const TextStage> stages, ErrorDetail* d) {
  if (stages.size > kMaxStages)
    return fail(d, Code::kLimitExceeded, "stages", kMaxStages, stages.size);
  for (const TextStage stage : stages)
    if (uint8_t(stage) >= kTextStages)
      return fail(d, Code::kUnsupportedFeature, "stages[]", kTextStages, uint8_t(stage));
  return {};
}

/// What each model cannot do without.
Status check_model(const TokenizerView& v, ErrorDetail* d) {
  if (v.unknown < -1 || v.unknown >= int64_t(v.count))
    return refuse_meaning(d, "unknown is a piece", 0, v.count);
  if (v.model != TextModel::kRanked && v.bytes) return refuse_meaning(d, "bytes, of ranked");
  if (v.pieces.first.empty() && (v.model != TextModel::kRanked || !v.bytes || v.whole_pieces))
    return refuse_meaning(d, "pieces, which text is matched with");
  const bool is_bert =
      v.normalizer == TextNormalizer::kBertCased || v.normalizer == TextNormalizer::kBertUncased;
  const bool has_bert = v.stages.size == 1 && v.stages[0] == TextStage::kBert;
  if ((v.model == TextModel::kWords) != is_bert || is_bert != has_bert)
    return refuse_meaning(d, "words, the split and the normalizer of bert belong together");
  if (v.model == TextModel::kWords && v.unknown < 0)
    return refuse_meaning(d, "unknown, of words", 0, v.count);
  return {};
}

}  // namespace

Status open_text(Span<const uint8_t> part, TokenizerView* out, ErrorDetail* detail) {
  constexpr unsigned kDepth = 8, kTables = 64;
  *out = {};
  if (part.size > kMaxTextBytes)
    return fail(detail, Code::kLimitExceeded, "text", kMaxTextBytes, part.size);
  flatbuffers::Verifier verifier(part.data, part.size, kDepth, kTables);
  if (!fb::VerifyTextBuffer(verifier)) return fail(detail, Code::kStructureInvalid, "text");
  const fb::Tokenizer* from = fb::GetText(part.data)->tokenizer();
  if (!from) return fail(detail, Code::kNotFound, "text.tokenizer");
  if (from->model() > fb::TextModel::MAX || from->normalizer() > fb::TextNormalizer::MAX ||
      from->space_prefix() > fb::SpacePrefix::MAX)
    return fail(detail, Code::kUnsupportedFeature, "text.tokenizer: model or normalizer");
  TokenizerView v;
  v.model = TextModel(from->model());
  v.stages = span_of<TextStage>(from->stages());
  INGOT_TRY(check_stages(v.stages, detail));
  v.normalizer = TextNormalizer(from->normalizer());
  v.space_prefix = SpacePrefix(from->space_prefix());
  v.prefix_unless_space = from->prefix_unless_space();
  v.collapse_spaces = from->collapse_spaces(), v.bytes = from->bytes();
  v.whole_pieces = from->whole_pieces(), v.fuse_unknown = from->fuse_unknown();
  v.keep_end_space = from->keep_end_space();
  INGOT_TRY(check_replacements(from->replacements(), &v.replacements, detail));
  v.strip_space = from->strip_space(), v.unknown = from->unknown();
  INGOT_TRY(check_pieces(*from, &v, detail));
  INGOT_TRY(check_trie(v, from->pieces(), kMatched, "pieces: of text", &v.pieces, detail));
  INGOT_TRY(check_trie(v, from->added(), kNamed, "added: added tokens", &v.added, detail));
  INGOT_TRY(check_bytes(*from, &v, detail));
  INGOT_TRY(check_merges(*from, &v, detail));
  INGOT_TRY(check_scores(*from, &v, detail));
  INGOT_TRY(check_model(v, detail));
  v.prefix = span_of<uint32_t>(from->prefix()), v.suffix = span_of<uint32_t>(from->suffix());
  INGOT_TRY(check_ids(v.prefix, v, "prefix[]", detail));
  INGOT_TRY(check_ids(v.suffix, v, "suffix[]", detail));
  *out = v;
  return {};
}

}  // namespace ingot
