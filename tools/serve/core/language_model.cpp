// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/language_model.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

namespace ingot::serve {
namespace {

/// What a client can mend is the client's.
Refusal refusal_of(const Error& error) {
  switch (error.code) {
    case INGOT_CANCELLED: return Refusal::kCancelled;
    case INGOT_DEADLINE_EXCEEDED: return Refusal::kDeadline;
    case INGOT_NOT_FOUND:
    case INGOT_INVALID_ARGUMENT:
    case INGOT_LIMIT_EXCEEDED:
    case INGOT_MEANING_INVALID:
    case INGOT_UNSUPPORTED_FEATURE: return Refusal::kInvalid;
    default: return Refusal::kInternal;
  }
}

[[noreturn]] void refuse_by(const Error& error) { refuse(refusal_of(error), error.text()); }

uint64_t common_tokens(std::span<const int32_t> a, std::span<const int32_t> b) {
  return uint64_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}
std::span<const int32_t> cached_tokens(const ingot_generator_summary& has) {
  return {has.tokens, size_t(has.cached)};
}

constexpr auto kWatch = std::chrono::milliseconds(20);

}  // namespace

std::unique_ptr<LanguageModel> LanguageModel::open(const Model& model, const Model& draft,
                                                   const std::string& name,
                                                   const SessionSettings& session,
                                                   const SlotSettings& settings,
                                                   std::string* why_not) {
  auto text = Text::open(model);
  if (!text && text.error().code == INGOT_NOT_FOUND) {
    *why_not = "its file has no tokenizer";
    return nullptr;
  }
  if (!text) refuse(Refusal::kUnavailable, text.error().text());
  // asked before memory is taken
  for (const char* input : {"tokens", "position"})
    if (ingot_model_find_input(model.get(), input) < 0) {
      *why_not = std::string("it has no input '") + input + "'";
      return nullptr;
    }
  std::unique_ptr<LanguageModel> made(new LanguageModel(name, session, settings));
  made->text_ = std::move(*text);
  ingot_session_options options = session_options();
  const ingot_binding one = {"T", 1};  // a run has any number up to the bound
  options.device = session.device.c_str();
  options.threads = session.threads;
  options.flags = INGOT_REBINDABLE;
  options.bindings = &one;
  options.binding_count = 1;
  refuse_steps(model, options, session.max_steps);
  while (made->slots_.size() < settings.count) {
    if (!made->add_batch(model, options, why_not)) return nullptr;
    if (draft.get()) made->add_draft(made->batches_.back().get(), draft, options);
  }
  const ingot_generator_summary summary = made->slots_[0]->generator.summary();
  made->context_ = summary.context;
  made->vocabulary_ = summary.vocabulary;
  made->start();
  return made;
}

/// Room for any grammar; every slot has it from the start.
void LanguageModel::add_constraint(Slot* slot) {
  auto made = Constraint::create(text_);
  if (!made) refuse(Refusal::kUnavailable, made.error().text());
  slot->constraint = std::move(*made);
  uint64_t bytes = 0;
  ingot_constraint_requirements(text_.get(), &bytes, nullptr);
  slot_bytes_ += bytes;
}

bool LanguageModel::add_batch(const Model& model, const ingot_session_options& options,
                              std::string* why_not) {
  Batch& batch = *batches_.emplace_back(std::make_unique<Batch>());
  auto session = model.session(options);
  if (!session) refuse(Refusal::kUnavailable, session.error().text());
  batch.session = std::move(*session);
  auto generator = Generator::create(batch.session, &text_);
  if (!generator) {
    *why_not = generator.error().text();
    return false;
  }
  batch.generator = std::move(*generator);
  count_memory(batch.session);
  const uint64_t count = batch.generator.summary().slots;
  for (uint32_t i = 0; i < count; i++) {
    slots_.push_back(
        batch.slots.emplace_back(std::make_unique<Slot>(batch, batch.generator.slot(i))).get());
    add_constraint(slots_.back());
  }
  const uint64_t threads = uint64_t(batch.session.requirements().threads);
  if (batch.generator.summary().vocabulary >= settings_.large_vocabulary)
    for (uint64_t i = 1; i < std::min(count, threads); i++) batch.workers.add_thread();
  return true;
}

void LanguageModel::add_draft(Batch* batch, const Model& draft,
                              const ingot_session_options& options) {
  const auto refuse_draft = [](const Error& error) {
    refuse(Refusal::kUnavailable, "draft.ingot: " + error.text());
  };
  if (!draft_text_.get()) {
    auto text = Text::open(draft);
    if (!text) refuse_draft(text.error());
    draft_text_ = std::move(*text);
  }
  auto session = draft.session(options);
  if (!session) refuse_draft(session.error());
  batch->draft_session = std::move(*session);
  auto generator = Generator::create(batch->draft_session, &draft_text_);
  if (!generator) refuse_draft(generator.error());
  batch->draft = std::move(*generator);
  const auto is_set = batch->generator.set_draft(&batch->draft);
  if (!is_set) refuse_draft(is_set.error());
  count_memory(batch->draft_session);
}

/// A session's and its generator's.
void LanguageModel::count_memory(const Session& session) {
  uint64_t bytes = 0;
  ingot_generator_requirements(session.get(), &bytes, nullptr);
  const ingot_requirements need = session.requirements();
  slot_bytes_ +=
      need.arena_bytes - need.weights_mapped + need.outside_bytes + need.device_bytes + bytes;
}

void LanguageModel::start() {
  for (auto& batch : batches_) batch->thread = std::thread([this, &batch] { work(*batch); });
  watch_ = std::thread([this] { watch(); });
}

LanguageModel::~LanguageModel() { end_threads(); }

void LanguageModel::end_threads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
    for (auto& batch : batches_) batch->wake.notify_one();
  }
  for (auto& batch : batches_)
    if (batch->thread.joinable()) batch->thread.join();
  if (!watch_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    watch_stops_ = true;
  }
  watch_wake_.notify_one();
  watch_.join();
}

std::vector<int32_t> LanguageModel::encode(const std::string& text, uint32_t flags) const {
  auto ids = text_.encode(text, flags);
  if (!ids) refuse_by(ids.error());
  return std::move(*ids);
}

std::vector<int32_t> LanguageModel::encode_chat(const ingot_chat_options& chat) const {
  if (!text_.summary().has_chat_template)
    refuse(Refusal::kInvalid,
           "model '" + name_ + "' has no chat template; expected a prompt: /v1/completions");
  const auto prompt = text_.chat(chat);
  if (!prompt) refuse_by(prompt.error());
  return encode(*prompt, INGOT_ENCODE_BARE | INGOT_ENCODE_CONTROL);
}

void LanguageModel::submit(const std::shared_ptr<AnswerTask>& task) {
  const size_t count = task->request.prompt.size();
  if (!count) refuse(Refusal::kInvalid, "the prompt has no token");
  if (count > context_)
    refuse(Refusal::kInvalid,
           "the prompt has " + std::to_string(count) + " tokens, the context of model '" + name_ +
               "' has room for " + std::to_string(context_),
           "", "context_length_exceeded");
  task->queued_ns = ingot_clock_ns();
  task->deadline_ns = task->queued_ns + settings_.max_answer_ns;
  task->counts = {};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Slot* const slot = idle_slot(*task)) {
    slot->task = task;
    slot->batch.wake.notify_one();
  } else if (queue_.size() >= settings_.max_queued) {
    refuse(Refusal::kBusy, "model '" + name_ + "': " + std::to_string(queue_.size()) +
                               " requests wait for a slot already; try again later");
  } else {
    queue_.push_back(task);
  }
  watch_wake_.notify_one();
}

/// Of the batch that has, or will have, most of the prompt in its caches: those of one slot are
/// copied to another. Among its slots the one that loses least of another conversation.
LanguageModel::Slot* LanguageModel::idle_slot(const AnswerTask& task) {
  const std::span<const int32_t> prompt = task.request.prompt;
  Slot* best = nullptr;
  uint64_t most = 0, least = 0;
  for (const auto& batch : batches_) {
    uint64_t common = 0;
    for (const auto& slot : batch->slots)
      common = std::max(
          common, common_tokens(slot->task ? std::span<const int32_t>(slot->task->request.prompt)
                                           : cached_tokens(slot->generator.summary()),
                                prompt));
    for (const auto& slot : batch->slots) {
      if (slot->task) continue;
      const auto cached = cached_tokens(slot->generator.summary());
      const uint64_t lost = cached.size() - common_tokens(cached, prompt);
      if (best && (common < most || (common == most && lost >= least))) continue;
      best = slot.get(), most = common, least = lost;
    }
  }
  return best;
}

void LanguageModel::work(Batch& batch) {
  const auto has_task = [](const auto& slot) { return slot->task != nullptr; };
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    batch.wake.wait(lock, [&] {
      return stops_ || std::any_of(batch.slots.begin(), batch.slots.end(), has_task);
    });
    if (std::none_of(batch.slots.begin(), batch.slots.end(), has_task)) return;
    for (auto& slot : batch.slots)
      if (slot->task && !slot->answer) {
        slot->answer = slot->task.get();
        slot->has_begun = false;
        slot->is_taken = true;
      }
    lock.unlock();
    step(batch);
    lock.lock();
    for (auto& slot : batch.slots) {
      if (slot->answer || !slot->is_taken) continue;  // or its task came during the step
      slot->is_taken = false;
      const std::shared_ptr<AnswerTask> ended = std::move(slot->task);
      if (queue_.empty()) continue;
      slot->task = std::move(queue_.front());
      queue_.pop_front();
    }
  }
}

/// Of a lone answer no run is longer than its own time.
uint64_t LanguageModel::run_deadline(const Batch& batch) const {
  uint64_t until = max_run_ns_ ? ingot_clock_ns() + max_run_ns_ : 0, answers = 0;
  const AnswerTask* last = nullptr;
  for (const auto& slot : batch.slots)
    if (slot->answer) last = slot->answer, answers++;
  if (answers == 1 && (!until || last->deadline_ns < until)) until = last->deadline_ns;
  return until;
}

template <class What>
void LanguageModel::guarded(Slot& slot, What&& what) {
  AnswerTask& task = *slot.answer;
  try {
    what();
    return;
  } catch (const ServeError& error) {
    const bool is_over = error.why() == Refusal::kDeadline && ingot_clock_ns() >= task.deadline_ns;
    end(task, error.why(),
        is_over ? "the answer took longer than ingot serve --max-answer-seconds" : error.text());
  } catch (const std::exception&) {
    end(task, Refusal::kBusy, "out of memory; try again later");
  }
  slot.generator.cancel();  // later runs leave it out
  slot.answer = nullptr;
}

/// One run for all answers of the batch, and their tokens.
void LanguageModel::step(Batch& batch) {
  for (auto& slot : batch.slots)
    if (slot->answer)
      guarded(*slot, [&] {
        if (!slot->has_begun) begin(*slot);
        if (slot->answer->is_gone()) refuse(Refusal::kCancelled, "the client has gone");
        if (slot->answer->deadline_ns <= ingot_clock_ns()) refuse(Refusal::kDeadline, "");
      });
  const auto left = batch.generator.step(run_deadline(batch));
  batch.computed.clear();
  for (auto& slot : batch.slots)
    if (slot->answer)
      guarded(*slot, [&] {
        if (!left) refuse_by(left.error());
        const ingot_generator_summary now = slot->generator.summary();
        slot->cached = now.cached;
        if (now.cached == now.token_count) batch.computed.push_back(slot.get());
      });
  batch.workers.run(batch.computed.size(), [&](size_t i) {
    Slot& slot = *batch.computed[i];
    guarded(slot, [&] { add_token(slot); });
  });
}

void LanguageModel::begin(Slot& slot) {
  AnswerTask& task = *slot.answer;
  const AnswerRequest& r = task.request;
  slot.began_ns = ingot_clock_ns();
  slot.has_begun = slot.is_first = true;
  slot.proposed = slot.accepted = 0;
  std::vector<const char*> stops;
  for (const std::string& text : r.stop_texts) stops.push_back(text.c_str());
  ingot_answer_options options = answer_options();
  options.settings = r.settings.data();
  options.setting_count = r.settings.size();
  options.seed = r.seed;
  options.biases = r.biases.data();
  options.bias_count = r.biases.size();
  options.stop_texts = stops.data();
  options.stop_text_count = stops.size();
  options.tokens = r.tokens;
  options.lookup = int32_t(std::min<uint64_t>(settings_.lookup, slot.generator.summary().lookup));
  if (r.ignores_end) options.flags |= INGOT_ANSWER_IGNORE_END;
  if (!r.grammar.empty()) {
    const auto is_set = slot.constraint.set(r.grammar.data(), r.grammar.size());
    if (!is_set) refuse_by(is_set.error());
    options.constraint = slot.constraint.get();
  }
  const auto reused = slot.generator.begin(r.prompt, options);
  if (!reused) refuse_by(reused.error());
  task.counts.prompt = r.prompt.size();
  task.counts.cached = *reused;
  slot.logprobs.resize(size_t(r.top_logprobs + 1));
  task.begin();
}

ingot_token LanguageModel::next(Slot& slot) {
  const auto token = slot.generator.next();
  if (!token && token.error().code == INGOT_NOT_FOUND && strstr(token.error().field, "grammar"))
    refuse(Refusal::kInvalid, "a dead end: no token of the model fits the form of the answer here");
  if (!token && token.error().code == INGOT_NOT_FOUND)
    refuse(Refusal::kInvalid, "no token is left: the logit of each is -infinity", "logit_bias");
  if (!token && token.error().code == INGOT_INVALID_ARGUMENT)
    refuse(Refusal::kInternal, "a logit is not a number: " + token.error().text());
  if (!token) refuse_by(token.error());
  if (!slot.logprobs.empty()) {
    Error error;
    if (ingot_generator_logprobs(slot.generator.get(), token->id, slot.logprobs.data(),
                                 slot.logprobs.size(), &error))
      refuse_by(error);
  }
  return *token;
}

void LanguageModel::add_token(Slot& slot) {
  AnswerTask& task = *slot.answer;
  const ingot_token token = next(slot);
  AnswerPiece piece;
  piece.id = token.id;
  piece.is_control = token.end == INGOT_END_CONTROL;
  piece.text = {token.text, token.text_bytes};
  piece.logprobs = slot.logprobs;
  task.counts.generated += !piece.is_control;
  const uint64_t now = ingot_clock_ns();
  const ingot_generator_summary drafted = slot.generator.summary();
  {
    const std::lock_guard<std::mutex> lock(statistics_mutex_);
    AnswerStatistics& s = statistics_;
    s.generated_tokens += !piece.is_control;
    s.proposed_tokens += drafted.proposed - slot.proposed;
    s.accepted_tokens += drafted.accepted - slot.accepted;
    s.later_tokens += !slot.is_first;
    (slot.is_first ? s.prompt_ns : s.generation_ns) += now - slot.began_ns;
    if (slot.is_first) {
      s.prompt_tokens += task.counts.prompt;
      s.cached_tokens += task.counts.cached;
      s.first_token.add(now - task.queued_ns);
      s.first_tokens.add(now - task.queued_ns);
    }
  }
  slot.began_ns = now;
  slot.is_first = false;
  slot.proposed = drafted.proposed, slot.accepted = drafted.accepted;
  task.add(piece);
  if (token.end == INGOT_END_NONE) return;
  {
    const std::lock_guard<std::mutex> lock(statistics_mutex_);
    statistics_.ok++;
  }
  slot.answer = nullptr;
  task.stop_text = token.stop_text;
  task.end(token.end);
}

void LanguageModel::end(AnswerTask& task, Refusal why, const std::string& text) {
  count_refused(why);
  task.fail(why, text);
}

/// Ends answers in the queue whose time is over, and those that nobody waits for.
void LanguageModel::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!watch_stops_) {
    const bool is_idle = queue_.empty() && std::none_of(slots_.begin(), slots_.end(),
                                                        [](const Slot* s) { return !!s->task; });
    if (is_idle) {
      watch_wake_.wait(lock);
      continue;
    }
    for (Slot* const slot : slots_)
      if (slot->task && slot->task->is_gone()) slot->generator.cancel();
    std::vector<std::shared_ptr<AnswerTask>> ended;
    const uint64_t now = ingot_clock_ns();
    std::erase_if(queue_, [&](const auto& task) {
      const bool ends = task->is_gone() || task->deadline_ns <= now;
      if (ends) ended.push_back(task);
      return ends;
    });
    lock.unlock();
    for (const auto& task : ended) {
      if (task->is_gone())
        end(*task, Refusal::kCancelled, "the client has gone");
      else
        end(*task, Refusal::kDeadline, "the time of the request was over while it waited");
    }
    ended.clear();
    lock.lock();
    if (!watch_stops_) watch_wake_.wait_for(lock, kWatch);
  }
}

void LanguageModel::count_refused(Refusal why) {
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
  AnswerStatistics& s = statistics_;
  if (is_of_client(why))
    s.invalid++;
  else if (why == Refusal::kBusy)
    s.refused++;
  else if (why == Refusal::kDeadline)
    s.late++;
  else if (why == Refusal::kCancelled)
    s.cancelled++;
  else
    s.failed++;
}

AnswerStatistics LanguageModel::statistics() const {
  AnswerStatistics all;
  {
    const std::lock_guard<std::mutex> lock(statistics_mutex_);
    all = statistics_;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  all.queued = queue_.size();
  all.slots = slots_.size();
  all.bytes = slot_bytes_;
  all.cache_capacity = slots_.size() * context_;
  for (const Slot* const slot : slots_) {
    all.running += slot->task != nullptr;
    all.cache_tokens += slot->cached;
  }
  return all;
}

}  // namespace ingot::serve
