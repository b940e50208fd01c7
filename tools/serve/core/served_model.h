// tools/serve/core/served_model.h - one version of a model: its sessions, the queue before them,
// and the threads that join requests and run them.
// Threads  any, but for the destructor, which waits for the model's own.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/core/batch_session.h"
#include "tools/serve/core/job.h"
#include "tools/serve/core/model_ports.h"
#include "tools/serve/core/statistics.h"

namespace ingot::serve {

struct ModelSettings {
  SessionSettings session;
  ingot_map map = INGOT_MAP_SHARE;
  int64_t max_rows = 8;    // of a batch
  uint32_t instances = 1;  // sessions, each with a thread
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
  uint64_t arena_bytes() const { return arena_bytes_; }

  /// Checks and queues; job->ended is called when it has ended. @throws ServeError, and the job is
  /// the caller's again
  void submit(Job* job);
  /// When what is queued has run. Nothing may be submitted any more.
  void end_threads();
  /// A request that was refused before it was queued.
  void count_refused(Refusal why);
  Statistics statistics() const;
  size_t queued() const;
  /// Requests that were taken from the queue: they wait for others to join them, or run.
  size_t running() const;

 private:
  void work(BatchSession& session);
  void take_compatible(std::vector<Job*>* jobs, int64_t* rows, Job** late);
  void end(Job* job, bool ran);
  void record(const std::vector<Job*>& jobs, int64_t rows);

  std::string name_, version_;
  Model model_;
  ModelPorts ports_;
  ModelSettings settings_;
  bool joins_ = false;
  uint64_t arena_bytes_ = 0;
  std::vector<std::unique_ptr<BatchSession>> sessions_;
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  Job *first_ = nullptr, *last_ = nullptr;
  size_t queued_ = 0, running_ = 0;
  Sequences sequences_;
  bool stops_ = false;

  mutable std::mutex statistics_mutex_;
  Statistics statistics_;
};

}  // namespace ingot::serve
