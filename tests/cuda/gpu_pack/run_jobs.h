// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/run_jobs.h - runs the jobs of a part, and those of the CPU beside it, until
// they are done or their time is over; nothing that a process does or does not do stops it.
// Owns     the processes that run.
#pragma once
#include <csignal>
#include <deque>
#include <memory>
#include <set>

#include "tests/cuda/gpu_pack/plan.h"
#include "tests/cuda/gpu_pack/results.h"

namespace ingot::pack {

/// Set by signals: everything ends, with a report.
extern volatile std::sig_atomic_t stop_signal;

class Jobs {
 public:
  Jobs(Results* results, const Part& beside) : results_(*results), beside_(beside) {
    for (const Job& job : beside.jobs) {  // predictions of an earlier call are there
      const Outcome* const known = results_.outcome(beside.name, job.name);
      if (!known || known->state != "done" || job.name.rfind("why.", 0) != 0)
        waiting_beside_.push_back(&job);
    }
  }
  ~Jobs() { end_all(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Until its jobs are done or `seconds` are over. `again`: failures of earlier calls too.
  void run(const Part& part, double seconds, bool again);
  /// Ends all that runs, also beside.
  void end_all();
  /// Graphs from here on, by the name of the rung.
  std::string rung = "full";

 private:
  struct Running {
    const Part* part;
    const Job* job;
    std::unique_ptr<Child> child;
    std::string log, why_ended, case_begun;
    size_t rung = 0;  // beyond that of all
    Clock::time_point progress_at = Clock::now();
    size_t progress_bytes = 0;
  };

  void begin(const Part& part, const Job& job, size_t rung);
  void watch(Running* running, bool is_over);
  void finish(Running* running, Child::State state);
  bool finish_shard(const Running& running, Child::State state, Outcome* outcome);
  void retreat(const Running& running, Outcome* outcome);
  bool is_ready(const Job& job, bool* never) const;
  void look(std::vector<Running>* running, bool is_over);
  void begin_beside();
  void note_part(const Part& part, PartState* state) const;

  Results& results_;
  const Part& beside_;
  std::deque<const Job*> waiting_, waiting_beside_;
  std::vector<Running> running_, running_beside_;
  std::map<std::string, int> crashes_;  // of a shard, one after the other
  std::vector<std::pair<const Job*, size_t>> retry_;
  Clock::time_point written_ = Clock::now();
};

/// What a doctest log says of each failure: case, check, numbers, kernels and grids.
std::vector<std::string> read_failures(const std::string& text);
/// Of the line "gpu {...}" in a log of gpu_runner; false: there is none.
bool read_figure(const std::string& text, Figure* out);
/// All figures that logs of part replays have, with their predictions.
void collect_figures(const std::vector<Network>& networks, Results* results);

}  // namespace ingot::pack
