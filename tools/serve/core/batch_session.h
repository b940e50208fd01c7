// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/batch_session.h - a session that computes several requests in one run: their
// rows side by side in the arena, the batch dimension bound to as many as there are. After the
// first requests it allocates nothing.
// Threads  one at a time.
#pragma once
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.hpp"
#include "tools/serve/core/job.h"
#include "tools/serve/core/model_ports.h"

namespace ingot::serve {

struct SessionSettings {
  std::string device = "auto";
  int32_t threads = 0;
  uint64_t max_run_ns = 0;          // of one run; 0: any
  uint64_t max_steps = UINT64_MAX;  // instructions of one run, by ingot_requirements.steps
};

/// Where a run of such a session is more instructions than allowed. @throws ServeError
void refuse_steps(const Model& model, const ingot_session_options& options, uint64_t max_steps);

class BatchSession {
 public:
  /// @throws ServeError kUnavailable; kUnsupported: a run is more instructions than allowed
  BatchSession(const Model& model, const ModelPorts& ports, const SessionSettings& settings);

  /// Computes jobs that agree, and leaves results or failures in them. Where a run of several
  /// fails, each is run alone, so that only the one at fault fails. @pre the rows fit max_rows();
  /// of a model with state there is one job, which has its sequence
  void run(Job* const* jobs, size_t count);
  /// Ends the run in progress. Any thread. Where a job is not `gone`, it is run again.
  void cancel() { session_.cancel(); }
  uint64_t arena_bytes() const { return session_.requirements().arena_bytes; }

 private:
  /// The failure of all, or "".
  std::string bind(const Job& first, int64_t rows);
  void write_inputs(Job* const* jobs, size_t count);
  /// Of a model with state, around the run of a request: the sequence's state into the session and
  /// out of it.
  bool enter_sequence(Job* job);
  void leave_sequence(Job* job);
  enum class Ran { kEnded, kEachAlone, kAgain };
  Ran run_session(Job* const* jobs, size_t count);
  void read_outputs(Job* const* jobs, size_t count);

  const ModelPorts& ports_;
  const uint64_t max_run_ns_;
  Session session_;
  std::vector<ingot_binding> bindings_;
  std::vector<ingot_tensor> inputs_;
};

}  // namespace ingot::serve
