// SPDX-License-Identifier: Apache-2.0
// runtime/session/run.cpp - one run, and what surrounds it.
#include <cstring>

#include "runtime/base/float_state.h"
#include "runtime/session/port_overlap.h"
#include "runtime/session/resolve_sizes.h"

namespace ingot {
namespace {

/// Row by row, since either side may be strided.
void copy_rows(uint8_t* to, int64_t to_stride, const uint8_t* from, int64_t from_stride,
               const TensorType& type) {
  const int64_t element = dtype_bytes(type.dtype);
  const size_t row = size_t(type.row_length() * element);
  if (row == 0) return;
  for (int64_t i = 0; i < type.rows(); i++)
    std::memcpy(to + i * to_stride * element, from + i * from_stride * element, row);
}

/// Inputs that the program does not read where the caller put them.
Status bring_inputs(RunSession* s, ErrorDetail* detail) {
  for (size_t i = 0; i < s->model->program.inputs.size; i++) {
    Port& port = s->tables.inputs[i];
    if (port.host_copy) {
      uint64_t bytes;
      if (port.is_bound && !port.on_device)
        copy_rows(port.host_copy, port.home_stride, port.view.as<uint8_t>(), port.view.row_stride,
                  port.view);
      if (s->pinned) continue;  // the program fetches it
      TensorType type = port.view;
      type.row_stride = port.home_stride;
      if (!storage_bytes(type, &bytes)) return fail(detail, Code::kInternal, "port bytes");
      INGOT_TRY(s->device.interface->upload(s->device, port.home, port.host_copy, bytes, detail));
    } else if (port.is_bound && !port.is_direct) {
      copy_rows(port.home, port.home_stride, port.view.as<uint8_t>(), port.view.row_stride,
                port.view);
    }
  }
  return {};
}

Status fetch_outputs(RunSession* s, ErrorDetail* detail) {
  for (size_t i = 0; i < s->model->program.outputs.size; i++) {
    Port& port = s->tables.outputs[i];
    const uint8_t* from =
        port.owner ? reinterpret_cast<const uint8_t*>(port.owner->base + port.offset_in_root)
                   : port.home;
    if (port.on_device) continue;
    if (port.host_copy && !s->pinned) {
      uint64_t bytes;
      TensorType type = port.view;
      type.row_stride = port.home_stride;
      if (!storage_bytes(type, &bytes)) return fail(detail, Code::kInternal, "port bytes");
      INGOT_TRY(s->device.interface->download(s->device, port.host_copy, port.home, bytes, detail));
    }
    if (port.host_copy) from = port.host_copy;
    if (port.is_bound && !port.is_direct)
      copy_rows(port.view.as<uint8_t>(), port.view.row_stride, from, port.home_stride, port.view);
  }
  return {};
}

struct LeaderRun {
  RunSession* session;
  ErrorDetail* detail;
  Status status;
};

void lead_run(void* argument, ThreadTeam* thread_team) {
  LeaderRun& run = *static_cast<LeaderRun*>(argument);
  RunSession& s = *run.session;
  run.status = s.device.interface->run(s.device, s.program, s.control, thread_team, run.detail);
}

}  // namespace

Status run_on_device(RunSession* s, ErrorDetail* detail) {
  const DefaultFloatState float_state;
  LeaderRun run{s, detail, {}};
  if (s->tables.thread_team && s->executor.parallel) {
    if (!run_on_executor(s->executor, s->tables.thread_team, s->threads, lead_run, &run))
      return fail(detail, Code::kThreadFailed,
                  "executor: parallel() came back without calling its body");
    s->waits += s->tables.thread_team->waits();
  } else if (s->pool) {
    const ThreadPool::Tally tally = s->pool->run(s->threads, lead_run, &run, s->join_spins);
    s->wakes += tally.wakes;
    s->waits += tally.waits;
    s->alone_runs += tally.alone;
  } else {
    lead_run(&run, nullptr);
  }
  return run.status;
}

namespace {

Status name_unbound(RunSession* s, ErrorDetail* detail) {
  const Status status = fail(detail, Code::kWrongState, "run: a port has no memory; bind it");
  const ProgramDef& program = s->model->program;
  for (size_t i = program.outputs.size; i-- > 0;)
    if (!s->tables.outputs[i].view.data) name_error(detail, program.outputs[i].name);
  for (size_t i = program.inputs.size; i-- > 0;)
    if (!s->tables.inputs[i].view.data) name_error(detail, program.inputs[i].name);
  return status;
}

bool kills(Code code) {
  return code == Code::kDeviceLost || code == Code::kDeviceFault || code == Code::kInternal;
}

}  // namespace

Status begin_run(RunSession* s, uint64_t deadline_ns, ErrorDetail* detail) {
  if (s->is_dead)
    return fail(detail, Code::kWrongState,
                "run: the session is dead since its device failed; make another");
  if (s->is_running && s->in_profile)
    return fail(detail, Code::kWrongState,
                "run: called from the profile function, or an exception has left that: make "
                "another session");
  if (s->is_running)  // by this thread, or started
    return fail(detail, Code::kWrongState,
                "run: the session is running (started, or called from its own callback?)");
  if (s->unbound_ports) return name_unbound(s, detail);
  if (!s->are_ports_checked) {
    INGOT_TRY(check_port_memory(*s, detail));
    s->are_ports_checked = true;
  }
  s->is_running = true;
  s->parked_activations = s->parked_scratch = 0;
  s->runs++;
  s->control.deadline_ns = deadline_ns;
  begin_resolving(s);
  if (s->tables.entered)
    std::memset(s->tables.entered, 0,
                s->model->program.subprograms.size * sizeof *s->tables.entered);
  return bring_inputs(s, detail);
}

Status end_run(RunSession* s, Status status, ErrorDetail* detail) {
  if (status.ok()) status = read_resolved(s, detail);
  if (status.ok()) status = show_resolved(s, detail);
  if (status.ok()) status = fetch_outputs(s, detail);
  s->is_dead = kills(status.code());
  s->is_running = false;
  return status;
}

Status run_session(RunSession* s, uint64_t deadline_ns, ErrorDetail* detail) {
  const bool was_running = s->is_running;
  Status status = begin_run(s, deadline_ns, detail);
  if (!s->is_running || was_running) return status;  // refused
  if (status.ok()) status = run_on_device(s, detail);
  return end_run(s, status, detail);
}

}  // namespace ingot
