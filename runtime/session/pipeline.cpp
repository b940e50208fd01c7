// SPDX-License-Identifier: Apache-2.0
// runtime/session/pipeline.cpp - items through the slots: who waits for whom.
#include "runtime/session/pipeline.h"

#include "runtime/base/os/file.h"
#include "runtime/session/pipeline_slots.h"

namespace ingot {
namespace {

Status check_alive(const RunPipeline& p, ErrorDetail* detail) {
  if (p.forks != os::fork_count())
    return fail(detail, Code::kThreadFailed,
                "pipeline: in the child of a fork, where its threads are not");
  return p.is_cancelled.load(std::memory_order_acquire)
             ? fail(detail, Code::kCancelled, "pipeline: cancelled")
             : Status();
}

/// Sleeps until `is_so`, the pipeline is cancelled, or a deadline that is not 0 has come.
template <class Condition>
void sleep_until(RunPipeline* p, uint64_t deadline_ns, const Condition& is_so) {
  for (;;) {
    const uint32_t seen = p->changes.load(std::memory_order_acquire);
    if (is_so() || p->is_cancelled.load(std::memory_order_acquire)) return;
    const uint64_t now = deadline_ns ? os::monotonic_ns() : 0;
    if (deadline_ns && now >= deadline_ns) return;
    os::wait_on(&p->changes, seen, deadline_ns ? deadline_ns - now : 0);
  }
}

Status is_late(uint64_t deadline_ns, ErrorDetail* detail) {
  return fail(detail, Code::kDeadlineExceeded, "pop: deadline in ns", deadline_ns,
              os::monotonic_ns());
}

Status bind_slot(RunSession* s, Slot& slot, ErrorDetail* detail) {
  const auto bind = [&](bool is_input, uint32_t index, TensorView view, const TensorType& most) {
    static_cast<TensorType&>(view) = most;
    uint64_t bytes;
    if (!storage_bytes(view, &bytes)) return fail(detail, Code::kInternal, "port bytes");
    return bind_port(s, is_input, index, &view, bytes, detail);
  };
  for (uint32_t i = 0; i < s->model->program.inputs.size; i++)
    INGOT_TRY(bind(true, i, slot.inputs[i], s->tables.inputs[i].most));
  for (uint32_t i = 0; i < s->model->program.outputs.size; i++)
    INGOT_TRY(bind(false, i, slot.outputs[i], s->tables.outputs[i].most));
  return {};
}

Status run_slot(RunSession* s, Slot& slot, ErrorDetail* detail) {
  INGOT_TRY(bind_slot(s, slot, detail));
  INGOT_TRY(run_session(s, 0, detail));
  for (size_t i = 0; i < s->model->program.outputs.size; i++)  // what the data decided
    static_cast<TensorType&>(slot.outputs[i]) = s->tables.outputs[i].view;
  return {};
}

/// Once there is nothing to pop any more.
Status tell_end(RunPipeline* p, ErrorDetail* detail) {
  if (p->loader_answer == 0 || p->loader_was_told)
    return fail(detail, Code::kNotFound, "pipeline: the end");
  p->loader_was_told = true;
  return fail(detail, Code::kFileRead, "pipeline: the loader failed, with", 0,
              uint64_t(int64_t{p->loader_answer}));
}

}  // namespace

void note_change(RunPipeline* p) {
  p->changes.fetch_add(1, std::memory_order_release);
  if (p->two_threads) os::wake_sleepers(&p->changes, INT32_MAX);
}

void run_next(void* pipeline) {
  RunPipeline* p = static_cast<RunPipeline*>(pipeline);
  Slot& slot = p->slot_of(p->ran++);
  if (p->is_cancelled.load(std::memory_order_acquire))
    slot.status = fail(&slot.detail, Code::kCancelled, "pipeline: cancelled");
  else
    slot.status = run_slot(p->session, slot, &slot.detail);
}

void load_all(void* pipeline) {
  RunPipeline* p = static_cast<RunPipeline*>(pipeline);
  for (uint64_t item = 0; acquire_slot(p, nullptr).ok(); item++) {
    if (const int32_t answer =
            p->loader(p->loader_user, reinterpret_cast<ingot_pipeline*>(p), item)) {
      p->loader_answer = answer == 1 ? 0 : answer;
      break;
    }
    if (!push_slot(p, nullptr).ok()) break;
  }
  finish_pipeline(p);
}

Status acquire_slot(RunPipeline* p, ErrorDetail* detail) {
  INGOT_TRY(check_alive(*p, detail));
  if (p->is_acquired) return {};  // it still is
  if (p->has_finished.load(std::memory_order_relaxed))
    return fail(detail, Code::kWrongState, "acquire: the pipeline was finished");
  if (!free_slots(*p)) {
    if (!p->two_threads) {
      const Status status = fail(detail, Code::kWrongState, "acquire: no slot is free", 1, 0);
      if (detail)
        detail->hint =
            "pop and release one first; a producer with a thread of its own says so in the options";
      return status;
    }
    sleep_until(p, 0, [p] { return free_slots(*p) != 0; });
    INGOT_TRY(check_alive(*p, detail));
  }
  p->is_acquired = true;
  return {};
}

Status push_slot(RunPipeline* p, ErrorDetail* detail) {
  INGOT_TRY(check_alive(*p, detail));
  if (!p->is_acquired) return fail(detail, Code::kWrongState, "push: no slot was acquired");
  const uint64_t item = p->pushed.load(std::memory_order_relaxed);
  Slot& slot = p->slot_of(item);
  slot.status = {};
  slot.is_queued = false;
  if (p->queue) {
    slot.status = p->session->device.interface->queue->submit(p->queue, uint32_t(item % p->depth),
                                                              &slot.detail);
    slot.is_queued = slot.status.ok();
  }
  p->is_acquired = false;
  os::releases(&p->pushed);
  p->pushed.store(item + 1, std::memory_order_release);
  if (!p->queue) (void)p->runner.ask();
  note_change(p);
  return {};
}

void finish_pipeline(RunPipeline* p) {
  os::releases(&p->has_finished);
  p->has_finished.store(1, std::memory_order_release);
  note_change(p);
}

Status pop_slot(RunPipeline* p, uint64_t deadline_ns, uint64_t* item, ErrorDetail* detail) {
  *item = kNoItem;
  INGOT_TRY(check_alive(*p, detail));
  if (p->is_popped)
    return fail(detail, Code::kWrongState, "pop: the slot popped before was not released");
  const uint64_t next = p->popped.load(std::memory_order_relaxed);
  const auto is_pushed = [p, next] { return p->pushed.load(std::memory_order_acquire) != next; };
  const auto is_settled = [&] {
    return p->has_finished.load(std::memory_order_acquire) || is_pushed();
  };
  if (!is_settled() && p->two_threads) sleep_until(p, deadline_ns, is_settled);
  INGOT_TRY(check_alive(*p, detail));
  if (!is_settled() && p->two_threads) return is_late(deadline_ns, detail);
  os::acquired(&p->pushed);
  os::acquired(&p->has_finished);
  if (!is_pushed()) {
    if (p->has_finished.load(std::memory_order_acquire)) return tell_end(p, detail);
    return fail(detail, Code::kWrongState, "pop: nothing was pushed");
  }
  Slot& slot = p->slot_of(next);
  if (!p->queue && !p->runner.wait(uint32_t(next + 1), deadline_ns))
    return is_late(deadline_ns, detail);
  Status status = slot.status;
  if (!status.ok() && detail) *detail = slot.detail;
  if (slot.is_queued) {
    status = p->session->device.interface->queue->collect(p->queue, uint32_t(next % p->depth),
                                                          deadline_ns, detail);
    if (status.code() == Code::kDeadlineExceeded) return status;
  }
  *item = next;
  p->popped.store(next + 1, std::memory_order_release);
  p->is_popped = true;
  if (!status.ok()) (void)release_slot(p, nullptr);
  return status;
}

Status release_slot(RunPipeline* p, ErrorDetail* detail) {
  if (!p->is_popped) return fail(detail, Code::kWrongState, "release: no slot was popped");
  p->is_popped = false;
  os::releases(&p->released);
  p->released.store(p->popped.load(std::memory_order_relaxed), std::memory_order_release);
  note_change(p);
  return {};
}

void cancel_pipeline(RunPipeline* p) {
  p->is_cancelled.store(1, std::memory_order_release);
  cancel_session(p->session);
  p->changes.fetch_add(1, std::memory_order_release);
  os::wake_sleepers(&p->changes, INT32_MAX);
}

const TensorView* pipeline_input(const RunPipeline& p, uint32_t index) {
  if (!p.is_acquired || index >= p.model->program.inputs.size) return nullptr;
  return &p.slot_of(p.pushed.load(std::memory_order_relaxed)).inputs[index];
}

const TensorView* pipeline_output(const RunPipeline& p, uint32_t index) {
  if (!p.is_popped || index >= p.model->program.outputs.size) return nullptr;
  return &p.slot_of(p.popped.load(std::memory_order_relaxed) - 1).outputs[index];
}

uint32_t free_slots(const RunPipeline& p) {
  const uint64_t used =
      p.pushed.load(std::memory_order_relaxed) - p.released.load(std::memory_order_acquire);
  os::acquired(&p.released);
  return p.depth - uint32_t(used);
}

const RunSession& session_of(const RunPipeline& p) { return *p.session; }
bool has_loader(const RunPipeline& p) { return p.loader != nullptr; }
const OpenModel& model_of(const RunPipeline& p) { return *p.model; }

}  // namespace ingot
