// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate/generator.h"

#include <cstring>
#include <new>

#include "runtime/base/bump_allocator.h"
#include "runtime/base/byte_order.h"
#include "runtime/base/check_memory.h"

namespace ingot {
namespace {

struct Places {
  RunGenerator* generator;
  int32_t* ids;
  uint8_t* answer;
};

Places take_places(const TokenRun& run, BumpAllocator* from) {
  Places p;
  p.generator = from->take<RunGenerator>(1, 16);
  p.ids = from->take<int32_t>(uint64_t(run.context()) + 1);
  p.answer =
      from->take<uint8_t>(Answer::measure(uint64_t(run.vocabulary()), uint64_t(run.context())), 16);
  return p;
}

// What is saved: this, the number of tokens, the tokens, zeros up to 16 bytes; then the state.
constexpr uint8_t kSavedMagic[8] = {'I', 'N', 'G', 'O', 'T', 'S', 'E', 'Q'};
constexpr uint64_t kSavedHead = 16;
uint64_t state_place(uint64_t tokens) {
  return (kSavedHead + tokens * sizeof(int32_t) + 15) / 16 * 16;
}

}  // namespace

Status measure_generator(RunSession* session, uint64_t* bytes, ErrorDetail* detail) {
  TokenRun run;
  INGOT_TRY(run.open(session, detail));
  BumpAllocator bump(nullptr);
  (void)take_places(run, &bump);
  *bytes = bump.used();
  return {};
}

Status make_generator(RunSession* session, const TextTables* tables, Span<uint8_t> memory,
                      RunGenerator** out, ErrorDetail* detail) {
  TokenRun run;
  INGOT_TRY(run.open(session, detail));
  BumpAllocator bump(memory.data);
  const Places p = take_places(run, &bump);
  INGOT_TRY(check_memory(memory, bump.used(), "memory of a generator", detail));
  RunGenerator* const g = new (p.generator) RunGenerator;
  g->run_ = run;
  g->tables_ = tables;
  g->ids_ = p.ids;
  INGOT_TRY(g->answer_.place(p.answer, tables ? &tables->tokenizer : nullptr,
                             uint64_t(run.vocabulary()), uint64_t(run.context()), detail));
  *out = g;
  return {};
}

Status RunGenerator::check_tokens(Span<const int32_t> ids, ErrorDetail* detail) const {
  if (ids.empty()) return fail(detail, Code::kInvalidArgument, "tokens: at least", 1, 0);
  if (ids.size > size_t(run_.context()))
    return fail(detail, Code::kInvalidArgument, "tokens: the context has room for at most",
                uint64_t(run_.context()), ids.size);
  for (size_t i = 0; i < ids.size; i++)
    if (ids[i] < 0 || ids[i] >= run_.vocabulary()) {
      const Status status = fail(detail, Code::kInvalidArgument, "a token: at most",
                                 uint64_t(run_.vocabulary()) - 1, uint64_t(int64_t{ids[i]}));
      if (detail) detail->operand = int32_t(i);
      return status;
    }
  return {};
}

Status RunGenerator::check_cancel(ErrorDetail* detail) const {
  return cancel_.load(std::memory_order_relaxed)
             ? fail(detail, Code::kCancelled, "generator: cancelled")
             : Status();
}

Status RunGenerator::begin(Span<const int32_t> prompt, const AnswerOptions& options,
                           uint64_t* reused, ErrorDetail* detail) {
  INGOT_TRY(check_tokens(prompt, detail));
  INGOT_TRY(answer_.begin(options, prompt, detail));
  int64_t same = 0;
  const int64_t most = int64_t(prompt.size) - 1;  // the last one is computed, for its logits
  while (same < position_ && same < most && ids_[same] == prompt[size_t(same)]) same++;
  position_ = same;
  count_ = int64_t(prompt.size);
  std::memmove(ids_, prompt.data, prompt.size * sizeof *ids_);  // it may be sequence()
  has_logits_ = false;
  cancel_.store(0, std::memory_order_relaxed);
  run_.session()->cancel.store(0, std::memory_order_relaxed);
  if (reused) *reused = uint64_t(same);
  return {};
}

Status RunGenerator::prefill(uint64_t deadline_ns, uint64_t* left, ErrorDetail* detail) {
  if (position_ == count_ && position_ > 0 && !has_logits_) position_--;
  if (left) *left = uint64_t(count_ - position_);
  INGOT_TRY(check_cancel(detail));
  int64_t part = count_ - position_;
  if (part == 0) return {};
  if (part > run_.most()) part = run_.most();
  has_logits_ = false;
  INGOT_TRY(run_.run({ids_ + position_, size_t(part)}, position_, deadline_ns, detail));
  position_ += part;
  has_logits_ = position_ == count_;
  if (left) *left = uint64_t(count_ - position_);
  return {};
}

Status RunGenerator::next(uint64_t deadline_ns, AnswerToken* out, ErrorDetail* detail) {
  if (answer_.has_ended())
    return fail(detail, Code::kWrongState, "the answer has ended; begin another");
  do {
    INGOT_TRY(prefill(deadline_ns, nullptr, detail));
  } while (position_ < count_);
  Span<float> of_last;
  INGOT_TRY(logits(&of_last, detail));
  INGOT_TRY(answer_.choose({of_last.data, of_last.size}, position_ == run_.context(), out, detail));
  if (out->end != AnswerEnd::kControl) ids_[count_++] = out->id;
  return {};
}

Status RunGenerator::logits(Span<float>* out, ErrorDetail* detail) const {
  if (!has_logits_) return fail(detail, Code::kWrongState, "no logits: nothing was computed");
  *out = run_.logits();
  return {};
}

void RunGenerator::cancel() {
  cancel_.store(1, std::memory_order_relaxed);
  cancel_session(run_.session());
}

Status RunGenerator::save(uint8_t* out, uint64_t capacity, uint64_t* bytes, ErrorDetail* detail) {
  const uint64_t tokens = uint64_t(position_), at = state_place(tokens);
  has_logits_ = false;  // a state of another binding would not be the same bytes
  INGOT_TRY(run_.bind(1, detail));
  uint64_t state = 0;
  INGOT_TRY(save_state(run_.session(), nullptr, 0, &state, detail));
  *bytes = at + state;
  if (capacity == 0) return {};
  if (capacity < *bytes)
    return fail(detail, Code::kInvalidArgument, "capacity: at least", *bytes, capacity);
  std::memset(out, 0, at);
  std::memcpy(out, kSavedMagic, sizeof kSavedMagic);
  store_little<uint64_t>(out + sizeof kSavedMagic, tokens);
  for (uint64_t i = 0; i < tokens; i++)
    store_little<uint32_t>(out + kSavedHead + 4 * i, uint32_t(ids_[i]));
  return save_state(run_.session(), out + at, state, &state, detail);
}

Status RunGenerator::restore(Span<const uint8_t> saved, ErrorDetail* detail) {
  if (saved.size < kSavedHead || std::memcmp(saved.data, kSavedMagic, sizeof kSavedMagic) != 0)
    return fail(detail, Code::kNotIngot, "a saved conversation");
  const uint64_t tokens = load_little<uint64_t>(saved.data + sizeof kSavedMagic);
  if (tokens > uint64_t(run_.context()))
    return fail(detail, Code::kStateMismatch, "tokens: the context has room for at most",
                uint64_t(run_.context()), tokens);
  const uint64_t at = state_place(tokens);
  if (saved.size < at)
    return fail(detail, Code::kTruncated, "a saved conversation", at, saved.size);
  const auto id_at = [&](uint64_t i) {
    return int32_t(load_little<uint32_t>(saved.data + kSavedHead + 4 * i));
  };
  for (uint64_t i = 0; i < tokens; i++)
    if (id_at(i) < 0 || id_at(i) >= run_.vocabulary())
      return fail(detail, Code::kStateMismatch, "a token: at most", uint64_t(run_.vocabulary()) - 1,
                  uint64_t(int64_t{id_at(i)}));
  INGOT_TRY(run_.bind(1, detail));
  has_logits_ = false;
  INGOT_TRY(restore_state(run_.session(), saved.data + at, saved.size - at, detail));
  for (uint64_t i = 0; i < tokens; i++) ids_[i] = id_at(i);
  position_ = count_ = int64_t(tokens);
  answer_.stop();
  return {};
}

}  // namespace ingot
