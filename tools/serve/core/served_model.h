// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/served_model.h - one version of a model: its sessions, the queue before them,
// and the threads that join requests and run them.
// Threads  any, but for the destructor, which waits for the model's own.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/core/batch_session.h"
#include "tools/serve/core/embedding_model.h"
#include "tools/serve/core/job.h"
#include "tools/serve/core/language_model.h"
#include "tools/serve/core/model_ports.h"
#include "tools/serve/core/statistics.h"

namespace ingot::serve {

struct ModelSettings {
  SessionSettings session;
  SlotSettings slots;
  ingot_map map = INGOT_MAP_SHARE;
  int64_t max_rows = 8;    // of a batch
  uint32_t instances = 0;  // sessions, each with a thread; 0: 1, and of slots none beside them
  size_t max_queued = 256;
  uint64_t delay_ns = 0;  // a request waits for others to be joined with
  bool joins = true;
  size_t max_sequences = 256;  // of a model with state
  uint64_t sequence_idle_ns = 60000000000u;
};

class ServedModel {
 public:
  /// Opens, makes the sessions, and tries whether requests may be joined.
  /// @throws ServeError kUnavailable, kUnsupported
  ServedModel(std::string name, std::string version, const std::string& path,
              const ModelSettings& settings);
  /// @pre no job is queued
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const ModelPorts& ports() const { return ports_; }
  /// Whether requests are joined: two items computed together gave the bits that they gave alone.
  bool joins() const { return joins_; }
  /// False: it is a language model whose slots are all it has.
  bool has_instances() const { return !instances_.empty(); }
  /// Whether a thread of its own may not end for long: the destructor would wait for it.
  bool is_stuck() const;
  uint64_t arena_bytes() const { return arena_bytes_; }
  /// When its file was written, in seconds since 1970.
  int64_t created() const { return created_; }
  /// Of a language model; null of another.
  LanguageModel* language() const { return language_.get(); }
  /// Why it is null.
  const std::string& no_language() const { return no_language_; }
  /// The same of an embedding model.
  const EmbeddingModel* embedding() const { return embedding_.get(); }
  const std::string& no_embedding() const { return no_embedding_; }

  /// Checks and queues; job->ended is called when it has ended. @throws ServeError, and the job is
  /// the caller's again
  void submit(Job* job);
  /// When what is queued has run. Nothing may be submitted any more.
  void end_threads();
  /// A request that was refused before it was queued.
  void count_refused(Refusal why);
  Statistics statistics() const;
  size_t queued() const;
  size_t sequence_count() const;
  uint64_t sequence_bytes() const;
  /// Requests that were taken from the queue: they wait for others to join them, or run.
  size_t running() const;

 private:
  /// A session, and what it computes: `jobs` are changed by the instance's thread alone, with
  /// mutex_ held.
  struct Instance {
    std::unique_ptr<BatchSession> session;
    std::vector<Job*> jobs;
    bool is_stuck = false;  // in one instruction, beyond every deadline
  };

  void start();
  void try_joining();
  void work(Instance& instance);
  /// Ends jobs in the queue whose time is over, and all jobs whose clients have gone, while the
  /// instances are busy with others.
  void watch();
  uint64_t sweep(Job** ended, std::vector<Job*>* abandoned);
  void abandon(Instance& instance, uint64_t now, std::vector<Job*>* abandoned);
  bool is_busy_for_good() const;
  void end_unrun(Job* list);
  void leave_sequence(Job* job, bool ran);
  void count_late(const Job& job);
  void take_compatible(std::vector<Job*>* jobs, int64_t* rows, Job** late);
  void end(Job* job, bool ran);
  void record(const std::vector<Job*>& jobs, int64_t rows);

  std::string name_, version_;
  Model model_, draft_;  // draft: empty, or of a language model
  ModelPorts ports_;
  ModelSettings settings_;
  std::atomic<bool> joins_{false};
  uint64_t arena_bytes_ = 0;
  int64_t created_ = 0;
  std::string no_language_ = "there are no slots for it: ingot serve --slots 0";
  std::unique_ptr<LanguageModel> language_;
  std::string no_embedding_;
  std::unique_ptr<EmbeddingModel> embedding_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::thread> threads_;
  std::thread watch_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  Job *first_ = nullptr, *last_ = nullptr;
  size_t queued_ = 0, running_ = 0;
  Sequences sequences_;
  bool stops_ = false, watch_stops_ = false, watch_sleeps_ = false;
  bool has_tried_ = false;  // whether rows may be joined
  std::condition_variable watch_wake_, tried_;

  mutable std::mutex statistics_mutex_;
  Statistics statistics_;
};

}  // namespace ingot::serve
