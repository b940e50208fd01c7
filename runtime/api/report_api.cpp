// SPDX-License-Identifier: Apache-2.0
// runtime/api/report_api.cpp - who holds what, what runs where, what a run cost.
#include "runtime/api/translate.h"

using namespace ingot;
using namespace ingot::api;

namespace {

void add_row(ingot_memory_report* report, const char* owner, uint64_t bytes, bool in_arena) {
  if (!bytes) return;
  report->rows[report->row_count++] = {owner, bytes, in_arena};
  report->held += bytes;
}

}  // namespace

extern "C" {

ingot_code ingot_session_memory(const ingot_session* session, ingot_memory_report* out_report) {
  if (!session || !out_report) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  const Requirements& r = s.requirements;
  ingot_memory_report report = {};
  add_row(&report, "weights (mapped)", r.weights_mapped, true);
  add_row(&report, "weights (copied)", r.weights_copied, true);
  add_row(&report, "weights (converted at load)", r.weights_widened, true);
  add_row(&report, "activations", r.activations - s.parked_activations, true);
  add_row(&report, "state", r.state, true);
  add_row(&report, "scratch", r.scratch - s.parked_scratch, true);
  add_row(&report, "tables", r.tables, true);
  add_row(&report, "rounding", r.rounding, true);
  add_row(&report, "tables and port copies on the host", s.layout.host_bytes, false);
  add_row(&report, "arenas on other devices", r.device_bytes, false);
  if (s.tables.pool || s.tables.background)
    add_row(&report, "thread stacks", r.outside_bytes - s.layout.host_bytes, false);
  // Everything is taken once, when the session is made; parking gives some of it back until the
  // next run.
  report.peak = report.held + s.parked_activations + s.parked_scratch;
  return wrote(write_sized(report, out_report));
}

ingot_code ingot_session_placement(const ingot_session* session, ingot_placement* out_placement) {
  if (!session || !out_placement) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  ingot_placement placement = {};
  placement.device = s.device.name;
  placement.reason = s.device.reason;
  placement.isa = std::strcmp(s.device.interface->kind, "null") == 0 ? "" : s.model->kernels->isa;
  placement.threads = s.threads;
  placement.threads_reason = s.threads_reason;
  if (s.pool && s.pool->is_forked()) {
    placement.threads = 1;
    placement.threads_reason =
        "forked: the pool's threads stayed in the parent; make a new session";
  }
  placement.instructions = uint32_t(s.model->program.instructions.size);
  return wrote(write_sized(placement, out_placement));
}

ingot_code ingot_session_instruction(const ingot_session* session, uint32_t index,
                                     ingot_instruction* out_instruction) {
  if (!session || !out_instruction) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  if (index >= s.model->program.instructions.size) return INGOT_NOT_FOUND;
  *out_instruction = instruction_of(*s.model, index);
  if (s.tables.calls[index].kernel) out_instruction->kernel = s.tables.calls[index].kernel->name;
  return INGOT_OK;
}

ingot_code ingot_session_counters(const ingot_session* session, ingot_counters* out_counters) {
  if (!session || !out_counters) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  ingot_counters counters = {};
  counters.runs = s.runs;
  counters.wakes = s.wakes;
  counters.waits = s.waits;
  counters.alone = s.alone_runs;
  return wrote(write_sized(counters, out_counters));
}

ingot_code ingot_session_touched(const ingot_session* session, ingot_touched* out_touched) {
  if (!session || !out_touched) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  if (!s.is_poisoned) return INGOT_WRONG_STATE;
  const Touched found = find_touched(s);
  ingot_touched touched = {};
  touched.arena = found.arena;
  touched.activations = found.activations;
  touched.scratch = found.scratch;
  touched.tables = found.tables;
  return wrote(write_sized(touched, out_touched));
}

}  // extern "C"
