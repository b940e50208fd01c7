// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/language_model.h - answers of a language model: its tokenizer and template, its
// slots, and the queue before them. A slot has caches of its own, made at the start: no request
// takes more. The slots of one session (`ingot convert --slots N`, else one) are a batch: a thread
// computes the next token of each in one run, and parts of new prompts with them.
// Threads  any, but for the destructor, which waits for the slots' own.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/core/answer_task.h"
#include "tools/serve/core/batch_session.h"
#include "tools/serve/core/slot_workers.h"
#include "tools/serve/core/statistics.h"

namespace ingot::serve {

struct SlotSettings {
  uint32_t count = 0;    // answers at once; 0: none, also of a language model
  uint32_t lookup = 63;  // ingot_answer_options.lookup at most
  size_t max_queued = 64;
  uint64_t max_answer_ns = 600000000000u;  // from its request to its last token
  // from here on a token takes longer to choose than a thread to wake
  uint64_t large_vocabulary = 8192;
};

struct AnswerStatistics {
  uint64_t ok = 0, invalid = 0, refused = 0, late = 0, cancelled = 0, failed = 0;
  uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  uint64_t proposed_tokens = 0, accepted_tokens = 0;            // by look-up
  uint64_t prompt_ns = 0, generation_ns = 0, later_tokens = 0;  // than an answer's first
  Histogram first_token;                                        // from the request
  Duration first_tokens;
  // now
  uint64_t queued = 0, running = 0, slots = 0;
  uint64_t bytes = 0;  // of the slots, without the weights that they share
  uint64_t cache_tokens = 0, cache_capacity = 0;
  double tokens_per_second() const {
    return generation_ns ? double(later_tokens) * 1e9 / double(generation_ns) : 0;
  }
};

class LanguageModel {
 public:
  /// Null where the file has no tokenizer, or `*why_not` says why it is no language model.
  /// @param draft  empty, or a smaller model that proposes tokens: each batch has a session of it
  /// @throws ServeError kUnavailable
  static std::unique_ptr<LanguageModel> open(const Model& model, const Model& draft,
                                             const std::string& name,
                                             const SessionSettings& session,
                                             const SlotSettings& settings, std::string* why_not);
  ~LanguageModel();
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  const Text& text() const { return text_; }
  uint64_t context() const { return context_; }
  uint64_t vocabulary() const { return vocabulary_; }
  /// Of a request at most: no prompt that fits is longer, as JSON either.
  uint64_t largest_body() const { return (uint64_t{1} << 20) + 64 * context_; }

  /// Of a chat, by the template. @throws ServeError kInvalid
  std::vector<int32_t> encode_chat(const ingot_chat_options& chat) const;
  /// @throws ServeError kInvalid
  std::vector<int32_t> encode(const std::string& text, uint32_t flags = 0) const;

  /// @throws ServeError; the task is then not called
  void submit(const std::shared_ptr<AnswerTask>& task);
  /// When what is queued has ended. Nothing may be submitted any more.
  void end_threads();
  /// A request that was refused before it was queued.
  void count_refused(Refusal why);
  AnswerStatistics statistics() const;

 private:
  struct Batch;
  struct Slot {
    Slot(Batch& owner, SlotGenerator made) : batch(owner), generator(made) {}
    Batch& batch;
    SlotGenerator generator;
    Constraint constraint;
    std::vector<ingot_logprob> logprobs;
    std::atomic<uint64_t> cached{0};   // tokens
    std::shared_ptr<AnswerTask> task;  // guarded by mutex_
    // of the batch's thread, or of the worker that chooses its token
    AnswerTask* answer = nullptr;  // null: it has ended
    bool is_taken = false, has_begun = false, is_first = false;
    uint64_t began_ns = 0;                // the token in the making
    uint64_t proposed = 0, accepted = 0;  // of the answer, as counted so far
  };
  struct Batch {
    Session draft_session, session;
    Generator draft, generator;
    std::vector<std::unique_ptr<Slot>> slots;
    std::vector<Slot*> computed;  // by the last run: their tokens are to be chosen
    SlotWorkers workers;
    std::condition_variable wake;
    std::thread thread;
  };

  LanguageModel(std::string name, const SessionSettings& session, const SlotSettings& settings)
      : name_(std::move(name)), max_run_ns_(session.max_run_ns), settings_(settings) {}
  void add_constraint(Slot* slot);
  /// False: `*why_not` says why the session is of no language model.
  bool add_batch(const Model& model, const ingot_session_options& options, std::string* why_not);
  void count_memory(const Session& session);
  /// @throws ServeError kUnavailable
  void add_draft(Batch* batch, const Model& draft, const ingot_session_options& options);
  void start();
  void work(Batch& batch);
  void step(Batch& batch);
  void begin(Slot& slot);
  void add_token(Slot& slot);
  ingot_token next(Slot& slot);
  /// Does it, and ends the answer where it fails.
  template <class What>
  void guarded(Slot& slot, What&& what);
  void watch();
  /// @pre mutex_ is held
  Slot* idle_slot(const AnswerTask& task);
  void end(AnswerTask& task, Refusal why, const std::string& text);
  uint64_t run_deadline(const Batch& batch) const;

  const std::string name_;
  const uint64_t max_run_ns_;
  const SlotSettings settings_;
  Text text_, draft_text_;
  uint64_t context_ = 0, vocabulary_ = 0, slot_bytes_ = 0;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<Slot*> slots_;  // of all batches
  std::thread watch_;

  mutable std::mutex mutex_;  // of all below, and the slots' tasks
  std::deque<std::shared_ptr<AnswerTask>> queue_;
  bool stops_ = false, watch_stops_ = false;
  std::condition_variable watch_wake_;

  mutable std::mutex statistics_mutex_;
  AnswerStatistics statistics_;
};

}  // namespace ingot::serve
