// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/served_model.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "runtime/include/ingot/cpu.h"
#include "tools/files/input_file.h"
#include "tools/serve/core/row_independence.h"

namespace ingot::serve {
namespace {

Model open(const std::string& path, const ModelSettings& settings) {
  ingot_open_options options = open_options(ingot_cpu_kernels(nullptr));
  if (!options.kernels)
    refuse(Refusal::kUnavailable, "INGOT_CPU_ISA names kernels that this processor has not");
  options.map = settings.map;
  host::remember_input(path);
  auto model = Model::open(path.c_str(), options);
  if (!model) refuse(Refusal::kUnavailable, path + ": " + model.error().text());
  return std::move(*model);
}

std::string stuck_text(const std::string& name) {
  return "model '" + name +
         "': a run goes on beyond its deadline, in one instruction, on each "
         "instance";
}

uint64_t milliseconds_since_1970() {
  using namespace std::chrono;
  return uint64_t(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace

ServedModel::ServedModel(std::string name, std::string version, const std::string& path,
                         const ModelSettings& settings)
    : name_(std::move(name)),
      version_(std::move(version)),
      model_(open(path, settings)),
      ports_(model_, settings.max_rows),
      settings_(settings),
      sequences_(settings.max_sequences, settings.sequence_idle_ns) {
  struct stat file {};
  if (stat(path.c_str(), &file) == 0) created_ = int64_t(file.st_mtime);
  if (settings.slots.count) {
    const std::string draft = std::filesystem::path(path).replace_filename("draft.ingot").string();
    if (std::filesystem::exists(draft)) draft_ = open(draft, settings);
    language_ =
        LanguageModel::open(model_, draft_, name_, settings.session, settings.slots, &no_language_);
  }
  const uint32_t by_default = language_ ? 0 : 1;  // slots have the caches already
  const uint32_t count = settings.instances ? settings.instances : by_default;
  for (uint32_t i = 0; i < count; i++) {
    instances_.push_back(std::make_unique<Instance>());
    auto& session = instances_.back()->session;
    session = std::make_unique<BatchSession>(model_, ports_, settings.session);
    arena_bytes_ += session->arena_bytes();
  }
  embedding_ = EmbeddingModel::open(model_, &no_embedding_);
  start();
}

/// A model that does not come back from its trial is served nevertheless: without joining, and by
/// its other instances.
void ServedModel::start() {
  const bool tries = settings_.joins && ports_.max_rows() > 1 && !instances_.empty();
  for (auto& instance : instances_)
    threads_.emplace_back([this, &instance, tries] {
      if (tries && instance == instances_[0]) try_joining();
      work(*instance);
    });
  watch_ = std::thread([this] { watch(); });
  if (!tries) return;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto most = std::chrono::nanoseconds(2 * kTrialNs);
  instances_[0]->is_stuck = !tried_.wait_for(lock, most, [&] { return has_tried_; });
}

void ServedModel::try_joining() {
  joins_ = rows_are_independent(ports_, instances_[0]->session.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  has_tried_ = true;
  instances_[0]->is_stuck = false;
  tried_.notify_all();
}

bool ServedModel::is_stuck() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(instances_.begin(), instances_.end(),
                     [](const auto& instance) { return instance->is_stuck; });
}

bool ServedModel::is_busy_for_good() const {
  return std::all_of(instances_.begin(), instances_.end(),
                     [](const auto& instance) { return instance->is_stuck; });
}

ServedModel::~ServedModel() { end_threads(); }

void ServedModel::end_threads() {
  if (language_) language_->end_threads();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (!watch_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    watch_stops_ = true;
  }
  watch_wake_.notify_all();
  watch_.join();
}

void ServedModel::submit(Job* job) {
  if (instances_.empty())
    refuse(Refusal::kUnsupported, "model '" + name_ +
                                      "' has slots alone, for /v1; for other runs: ingot serve "
                                      "--instances 1, or --slots 0");
  ports_.resolve(job);
  job->queued_ns = ingot_clock_ns();
  job->deadline_ns = job->timeout_ns ? job->queued_ns + job->timeout_ns : 0;
  job->failed = false;
  job->gone = false;
  job->next = nullptr;
  bool wakes_watch = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (queued_ >= settings_.max_queued)
      refuse(Refusal::kBusy, "model '" + name_ + "': " + std::to_string(queued_) +
                                 " requests wait already; try again later");
    if (is_busy_for_good()) refuse(Refusal::kUnavailable, stuck_text(name_));
    if (ports_.has_state())
      job->sequence = sequences_.enter(job->sequence_id, job->starts_sequence, job->ends_sequence);
    (last_ ? last_->next : first_) = job;
    last_ = job;
    queued_++;
    wakes_watch = watch_sleeps_;
    watch_sleeps_ = false;
  }
  wake_.notify_one();
  if (wakes_watch) watch_wake_.notify_one();
}

void ServedModel::count_refused(Refusal why) {
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
  if (is_of_client(why)) {
    statistics_.invalid++;
    return;
  }
  statistics_.failure.count++;
  statistics_.refused += why == Refusal::kBusy;
}

/// Takes from the queue what may run with jobs->front(), and what is late. @pre mutex_ is held
void ServedModel::take_compatible(std::vector<Job*>* jobs, int64_t* rows, Job** late) {
  const uint64_t now = ingot_clock_ns();
  Job* before = nullptr;
  for (Job* job = first_; job;) {
    Job* const next = job->next;
    const bool is_late = job->deadline_ns && job->deadline_ns < now;
    const bool waits = job->sequence && job->sequence->runs;  // for the one before it
    const bool is_taken = !is_late && !waits &&
                          (jobs->empty() || (joins_ && *rows + job->rows <= ports_.max_rows() &&
                                             ports_.agree(*jobs->front(), *job)));
    if (is_late || is_taken) {
      (before ? before->next : first_) = next;
      if (last_ == job) last_ = before;
      queued_--;
      job->next = nullptr;
      if (is_late) {
        job->next = *late, *late = job;
      } else {
        jobs->push_back(job);
        if (job->sequence) job->sequence->runs = true;
        running_++;
        *rows += job->rows;
        job->started_ns = now;
      }
    } else {
      before = job;
    }
    if (!jobs->empty() && (!joins_ || *rows >= ports_.max_rows())) break;
    job = next;
  }
}

void ServedModel::work(Instance& instance) {
  std::vector<Job*>&jobs = instance.jobs, done;
  jobs.reserve(size_t(std::max<int64_t>(ports_.max_rows(), 1)));
  done.reserve(jobs.capacity());
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return first_ || stops_; });
    if (!first_) return;
    int64_t rows = 0;
    Job* late = nullptr;
    take_compatible(&jobs, &rows, &late);
    if (jobs.empty() && !late) {  // all that is queued waits for others of its sequence
      wake_.wait(lock);
      continue;
    }
    if (!jobs.empty() && joins_ && settings_.delay_ns && !stops_) {
      const uint64_t until = jobs.front()->queued_ns + settings_.delay_ns;
      while (rows < ports_.max_rows() && !stops_) {
        const uint64_t now = ingot_clock_ns();
        if (now >= until) break;
        wake_.wait_for(lock, std::chrono::nanoseconds(until - now));
        take_compatible(&jobs, &rows, &late);
      }
    }
    lock.unlock();
    end_unrun(late);
    if (!jobs.empty()) {
      try {
        instance.session->run(jobs.data(), jobs.size());
      } catch (const std::exception&) {  // a text that fits into any string
        for (Job* job : jobs) job->fail(Refusal::kBusy, "out of memory");
      }
      record(jobs, rows);
    }
    lock.lock();
    done.swap(jobs);
    instance.is_stuck = false;
    lock.unlock();
    for (Job* job : done) {
      if (!job->is_abandoned) {
        end(job, true);
        continue;
      }
      leave_sequence(job, true);
      count_late(*job);
      job->discard(job);
    }
    lock.lock();
    running_ -= done.size();
    done.clear();
    if (first_) wake_.notify_one();
  }
}

void ServedModel::end_unrun(Job* list) {
  while (Job* const job = list) {
    list = job->next;
    job->run_ns = job->ran_ns = job->started_ns = ingot_clock_ns();
    if (job->gone)
      job->fail(Refusal::kCancelled, "the client has gone");
    else if (!job->deadline_ns || job->deadline_ns > ingot_clock_ns())
      job->fail(Refusal::kUnavailable, stuck_text(name_));
    else
      job->fail(Refusal::kDeadline, "the time of the request was over while it waited");
    end(job, false);
  }
}

namespace {

bool has_gone(Job* job) {
  if (!job->gone && job->is_gone && job->is_gone(job->user)) job->gone = true;
  return job->gone;
}

constexpr uint64_t kWatchNs = 20000000;
constexpr uint64_t kGraceNs = 1000000000;  // after which a run that was stopped still goes on

}  // namespace

/// Gives up a run that is beyond its deadline, where all of its jobs can be given up.
/// @pre mutex_ is held
void ServedModel::abandon(Instance& instance, uint64_t now, std::vector<Job*>* abandoned) {
  if (instance.is_stuck) return;
  const uint64_t most = settings_.session.max_run_ns;
  for (const Job* job : instance.jobs) {
    const uint64_t begun = job->started_ns + settings_.delay_ns;
    const uint64_t until = most ? begun + most : job->deadline_ns;
    if (!until || now < until + kGraceNs || !job->abandoned || !job->discard) return;
  }
  instance.is_stuck = true;
  for (Job* job : instance.jobs) {
    job->is_abandoned = true;
    abandoned->push_back(job);
  }
}

/// What leaves the queue, and when it is to be looked at again. @pre mutex_ is held
uint64_t ServedModel::sweep(Job** ended, std::vector<Job*>* abandoned) {
  const uint64_t now = ingot_clock_ns();
  const bool ends_all = is_busy_for_good();
  uint64_t next = now + kWatchNs;
  Job* before = nullptr;
  for (Job* job = first_; job;) {
    Job* const behind = job->next;
    if (ends_all || has_gone(job) || (job->deadline_ns && job->deadline_ns <= now)) {
      (before ? before->next : first_) = behind;
      if (last_ == job) last_ = before;
      queued_--;
      job->next = *ended, *ended = job;
    } else {
      if (job->deadline_ns) next = std::min(next, job->deadline_ns);
      before = job;
    }
    job = behind;
  }
  for (const auto& instance : instances_) {
    if (instance->jobs.empty()) continue;
    bool all = true;
    for (Job* job : instance->jobs) all = has_gone(job) && all;
    if (all) instance->session->cancel();
    abandon(*instance, now, abandoned);
  }
  return next;
}

void ServedModel::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!watch_stops_) {
    if (!first_ && !running_) {
      watch_sleeps_ = true;
      watch_wake_.wait(lock, [&] { return !watch_sleeps_ || watch_stops_; });
      watch_sleeps_ = false;
    }
    Job* ended = nullptr;
    std::vector<Job*> abandoned;
    const uint64_t next = sweep(&ended, &abandoned);
    // copied before the run may end and hand the jobs to others
    std::vector<std::pair<void (*)(void*), void*>> calls;
    for (const Job* job : abandoned) calls.emplace_back(job->abandoned, job->user);
    if (ended || !calls.empty()) {
      lock.unlock();
      end_unrun(ended);
      for (const auto& [call, user] : calls) call(user);
      lock.lock();
    }
    const uint64_t now = ingot_clock_ns();
    if (next > now && !watch_stops_)
      watch_wake_.wait_for(lock, std::chrono::nanoseconds(next - now));
  }
}

void ServedModel::record(const std::vector<Job*>& jobs, int64_t rows) {
  const uint64_t now = ingot_clock_ns();
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
  const Job& first = *jobs.front();
  BatchStatistics& batch = statistics_.batches[rows];
  batch.input.add(first.run_ns - first.started_ns);
  batch.infer.add(first.ran_ns - first.run_ns);
  batch.output.add(now - first.ran_ns);
  statistics_.executions++;
}

void ServedModel::leave_sequence(Job* job, bool ran) {
  if (!job->sequence) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  sequences_.leave(job->sequence_id, job->sequence, ran);
  wake_.notify_all();  // the next one of the sequence may be what all threads wait for
}

void ServedModel::count_late(const Job& job) {
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
  statistics_.failure.add(ingot_clock_ns() - job.queued_ns);
  statistics_.late++;
}

void ServedModel::end(Job* job, bool ran) {
  leave_sequence(job, ran);
  job->ended_ns = ingot_clock_ns();
  {
    const std::lock_guard<std::mutex> lock(statistics_mutex_);
    Statistics& s = statistics_;
    if (job->failed && is_of_client(job->why)) {
      s.invalid++;
    } else if (job->failed && job->why == Refusal::kCancelled) {
      s.cancelled++;
    } else if (job->failed) {
      s.failure.add(job->ended_ns - job->queued_ns);
      s.late += job->why == Refusal::kDeadline;
    } else {
      s.success.add(job->ended_ns - job->queued_ns);
      s.latencies.add(job->ended_ns - job->queued_ns);
      s.queue.add(job->started_ns - job->queued_ns);
      s.input.add(job->run_ns - job->started_ns);
      s.infer.add(job->ran_ns - job->run_ns);
      s.output.add(job->ended_ns - job->ran_ns);
      s.inferences += uint64_t(job->rows);
      s.last_ms = milliseconds_since_1970();
    }
  }
  job->ended(job->user, job);
}

Statistics ServedModel::statistics() const {
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
  return statistics_;
}

size_t ServedModel::sequence_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sequences_.count();
}

uint64_t ServedModel::sequence_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sequences_.bytes();
}

size_t ServedModel::queued() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queued_;
}

size_t ServedModel::running() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return running_;
}

}  // namespace ingot::serve
