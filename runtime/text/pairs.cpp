// SPDX-License-Identifier: Apache-2.0
// runtime/text/pairs.cpp - byte pair encoding: of all neighbors that may be joined, the pair of the
// least key, and of those the first, until none is left. Short parts look at all pairs each time;
// long ones keep them in a heap, in which a join leaves pairs that are stale and passed over. Every
// join adds at most two, so that n symbols make at most 3 n of them, never more than 2 n at once.
#include "runtime/text/encoder.h"
#include "runtime/text/unicode.h"

namespace ingot::text {
namespace {

constexpr uint32_t kFew = 24;
constexpr uint32_t kNoKey = ~uint32_t{0};

class Pairs {
 public:
  Pairs(Encoder* e, const uint8_t* text) : e_(*e), t_(e->t), text_(text) {}

  Status encode(size_t bytes) {
    if (t_.whole_pieces) {
      const uint32_t node = trie_walk(t_.pieces, 0, text_, bytes);
      if (node != kNoNode && t_.pieces.piece[node] >= 0)
        return e_.put(uint32_t(t_.pieces.piece[node]));
    }
    start(bytes);
    if (count_ <= kFew)
      join_few();
    else
      join_many();
    for (uint32_t i = 0; i < count_; i = symbols()[i].next) INGOT_TRY(put(symbols()[i]));
    return {};
  }

 private:
  Symbol* symbols() { return e_.buffers.symbols; }

  void add(size_t begin, size_t bytes, uint32_t at) {
    symbols()[count_] = {uint32_t(begin), uint32_t(bytes), at, count_ - 1, count_ + 1};
    count_++;
  }

  void start(size_t bytes) {
    if (t_.bytes) {
      for (size_t i = 0; i < bytes; i++)
        add(i, 1, uint32_t(t_.byte_pieces[text_[i]]));  // -1 is kNoNode
      return;
    }
    for (size_t i = 0; i < bytes;) {
      const size_t n = char_at(text_ + i, bytes - i).bytes;
      uint32_t at = trie_walk(t_.pieces, 0, text_ + i, n);
      if (t_.model == TextModel::kRanked) {
        at = at == kNoNode ? kNoNode : uint32_t(t_.pieces.piece[at]);
        if (at == kNoNode && e_.has_byte_pieces(text_ + i, n)) {
          for (size_t b = i; b < i + n; b++) add(b, 1, uint32_t(t_.byte_pieces[text_[b]]));
          i += n;
          continue;
        }
      }
      add(i, n, at);
      i += n;
    }
  }

  /// The key of joining two, or kNoKey.
  uint32_t look_up(const Symbol& a, const Symbol& b, uint32_t* result) {
    e_.work.joins++;
    if (a.at == kNoNode) return kNoKey;
    if (t_.model == TextModel::kRanked) {
      if (b.at == kNoNode) return kNoKey;
      const MergeRow* row = find_merge(t_, a.at, b.at);
      if (!row) return kNoKey;
      *result = row->piece;
      return row->rank;
    }
    const uint32_t node = trie_walk(t_.pieces, a.at, text_ + b.begin, b.bytes);
    if (node == kNoNode || t_.pieces.piece[node] < 0) return kNoKey;
    *result = node;
    return t_.orders[size_t(t_.pieces.piece[node])];
  }

  void join_few() {
    uint32_t keys[kFew], results[kFew];
    for (uint32_t i = 0; i + 1 < count_; i++)
      keys[i] = look_up(symbols()[i], symbols()[i + 1], &results[i]);
    uint32_t left = count_;
    while (left > 1) {
      uint32_t best = 0;
      for (uint32_t i = 1; i + 1 < left; i++)
        if (keys[i] < keys[best]) best = i;
      e_.work.moves += left;
      if (keys[best] == kNoKey) break;
      symbols()[best].bytes += symbols()[best + 1].bytes;
      symbols()[best].at = results[best];
      left--;
      for (uint32_t i = best + 1; i < left; i++) {
        symbols()[i] = symbols()[i + 1];
        if (i + 1 < left) keys[i] = keys[i + 1], results[i] = results[i + 1];
      }
      if (best > 0)
        keys[best - 1] = look_up(symbols()[best - 1], symbols()[best], &results[best - 1]);
      if (best + 1 < left)
        keys[best] = look_up(symbols()[best], symbols()[best + 1], &results[best]);
    }
    for (uint32_t i = 0; i < left; i++) symbols()[i].next = i + 1;
    count_ = left;
  }

  static bool before(const Join& a, const Join& b) {
    return a.key != b.key ? a.key < b.key : a.left < b.left;
  }
  void push(uint32_t left) {
    const Symbol& a = symbols()[left];
    if (a.next >= count_) return;
    const Symbol& b = symbols()[a.next];
    Join join = {0, left, a.bytes + b.bytes, 0};
    join.key = look_up(a, b, &join.at);
    if (join.key == kNoKey) return;
    Join* heap = e_.buffers.joins;
    uint32_t i = heap_size_++;
    for (; i > 0 && before(join, heap[(i - 1) / 2]); i = (i - 1) / 2, e_.work.moves++)
      heap[i] = heap[(i - 1) / 2];
    heap[i] = join;
  }
  Join pop() {
    Join* heap = e_.buffers.joins;
    const Join top = heap[0], last = heap[--heap_size_];
    uint32_t i = 0;
    for (uint32_t child = 1; child < heap_size_; child = 2 * i + 1, e_.work.moves++) {
      if (child + 1 < heap_size_ && before(heap[child + 1], heap[child])) child++;
      if (!before(heap[child], last)) break;
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = last;
    return top;
  }

  void join_many() {
    for (uint32_t i = 0; i + 1 < count_; i++) push(i);
    while (heap_size_ > 0) {
      const Join join = pop();
      Symbol& a = symbols()[join.left];
      // Either has changed: it was joined into another (no bytes), or has grown.
      if (a.bytes == 0 || a.next >= count_ || a.bytes + symbols()[a.next].bytes != join.bytes)
        continue;
      Symbol& b = symbols()[a.next];
      a.bytes = join.bytes, a.at = join.at;
      b.bytes = 0;
      a.next = b.next;
      if (a.next < count_) symbols()[a.next].previous = join.left;
      if (a.previous < count_) push(a.previous);
      push(join.left);
    }
  }

  Status put(const Symbol& s) {
    uint32_t piece = s.at;
    if (t_.model == TextModel::kScored && piece != kNoNode)
      piece = uint32_t(t_.pieces.piece[piece]);
    return piece != kNoNode ? e_.put(piece) : e_.put_unknown(text_, s.begin, s.bytes);
  }

  Encoder& e_;
  const TokenizerView& t_;
  const uint8_t* text_;
  uint32_t count_ = 0, heap_size_ = 0;
};

}  // namespace

Status encode_pairs(Encoder* e, const uint8_t* text, size_t bytes) {
  return Pairs(e, text).encode(bytes);
}

}  // namespace ingot::text
