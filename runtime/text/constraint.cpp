// SPDX-License-Identifier: Apache-2.0
// runtime/text/constraint.cpp - memory, the mask of a state and what is kept of it, tokens.
#include "runtime/text/constraint.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/bump_allocator.h"
#include "runtime/base/check_memory.h"
#include "runtime/text/constraint_limits.h"

namespace ingot::text {
namespace {

constexpr uint32_t kKept = 16;
constexpr uint64_t kWorthKeeping = 2048;  // steps
constexpr uint64_t kMaxSteps = 1u << 25;  // of a mask
constexpr uint32_t kTooMany = ~uint32_t{0};

bool is_allowed_kind(PieceKind kind) {
  return kind == PieceKind::kNormal || kind == PieceKind::kAdded || kind == PieceKind::kByte;
}

uint64_t most_dependent(uint64_t tokens) { return tokens / 16 + 64; }

uint32_t common_bytes(Span<const uint8_t> a, Span<const uint8_t> b) {
  const size_t most = a.size < b.size ? a.size : b.size;
  size_t n = 0;
  while (n < most && a[n] == b[n]) n++;
  return uint32_t(n);
}

}  // namespace

struct TokenConstraint::Places {
  uint32_t *order, *first, *heads, *moved;
  uint16_t* common;
  Node* nodes;
  Thread *threads, *last;
  Level* levels;
  uint8_t *mask, *control;
  Kept* kept;
  uint8_t* bits;
  uint32_t* dependent;
};

TokenConstraint::Places TokenConstraint::take_places(uint8_t* memory, uint64_t tokens,
                                                     uint64_t* used) {
  BumpAllocator bump(memory);
  const uint64_t mask = (tokens + 7) / 8;
  Places p;
  p.kept = bump.take<Kept>(kKept + 1, 16);
  p.order = bump.take<uint32_t>(tokens);
  p.first = bump.take<uint32_t>(257);
  p.heads = bump.take<uint32_t>(kStackHeads);
  p.moved = bump.take<uint32_t>(kStackNodes);
  p.nodes = bump.take<Node>(kStackNodes);
  p.threads = bump.take<Thread>(kWalkThreads);
  p.last = bump.take<Thread>(kMaxGrammarThreads);
  p.levels = bump.take<Level>(kMaxPieceBytes + 1);
  p.dependent = bump.take<uint32_t>((kKept + 1) * most_dependent(tokens));
  p.common = bump.take<uint16_t>(tokens);
  p.mask = bump.take<uint8_t>(mask);
  p.control = bump.take<uint8_t>(mask);
  p.bits = bump.take<uint8_t>((kKept + 1) * mask);
  *used = bump.used();
  return p;
}

uint64_t TokenConstraint::measure(const TokenizerView& tokenizer) {
  uint64_t used = 0;
  (void)take_places(nullptr, tokenizer.count, &used);
  return used;
}

Status TokenConstraint::place(const TokenizerView& tokenizer, Span<uint8_t> memory,
                              ErrorDetail* detail) {
  uint64_t used = measure(tokenizer);
  INGOT_TRY(check_memory(memory, used, "memory", detail));
  const uint64_t tokens = tokenizer.count;
  const Places p = take_places(memory.data, tokens, &used);
  *this = TokenConstraint();
  tokenizer_ = &tokenizer;
  order_ = p.order, common_ = p.common, first_ = p.first, heads_ = p.heads, moved_ = p.moved;
  nodes_ = p.nodes, threads_ = p.threads, last_ = p.last, levels_ = p.levels;
  mask_ = p.mask, control_ = p.control, kept_ = p.kept;
  for (uint32_t k = 0; k <= kKept; k++)
    kept_[k] = {0, 0, p.bits + k * mask_bytes(), p.dependent + k * most_dependent(tokens)};
  return {};
}

/// Tens of milliseconds for a large vocabulary: not for those that never set a grammar.
void TokenConstraint::sort_tokens() {
  is_sorted_ = true;
  std::memset(control_, 0, mask_bytes());
  for (uint32_t id = 0; id < tokenizer_->count; id++) {
    const PieceKind kind = tokenizer_->kind(id);
    if (kind == PieceKind::kControl) control_[id / 8] |= uint8_t(1u << (id % 8));
    if (is_allowed_kind(kind) && tokenizer_->piece(id).size) order_[count_++] = id;
  }
  const TokenizerView& t = *tokenizer_;
  std::sort(order_, order_ + count_, [&t](uint32_t a, uint32_t b) {
    const Span<const uint8_t> left = t.piece(a), right = t.piece(b);
    const size_t both = left.size < right.size ? left.size : right.size;
    const int order = std::memcmp(left.data, right.data, both);
    if (order != 0) return order < 0;
    return left.size != right.size ? left.size < right.size : a < b;
  });
  uint32_t byte = 0;
  for (uint32_t i = 0; i < count_; i++) {
    const Span<const uint8_t> bytes = bytes_at(i);
    common_[i] = i ? uint16_t(common_bytes(bytes_at(i - 1), bytes)) : 0;
    if (bytes.size > longest_) longest_ = uint32_t(bytes.size);
    while (byte <= bytes[0]) first_[byte++] = i;
  }
  while (byte <= 256) first_[byte++] = count_;
}

Status TokenConstraint::set(Span<const uint8_t> form, ErrorDetail* detail) {
  if (!tokenizer_) return fail(detail, Code::kWrongState, "a constraint has memory");
  GrammarView grammar;
  INGOT_TRY(open_grammar(form, &grammar, detail));
  if (!is_sorted_) sort_tokens();
  grammar_ = grammar;
  used_kept_ = next_kept_ = 0;
  const Status status = restart(detail);
  if (!status.ok()) grammar_ = {};
  return status;
}

Status TokenConstraint::restart(ErrorDetail* detail) {
  if (!is_set()) return fail(detail, Code::kWrongState, "a grammar is set");
  for (uint32_t i = 0; i < kStackHeads; i++) heads_[i] = kNoStack;
  node_count_ = kFirstStack;
  has_begun_ = has_last_ = false;
  steps_left_ = kMaxSteps;
  Level begin;
  if (!add(&begin, grammar_.start, kRootStack) || !close(&begin)) return limit(detail);
  base_ = begin;
  base_.nodes = node_count_;
  return {};
}

Status TokenConstraint::limit(ErrorDetail* detail) const {
  return fail(detail, Code::kLimitExceeded, limit_);
}

void TokenConstraint::depend(uint32_t place, Kept* keeps) const {
  if (keeps->count == kTooMany) return;
  if (keeps->count == most_dependent(tokenizer_->count))
    keeps->count = kTooMany;
  else
    keeps->dependent[keeps->count++] = place;
}

/// Sets the bits of tokens whose bytes the level's threads take, of all or of those at `places`.
/// `keeps`: those that depend on what is below the stack.
bool TokenConstraint::walk(const Level& from, bool skips_space, const Span<const uint32_t>* places,
                           uint8_t* bits, Kept* keeps) {
  const uint32_t count = places ? uint32_t(places->size) : count_;
  uint32_t depth = 0, failed = kNoByte;  // levels of the last token, and its byte that none took
  bool depends = false;
  Span<const uint8_t> last;
  levels_[0] = from;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t place = places ? (*places)[i] : i;
    const Span<const uint8_t> bytes = bytes_at(place);
    const uint32_t common = i == 0 ? 0 : places ? common_bytes(last, bytes) : common_[place];
    if (common > failed) {  // it fails as the last one did
      if (depends) depend(place, keeps);
      if (!places && failed == 0) i = first_[bytes[0] + 1] - 1;
      continue;
    }
    last = bytes;
    if (depth > common) depth = common;
    failed = kNoByte, depends = false;
    pop_nodes(levels_[depth].nodes);
    while (depth < bytes.size && failed == kNoByte) {
      Level& to = levels_[depth + 1];
      if (depth == 0 && skips_space && bytes[0] == ' ')
        to = levels_[0];
      else if (!step(levels_[depth], bytes[depth], &to))
        return false;
      if (to.is_alive())
        depth++;
      else
        failed = depth, depends = to.escapes;
    }
    if (failed == kNoByte)
      bits[order_[place] / 8] |= uint8_t(1u << (order_[place] % 8));
    else if (depends)
      depend(place, keeps);
  }
  pop_nodes(from.nodes);
  return true;
}

/// What a state decides, whatever its stack.
const TokenConstraint::Kept* TokenConstraint::look_up(uint32_t state) {
  state = grammar_.like(state, longest_);
  for (uint32_t k = 0; k < used_kept_; k++)
    if (kept_[k].state == state) return work_.kept++, &kept_[k];
  Kept& fresh = kept_[kKept];
  std::memset(fresh.bits, 0, mask_bytes());
  fresh.state = state, fresh.count = 0;
  Level from = base_;
  from.first = base_.end, from.end = base_.end + 1;
  threads_[from.first] = {state, kUnknownStack};
  const uint64_t before = steps_left_;
  work_.walks++;
  if (!walk(from, false, nullptr, fresh.bits, &fresh)) return nullptr;
  if (before - steps_left_ < kWorthKeeping) return &fresh;
  Kept& place = kept_[next_kept_];
  std::swap(place, fresh);
  next_kept_ = (next_kept_ + 1) % kKept;
  if (used_kept_ < kKept) used_kept_++;
  return &place;
}

/// The tokens that one thread allows.
bool TokenConstraint::allow(const Thread& thread) {
  const Kept* const kept = look_up(thread.state);
  if (!kept) return false;
  Level from = base_;
  from.first = base_.end, from.end = base_.end + 1;
  threads_[from.first] = thread;
  if (kept->count == kTooMany) return walk(from, false, nullptr, mask_, nullptr);
  for (uint64_t i = 0; i < mask_bytes(); i++) mask_[i] |= kept->bits[i];
  const Span<const uint32_t> places(kept->dependent, kept->count);
  return walk(from, false, &places, mask_, nullptr);
}

/// The state is that of the last mask, and becomes it.
bool TokenConstraint::is_repeated(bool takes_end) {
  bool is_same = has_last_ && last_end_ == (takes_end && may_end()) && last_count_ == base_.end;
  for (uint32_t i = 0; i < base_.end; i++) {
    const Thread now = {grammar_.like(threads_[i].state, longest_), threads_[i].stack};
    is_same = is_same && last_[i].state == now.state && last_[i].stack == now.stack;
    last_[i] = now;
  }
  last_count_ = base_.end, last_end_ = takes_end && may_end();
  return is_same;
}

Status TokenConstraint::allowed(bool takes_end, Span<const uint8_t>* bits, ErrorDetail* detail) {
  if (!is_set()) return fail(detail, Code::kWrongState, "a grammar is set");
  work_.masks++;
  *bits = {mask_, size_t(mask_bytes())};
  if (is_repeated(takes_end)) return work_.repeated++, Status();
  has_last_ = false;
  steps_left_ = kMaxSteps;
  std::memset(mask_, 0, mask_bytes());
  if (!has_begun_ && tokenizer_->strip_space) {  // of the first token it is not printed
    if (!walk(base_, true, nullptr, mask_, nullptr)) return limit(detail);
  } else {
    for (uint32_t i = 0; i < base_.end; i++)
      if (grammar_.state(threads_[i].state) & kStateTakes && !allow(threads_[i]))
        return limit(detail);
  }
  uint8_t any = 0;
  for (uint64_t i = 0; i < mask_bytes(); i++) {
    if (takes_end && may_end()) mask_[i] |= control_[i];
    any |= mask_[i];
  }
  if (!any)
    return fail(detail, Code::kNotFound, "a token of the vocabulary that the grammar allows");
  has_last_ = has_begun_ || !tokenizer_->strip_space;
  return {};
}

Status TokenConstraint::accept(int32_t id, ErrorDetail* detail) {
  if (!is_set()) return fail(detail, Code::kWrongState, "a grammar is set");
  const bool is_piece = id >= 0 && uint32_t(id) < tokenizer_->count &&
                        is_allowed_kind(tokenizer_->kind(uint32_t(id)));
  Span<const uint8_t> bytes;
  if (is_piece) bytes = tokenizer_->piece(uint32_t(id));
  if (!has_begun_ && tokenizer_->strip_space && bytes.size && bytes[0] == ' ')
    bytes = {bytes.data + 1, bytes.size - 1};
  Level now = base_;
  steps_left_ = kMaxSteps;
  bool is_taken = is_piece;
  for (size_t i = 0; i < bytes.size && is_taken; i++) {
    Level to;
    if (!step(now, bytes[i], &to)) {
      pop_nodes(base_.nodes);
      return limit(detail);
    }
    now = to;
    is_taken = now.is_alive();
  }
  if (!is_taken) {
    pop_nodes(base_.nodes);
    return fail(detail, Code::kInvalidArgument, "a token that the grammar allows", 0, 0,
                uint64_t(int64_t{id}));
  }
  std::memmove(threads_, threads_ + now.first, (now.end - now.first) * sizeof *threads_);
  base_ = now;
  base_.first = 0, base_.end = now.end - now.first;
  has_begun_ = true;
  if (node_count_ > kMaxGrammarDepth) compact();
  base_.nodes = node_count_;
  return node_count_ > kMaxGrammarDepth
             ? fail(detail, Code::kLimitExceeded, "nested calls of the grammar", kMaxGrammarDepth,
                    node_count_)
             : Status();
}

}  // namespace ingot::text
