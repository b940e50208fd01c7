// SPDX-License-Identifier: Apache-2.0
// runtime/session/async.cpp - a run in two halves: started, and waited for. A GPU runs by itself
// where the host decides nothing on the way; elsewhere a thread of the session's does it, if it was
// made with one, and otherwise start is the run.
#include "runtime/device/queue.h"
#include "runtime/session/session.h"

namespace ingot {
namespace {

using Where = QueuedRun::Where;

/// The job of the session's thread.
void run_started(void* session) {
  RunSession* s = static_cast<RunSession*>(session);
  QueuedRun& run = *s->tables.queued;
  run.status = run_on_device(s, &run.detail);
  if (run.ended) run.ended(run.user);
}

/// A device by itself checks what may end a run before it begins, and then never.
Status check_control(RunSession* s, ErrorDetail* detail) {
  if (s->cancel.exchange(0, std::memory_order_relaxed))
    return fail(detail, Code::kCancelled, "run: cancelled");
  if (!s->control.deadline_ns) return {};
  const uint64_t now = os::monotonic_ns();
  return now < s->control.deadline_ns ? Status()
                                      : fail(detail, Code::kDeadlineExceeded, "run: deadline in ns",
                                             s->control.deadline_ns, now);
}

}  // namespace

Status start_background(RunSession* s, ErrorDetail* detail) {
  return s->tables.background->start(run_started, s, detail);
}

Status start_session(RunSession* s, uint64_t deadline_ns, void (*ended)(void*), void* user,
                     ErrorDetail* detail) {
  const bool was_running = s->is_running;
  Status status = begin_run(s, deadline_ns, detail);
  if (!s->is_running || was_running) return status;  // refused
  QueuedRun& run = *s->tables.queued;
  run.ended = ended;
  run.user = user;
  run.status = {};
  if (status.ok() && s->queue) {
    run.where = Where::kDevice;
    status = check_control(s, detail);
    if (status.ok()) status = s->queue->launch(s->device, s->program, ended, user, detail);
  } else if (status.ok() && s->tables.background && s->tables.background->ask()) {
    run.where = Where::kThread;
    run.job = s->tables.background->asked();
  } else if (status.ok()) {
    run.where = Where::kDone;
    run_started(s);  // its result is told by wait
  }
  if (status.ok()) return {};
  run.where = Where::kNowhere;
  return end_run(s, status, detail);
}

Status wait_session(RunSession* s, ErrorDetail* detail) {
  QueuedRun& run = *s->tables.queued;
  if (run.where == Where::kNowhere)
    return fail(detail, Code::kWrongState, "wait: nothing was started");
  if (run.where == Where::kThread && s->tables.background->is_forked())
    return fail(detail, Code::kThreadFailed,
                "wait: in the child of a fork, where the thread that runs is not");
  if (run.where == Where::kThread) s->tables.background->wait(run.job);
  const Where where = run.where;
  run.where = Where::kNowhere;
  if (where == Where::kDevice)
    return end_run(s, s->queue->finish(s->device, s->program, detail), detail);
  if (detail && !run.status.ok()) *detail = run.detail;
  return end_run(s, run.status, detail);
}

Status poll_session(RunSession* s, bool* is_ended, ErrorDetail* detail) {
  const QueuedRun& run = *s->tables.queued;
  *is_ended = true;
  if (run.where == Where::kNowhere)
    return fail(detail, Code::kWrongState, "poll: nothing was started");
  if (run.where == Where::kThread)
    *is_ended = int32_t(s->tables.background->ended() - run.job) >= 0;
  if (run.where == Where::kDevice) *is_ended = s->queue->is_ended(s->device);
  return {};
}

void abandon_started(RunSession* s) {
  if (s->tables.queued && s->tables.queued->where == Where::kThread) cancel_session(s);
  if (s->tables.background) s->tables.background->stop();
  if (s->tables.queued && s->tables.queued->where == Where::kDevice)
    (void)s->queue->finish(s->device, s->program, nullptr);
}

}  // namespace ingot
