#include "tools/serve/core/served_model.h"

#include <algorithm>
#include <chrono>
#include <cstring>

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
  for (uint32_t i = 0; i < settings.instances; i++) {
    sessions_.push_back(std::make_unique<BatchSession>(model_, ports_, settings.session));
    arena_bytes_ += sessions_.back()->arena_bytes();
  }
  joins_ =
      settings.joins && ports_.max_rows() > 1 && rows_are_independent(ports_, sessions_[0].get());
  for (auto& session : sessions_) threads_.emplace_back([this, &session] { work(*session); });
}

ServedModel::~ServedModel() { end_threads(); }

void ServedModel::end_threads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ServedModel::submit(Job* job) {
  ports_.resolve(job);
  job->queued_ns = ingot_clock_ns();
  job->deadline_ns = job->timeout_ns ? job->queued_ns + job->timeout_ns : 0;
  job->failed = false;
  job->next = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (queued_ >= settings_.max_queued)
      refuse(Refusal::kBusy, "model '" + name_ + "': " + std::to_string(queued_) +
                                 " requests wait already; try again later");
    if (ports_.has_state())
      job->sequence = sequences_.enter(job->sequence_id, job->starts_sequence, job->ends_sequence);
    (last_ ? last_->next : first_) = job;
    last_ = job;
    queued_++;
  }
  wake_.notify_one();
}

void ServedModel::count_refused(Refusal why) {
  const std::lock_guard<std::mutex> lock(statistics_mutex_);
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

void ServedModel::work(BatchSession& session) {
  std::vector<Job*> jobs;
  jobs.reserve(size_t(std::max<int64_t>(ports_.max_rows(), 1)));
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return first_ || stops_; });
    if (!first_) return;
    jobs.clear();
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
    while (late) {
      Job* const job = late;
      late = job->next;
      job->run_ns = job->ran_ns = job->started_ns = ingot_clock_ns();
      job->fail(Refusal::kDeadline, "the time of the request was over while it waited");
      end(job, false);
    }
    if (!jobs.empty()) {
      try {
        session.run(jobs.data(), jobs.size());
      } catch (const std::exception&) {  // a text that fits into any string
        for (Job* job : jobs) job->fail(Refusal::kBusy, "out of memory");
      }
      record(jobs, rows);
      for (Job* job : jobs) end(job, true);
    }
    lock.lock();
    running_ -= jobs.size();
    if (first_) wake_.notify_one();
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

void ServedModel::end(Job* job, bool ran) {
  if (job->sequence) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sequences_.leave(job->sequence_id, job->sequence, ran);
    wake_.notify_all();  // the next one of the sequence may be what all threads wait for
  }
  job->ended_ns = ingot_clock_ns();
  {
    const std::lock_guard<std::mutex> lock(statistics_mutex_);
    Statistics& s = statistics_;
    if (job->failed) {
      s.failure.add(job->ended_ns - job->queued_ns);
      s.late += job->why == Refusal::kDeadline;
    } else {
      s.success.add(job->ended_ns - job->queued_ns);
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

size_t ServedModel::queued() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queued_;
}

size_t ServedModel::running() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return running_;
}

}  // namespace ingot::serve
