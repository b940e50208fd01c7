// SPDX-License-Identifier: Apache-2.0
// runtime/text/unigram.cpp - the split of a part into pieces of the largest sum of scores, and the
// longest pieces that match, of words.
#include "runtime/text/encoder.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

constexpr double kUnknownPenalty = 10;  // below the lowest score of a piece
constexpr size_t kMaxWordCharacters = 100;

}  // namespace

Status encode_unigram(Encoder* e, const uint8_t* text, size_t bytes) {
  const TokenizerView& t = e->t;
  Step* steps = e->buffers.steps;
  constexpr uint32_t kNowhere = ~uint32_t{0};
  for (size_t i = 0; i <= bytes; i++) steps[i] = {0, kNowhere, -1};
  const auto reach = [&](size_t from, size_t to, double score, int32_t piece) {
    const double sum = steps[from].score + score;
    if (steps[to].from == kNowhere || sum > steps[to].score)
      steps[to] = {sum, uint32_t(from), piece};
  };
  for (size_t i = 0; i < bytes;) {
    const size_t n = char_at(text + i, bytes - i).bytes;
    bool is_piece = false;
    uint32_t node = 0;
    for (size_t end = i; end < bytes; end++) {
      e->work.joins++;
      if ((node = trie_child(t.pieces, node, text[end])) == kNoNode) break;
      const int32_t piece = t.pieces.piece[node];
      if (piece < 0) continue;
      reach(i, end + 1, t.scores[size_t(piece)], piece);
      is_piece = is_piece || end + 1 == i + n;
    }
    if (!is_piece) reach(i, i + n, t.lowest_score - kUnknownPenalty, -1);
    i += n;  // reached, by a piece or as unknown
  }
  // Backwards, so that `from` of each step is where the next one ends.
  size_t at = bytes, next = bytes;
  while (at > 0) {
    const size_t from = steps[at].from;
    steps[at].from = uint32_t(next);
    next = at, at = from;
  }
  for (size_t begin = 0, end = next; begin < bytes;) {
    const Step& step = steps[end];
    if (step.piece >= 0)
      INGOT_TRY(e->put(uint32_t(step.piece)));
    else
      INGOT_TRY(e->put_unknown(text, begin, end - begin));
    begin = end, end = step.from;
  }
  return {};
}

Status encode_word(Encoder* e, const uint8_t* text, size_t bytes) {
  const TokenizerView& t = e->t;
  const size_t first_id = e->count;
  size_t characters = 0;
  for (size_t i = 0; i < bytes; i += char_at(text + i, bytes - i).bytes)
    if (++characters > kMaxWordCharacters) return e->put(uint32_t(t.unknown));
  const uint32_t word_start = trie_child(t.pieces, 0, ' ');
  for (size_t i = 0; i < bytes;) {
    uint32_t node = i == 0 ? word_start : 0;
    int32_t longest = -1;
    size_t end = i;
    for (size_t at = i; at < bytes && node != kNoNode; at++) {
      e->work.joins++;
      if ((node = trie_child(t.pieces, node, text[at])) == kNoNode) break;
      if (t.pieces.piece[node] >= 0) longest = t.pieces.piece[node], end = at + 1;
    }
    if (longest < 0) {
      e->count = first_id;  // the whole word is unknown
      return e->put(uint32_t(t.unknown));
    }
    INGOT_TRY(e->put(uint32_t(longest)));
    i = end;
  }
  return {};
}

}  // namespace ingot::text
