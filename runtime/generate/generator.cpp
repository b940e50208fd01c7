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
  RunGenerator* generators;
  SlotRuns* shared;
  TokenPart* parts;
};
struct SlotPlaces {
  int32_t* ids;
  uint8_t* answer;
};

Places take_places(const TokenRun& run, BumpAllocator* from) {
  Places p;
  p.generators = from->take<RunGenerator>(uint64_t(run.slots()), 16);
  p.shared = from->take<SlotRuns>(1, 16);
  p.parts = from->take<TokenPart>(uint64_t(run.slots()));
  return p;
}
SlotPlaces take_slot(const TokenRun& run, BumpAllocator* from) {
  SlotPlaces p;
  p.ids = from->take<int32_t>(uint64_t(run.context()) + 1);
  p.answer =
      from->take<uint8_t>(Answer::measure(uint64_t(run.vocabulary()), uint64_t(run.context())), 16);
  return p;
}
uint64_t bytes_of(const TokenRun& run) {
  BumpAllocator bump(nullptr);
  (void)take_places(run, &bump);
  for (int64_t i = 0; i < run.slots(); i++) (void)take_slot(run, &bump);
  return bump.used();
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
  *bytes = bytes_of(run);
  return {};
}

Status make_generator(RunSession* session, const TextTables* tables, Span<uint8_t> memory,
                      RunGenerator** out, ErrorDetail* detail) {
  TokenRun run;
  INGOT_TRY(run.open(session, detail));
  INGOT_TRY(check_memory(memory, bytes_of(run), "memory of a generator", detail));
  BumpAllocator bump(memory.data);
  const Places p = take_places(run, &bump);
  SlotRuns* const shared = new (p.shared) SlotRuns;
  shared->run = run, shared->generators = p.generators, shared->parts = p.parts;
  for (int64_t i = 0; i < run.slots(); i++) {
    const SlotPlaces own = take_slot(run, &bump);
    new (p.parts + i) TokenPart;
    RunGenerator* const g = new (p.generators + i) RunGenerator;
    g->shared_ = shared, g->slot_ = i;
    g->tables_ = tables;
    g->ids_ = own.ids;
    INGOT_TRY(g->answer_.place(own.answer, tables ? &tables->tokenizer : nullptr,
                               uint64_t(run.vocabulary()), uint64_t(run.context()), detail));
  }
  *out = p.generators;
  return {};
}

Status SlotRuns::compute(uint64_t deadline_ns, ErrorDetail* detail) {
  size_t count = 0;
  for (int64_t i = 0; i < run.slots(); i++) {
    RunGenerator& g = generators[i];
    g.logits_ = {};
    if (g.part_ == 0) {
      g.ahead_ = 0;
      if (g.takes_part()) g.find_behind();  // what it had not chosen from is lost
    } else {
      parts[count++] = {{g.ids_ + g.position_, size_t(g.part_ + g.ahead_)},
                        i,
                        g.position_,
                        g.position_ + g.part_ == g.count_ ? 1 + g.ahead_ : 0};
    }
  }
  const Status status = run.run({parts, count}, deadline_ns, detail);
  int64_t row = 0;
  for (int64_t i = 0; i < run.slots(); i++) {
    RunGenerator& g = generators[i];
    if (g.part_ > 0) {
      g.write_snapshots(g.position_ + g.part_ + g.ahead_);
      if (!status.ok()) g.go_back(g.position_);
    }
    if (status.ok() && g.part_ > 0) {
      g.position_ += g.part_;
      if (g.position_ == g.count_) {
        g.row_ = row, row += 1 + g.ahead_;
        g.logits_ = run.logits(g.row_);
      }
    }
    if (!status.ok()) g.ahead_ = 0;
    g.part_ = 0;
  }
  return status;
}

Status SlotRuns::rest(ErrorDetail* detail) {
  for (int64_t i = 0; i < run.slots(); i++) generators[i].drop_logits();
  return run.bind(1, detail);
}

Status RunGenerator::check_tokens(Span<const int32_t> ids, ErrorDetail* detail) const {
  if (ids.empty()) return fail(detail, Code::kInvalidArgument, "tokens: at least", 1, 0);
  if (ids.size > size_t(runs().context()))
    return fail(detail, Code::kInvalidArgument, "tokens: the context has room for at most",
                uint64_t(runs().context()), ids.size);
  for (size_t i = 0; i < ids.size; i++)
    if (ids[i] < 0 || ids[i] >= runs().vocabulary()) {
      const Status status = fail(detail, Code::kInvalidArgument, "a token: at most",
                                 uint64_t(runs().vocabulary()) - 1, uint64_t(int64_t{ids[i]}));
      if (detail) detail->operand = int32_t(i);
      return status;
    }
  return {};
}

/// Tokens that one of the tables lacks are padding: no other ones are proposed.
Status RunGenerator::check_vocabulary(const RunGenerator& draft, ErrorDetail* detail) const {
  if (!tables_ || !draft.tables_) {
    if (runs().vocabulary() == draft.runs().vocabulary()) return {};
    return fail(detail, Code::kInvalidArgument, "draft: logits", uint64_t(runs().vocabulary()),
                uint64_t(draft.runs().vocabulary()));
  }
  const TokenizerView &own = tables_->tokenizer, &other = draft.tables_->tokenizer;
  const TokenizerView& longer = own.count < other.count ? other : own;
  for (uint32_t id = 0; id < longer.count; id++) {
    if (id < own.count && id < other.count) {
      const Span<const uint8_t> a = own.piece(id), b = other.piece(id);
      if (a.size == b.size && std::memcmp(a.data, b.data, a.size) == 0) continue;
    } else if (longer.kind(id) == PieceKind::kUnused) {
      continue;
    }
    const Status status = fail(detail, Code::kInvalidArgument,
                               "draft: a model of the same tokens; the first that differs");
    if (detail) detail->operand = int32_t(id);
    return status;
  }
  return {};
}

Status RunGenerator::set_draft(RunGenerator* draft, ErrorDetail* detail) {
  if (draft) {
    if (draft->runs().session() == runs().session() || draft->shared_->draft)
      return fail(detail, Code::kInvalidArgument, "draft: of another session, without a draft");
    if (runs().rows() == 1)
      return fail(detail, Code::kInvalidArgument,
                  "draft: of a file whose runs check tokens; convert it with --lookup");
    INGOT_TRY(check_vocabulary(*draft, detail));
    draft = draft->shared_->generators;
  }
  shared_->draft = draft;
  return {};
}

Status RunGenerator::check_cancel(ErrorDetail* detail) const {
  return cancel_.load(std::memory_order_relaxed)
             ? fail(detail, Code::kCancelled, "generator: cancelled")
             : Status();
}

bool RunGenerator::can_go_on_from(int64_t position) const {
  return runs().snapshots() == 0 || position == 0 || position >= oldest_;
}
void RunGenerator::go_back(int64_t position) {
  position_ = can_go_on_from(position) ? position : 0;
  if (position_ == 0) oldest_ = 0;
}
/// A run wrote those of its last positions, up to this one, over the oldest.
void RunGenerator::write_snapshots(int64_t position) {
  const int64_t oldest = position - runs().snapshots() + 1;
  if (oldest_ < oldest) oldest_ = oldest;
}

/// Of a prompt, from its beginning, in the caches; the last token is computed, for its logits.
int64_t RunGenerator::count_common(Span<const int32_t> prompt) const {
  const int64_t most = int64_t(prompt.size) - 1;
  int64_t same = 0;
  while (same < position_ && same < most && ids_[same] == prompt[size_t(same)]) same++;
  return can_go_on_from(same) ? same : 0;
}

/// The slot whose caches hold most of a prompt gives what this one's lack: rows are the same bits
/// whichever slot computed them.
int64_t RunGenerator::take_prefix(Span<const int32_t> prompt, int64_t same) {
  int64_t most = same, from = slot_;
  for (int64_t i = 0; i < runs().slots(); i++) {
    if (slot(i)->is_restored_) continue;
    const int64_t common = slot(i)->count_common(prompt);
    if (common > most) most = common, from = i;
  }
  return from != slot_ && copy_state_rows(runs().session(), from, slot_, same, most) ? most : same;
}

Status RunGenerator::begin(Span<const int32_t> prompt, const AnswerOptions& options,
                           uint64_t* reused, ErrorDetail* detail) {
  INGOT_TRY(check_tokens(prompt, detail));
  const int64_t checked = runs().rows() - 1;  // beside the next token
  if (options.lookup < -1 || options.lookup > checked)
    return fail(detail, Code::kInvalidArgument,
                "lookup: of a file converted with that --lookup at most", uint64_t(checked),
                uint64_t(int64_t{options.lookup}));
  INGOT_TRY(answer_.begin(options, prompt, detail));
  drafter_.begin(options.lookup < 0 ? checked : options.lookup);
  const int64_t own = count_common(prompt), same = take_prefix(prompt, own);
  position_ = same;
  if (same > own || same == 0) oldest_ = same;  // of a copy, the newest snapshot alone
  is_restored_ = is_restored_ && own > 0;
  count_ = int64_t(prompt.size);
  std::memmove(ids_, prompt.data, prompt.size * sizeof *ids_);  // it may be sequence()
  drop_logits();
  cancel_.store(0, std::memory_order_relaxed);
  if (runs().slots() == 1) runs().session()->cancel.store(0, std::memory_order_relaxed);
  if (reused) *reused = uint64_t(same);
  return {};
}

/// Tokens that are not computed, the last one again where its logits are lost.
int64_t RunGenerator::find_behind() {
  if (position_ == count_ && position_ > 0 && logits_.empty()) go_back(position_ - 1);
  return count_ - position_;
}

Status RunGenerator::prefill(uint64_t deadline_ns, uint64_t* left, ErrorDetail* detail) {
  const int64_t behind = find_behind();
  if (left) *left = uint64_t(behind);
  INGOT_TRY(check_cancel(detail));
  return advance(behind, deadline_ns, left, detail);
}

/// The next part of those that are behind.
Status RunGenerator::advance(int64_t behind, uint64_t deadline_ns, uint64_t* left,
                             ErrorDetail* detail) {
  if (behind == 0) return {};
  if (ahead_ > 0) {  // the token that was chosen is the first of them
    take_proposed();
  } else {
    const int64_t part = behind < runs().most() ? behind : runs().most();
    int64_t none = 0;
    if (part == behind)
      INGOT_TRY(propose(runs().most() - part, deadline_ns, detail));
    else if (shared_->draft)
      INGOT_TRY(draft_tokens(0, &none, deadline_ns, detail));
    part_ = part;
    INGOT_TRY(shared_->compute(deadline_ns, detail));
  }
  if (left) *left = uint64_t(count_ - position_);
  return {};
}

Status RunGenerator::propose(int64_t room, uint64_t deadline_ns, ErrorDetail* detail) {
  const int64_t fit = runs().context() - count_, of_answer = answer_.left() - 1;
  if (room > fit) room = fit;
  if (room > of_answer) room = of_answer;
  room = drafter_.ask(room);
  int64_t count = 0;
  if (shared_->draft && room > 0)
    INGOT_TRY(draft_tokens(room, &count, deadline_ns, detail));
  else if (!shared_->draft)
    count = drafter_.look_up(ids_, count_, room);
  drafter_.propose(count);
  ahead_ = count;
  return {};
}

/// The draft's prompt is computed a part for each run of this model, which has the deadline of one
/// run. It chooses as this generator would, with the same draws: where both models say much the
/// same, so do the tokens. `room` 0: it only follows.
Status RunGenerator::draft_tokens(int64_t room, int64_t* count, uint64_t deadline_ns,
                                  ErrorDetail* detail) {
  RunGenerator* const draft = shared_->draft->slot(slot_ % shared_->draft->runs().slots());
  const Span<const int32_t> ids = {ids_, size_t(count_)};
  if (!draft->check_tokens(ids, nullptr).ok()) return {};
  AnswerOptions options;
  options.sampling = answer_.sampling();
  if (draft->runs().vocabulary() < runs().vocabulary()) options.sampling.biases = {};
  options.tokens = uint32_t(room);
  options.ignores_end = true;
  uint64_t left = 0;
  Status status = draft->begin(ids, options, nullptr, detail);
  if (status.ok()) status = draft->prefill(deadline_ns, &left, detail);
  AnswerToken token;
  while (status.ok() && left == 0 && *count < room && token.end == AnswerEnd::kNone) {
    INGOT_TRY(check_cancel(detail));
    status = draft->next(deadline_ns, &token, detail);
    if (status.ok() && token.id >= runs().vocabulary()) break;
    if (status.ok()) ids_[count_ + (*count)++] = token.id;
  }
  // Logits that nothing can be chosen from are no fault of this answer.
  if (status.ok() || status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound)
    return {};
  if (detail) detail->instruction = kNoInstruction;  // it would be taken for one of this model's
  name_error(detail, "draft");
  return status.code();
}

/// The last run has computed it, in its place.
void RunGenerator::take_proposed() {
  drafter_.accept();
  position_++, ahead_--;
  logits_ = runs().logits(++row_);
}

Status RunGenerator::step(uint64_t deadline_ns, uint64_t* left, ErrorDetail* detail) {
  const int64_t slots = runs().slots();
  int64_t room = runs().most(), all = 0, count = 0;
  RunGenerator* last = nullptr;
  for (int64_t i = 0; i < slots; i++) {
    const int64_t behind = slot(i)->takes_part() ? slot(i)->find_behind() : 0;
    slot(i)->part_ = behind > 0;
    room -= behind > 0, all += behind;
    if (behind > 0) last = slot(i), count++;
  }
  if (left) *left = uint64_t(all);
  if (all == 0) return {};
  if (count == 1) {
    last->part_ = 0;
    return last->advance(all, deadline_ns, left, detail);
  }
  for (int64_t i = 0; i < slots; i++) slot(i)->ahead_ = 0;
  int64_t computed = runs().most() - room;
  for (int64_t k = 0; k < slots && room > 0; k++) {
    RunGenerator* const g = slot((shared_->first + k) % slots);
    if (g->part_ == 0) continue;
    const int64_t more = g->count_ - g->position_ - 1, some = more < room ? more : room;
    g->part_ += some, room -= some, computed += some;
  }
  shared_->first = (shared_->first + 1) % slots;
  INGOT_TRY(shared_->compute(deadline_ns, detail));
  if (left) *left = uint64_t(all - computed);
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
  INGOT_TRY(
      answer_.choose({of_last.data, of_last.size}, position_ == runs().context(), out, detail));
  if (out->end == AnswerEnd::kControl) return {};
  if (ahead_ > 0 && ids_[count_] != out->id) ahead_ = 0;
  ids_[count_++] = out->id;
  return {};
}

Status RunGenerator::logits(Span<float>* out, ErrorDetail* detail) const {
  if (logits_.empty()) return fail(detail, Code::kWrongState, "no logits: nothing was computed");
  *out = logits_;
  return {};
}

bool RunGenerator::takes_part() const {
  return !answer_.has_ended() && !cancel_.load(std::memory_order_relaxed);
}

void RunGenerator::cancel() {
  cancel_.store(1, std::memory_order_relaxed);
  if (runs().slots() > 1) return;
  cancel_session(runs().session());
  if (shared_->draft) shared_->draft->cancel();
}

Status RunGenerator::save(uint8_t* out, uint64_t capacity, uint64_t* bytes, ErrorDetail* detail) {
  const uint64_t tokens = uint64_t(position_), at = state_place(tokens);
  INGOT_TRY(shared_->rest(detail));
  uint64_t state = 0;
  INGOT_TRY(save_state(runs().session(), nullptr, 0, &state, detail, state_part()));
  *bytes = at + state;
  if (capacity == 0) return {};
  if (capacity < *bytes)
    return fail(detail, Code::kInvalidArgument, "capacity: at least", *bytes, capacity);
  std::memset(out, 0, at);
  std::memcpy(out, kSavedMagic, sizeof kSavedMagic);
  store_little<uint64_t>(out + sizeof kSavedMagic, tokens);
  for (uint64_t i = 0; i < tokens; i++)
    store_little<uint32_t>(out + kSavedHead + 4 * i, uint32_t(ids_[i]));
  return save_state(runs().session(), out + at, state, &state, detail, state_part());
}

Status RunGenerator::restore(Span<const uint8_t> saved, ErrorDetail* detail) {
  if (saved.size < kSavedHead || std::memcmp(saved.data, kSavedMagic, sizeof kSavedMagic) != 0)
    return fail(detail, Code::kNotIngot, "a saved conversation");
  const uint64_t tokens = load_little<uint64_t>(saved.data + sizeof kSavedMagic);
  if (tokens > uint64_t(runs().context()))
    return fail(detail, Code::kStateMismatch, "tokens: the context has room for at most",
                uint64_t(runs().context()), tokens);
  const uint64_t at = state_place(tokens);
  if (saved.size < at)
    return fail(detail, Code::kTruncated, "a saved conversation", at, saved.size);
  const auto id_at = [&](uint64_t i) {
    return int32_t(load_little<uint32_t>(saved.data + kSavedHead + 4 * i));
  };
  for (uint64_t i = 0; i < tokens; i++)
    if (id_at(i) < 0 || id_at(i) >= runs().vocabulary())
      return fail(detail, Code::kStateMismatch, "a token: at most",
                  uint64_t(runs().vocabulary()) - 1, uint64_t(int64_t{id_at(i)}));
  INGOT_TRY(shared_->rest(detail));
  INGOT_TRY(
      restore_state(runs().session(), saved.data + at, saved.size - at, detail, state_part()));
  for (uint64_t i = 0; i < tokens; i++) ids_[i] = id_at(i);
  position_ = count_ = oldest_ = int64_t(tokens);
  is_restored_ = true;
  answer_.stop();
  return {};
}

}  // namespace ingot
