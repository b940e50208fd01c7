// SPDX-License-Identifier: Apache-2.0
// runtime/session/create.cpp - makes and unmakes sessions.
#include <cstring>
#include <new>

#include "runtime/base/float_state.h"
#include "runtime/base/os/free_memory.h"
#include "runtime/base/os/memory.h"
#include "runtime/session/backend_services.h"
#include "runtime/session/fallback.h"
#include "runtime/session/resolve_sizes.h"
#include "runtime/session/split.h"
#include "runtime/session/weights.h"

namespace ingot {
namespace {

/// Memory of a session while it is being made; gives it back unless kept.
struct Memory {
  Arena arena;
  Device device;
  uint8_t* device_memory = nullptr;
  uint64_t device_bytes = 0;
  uint8_t* pinned = nullptr;
  SplitPlan* split = nullptr;  // with memory on its devices
  DeviceAssignment* fallback = nullptr;
  const OpenModel* model = nullptr;
  uint8_t* shared = nullptr;  // weights
  bool kept = false;

  ~Memory() {
    if (kept) return;
    if (split) split->assignment->code->release(split);
    if (pinned) device.interface->release_host(device, pinned);
    if (device_memory) device.interface->release(device, device_memory, device_bytes);
    if (os::kHasOtherDevices && shared) backend_services()->shared_weights->drop(*model, shared);
    release_arena(&arena);
    if (os::kHasOtherDevices && fallback) release_assignment(fallback);
  }
};

Status too_small(ErrorDetail* detail, const char* field, uint64_t need, uint64_t have) {
  const Status status = fail(detail, Code::kArenaTooSmall, field, need, have);
  if (detail) detail->hint = "requirements() says how many; `ingot why FILE` says what for";
  return status;
}

/// A device's memory did not suffice for one of a session's two blocks; the caller wants to know
/// about both.
Status sum_up_shortage(Status status, uint64_t other_bytes, bool is_held, ErrorDetail* detail) {
  // else the host's, or an error without numbers
  const bool is_devices = detail && detail->need && detail->name[0];
  if (status.code() != Code::kOutOfMemory || !is_devices) return status;
  detail->need += other_bytes;
  if (is_held) detail->have += other_bytes;
  return status;
}

/// Whether the machine has what a session is about to touch. Weights that are mapped are the file's
/// pages, and memory that the caller lends is the caller's: neither is asked about. Nor is what is
/// small against any machine that has files, unless a limit is stated.
Status check_free(uint64_t bytes, ErrorDetail* detail) {
  constexpr uint64_t kSmall = uint64_t{64} << 20;
  if (bytes < kSmall && !os::has_stated_limit()) return {};
  const os::FreeMemory free = os::free_memory();
  if (bytes <= free.bytes) return {};
  const Status status = fail(detail, Code::kOutOfMemory, free.limit, bytes, free.bytes);
  if (detail)
    detail->hint =
        "smaller dimensions need less; INGOT_MEMORY_LIMIT (bytes; 0: none) states another limit";
  return status;
}

Status take_memory(const OpenModel& model, const SessionRequest& request, const Preparation& p,
                   Memory* memory, ErrorDetail* detail) {
  const Layout& l = p.layout;
  memory->device = p.device;
  if (request.arena_source != ArenaSource::kCaller && request.arena_bytes &&
      request.arena_bytes < l.bytes)
    return too_small(detail, "options.arena_bytes (a limit)", l.bytes, request.arena_bytes);
  if (!p.device.interface->host_memory) {
    const Allocator& host = request.allocator.allocate ? request.allocator : model.allocator;
    INGOT_TRY(allocate_arena(host, l.host_bytes - l.pinned_bytes, 64, &memory->arena, detail));
    INGOT_TRY(sum_up_shortage(p.device.interface->reserve(memory->device, l.bytes, l.alignment,
                                                          &memory->device_memory, detail),
                              model.shared_weights ? 0 : l.shared_bytes, false, detail));
    memory->device_bytes = l.bytes;
    if (l.pinned_bytes)
      INGOT_TRY(p.device.interface->reserve_host(memory->device, l.pinned_bytes, &memory->pinned,
                                                 detail));
    return {};
  }
  switch (request.arena_source) {
    case ArenaSource::kOwn:
      if constexpr (os::kHasPages) INGOT_TRY(check_free(l.bytes - l.writable, detail));
      return reserve_arena(l.bytes, l.alignment, l.writable, &memory->arena, detail);
    case ArenaSource::kAllocator:
      return allocate_arena(request.allocator, l.bytes, l.alignment, &memory->arena, detail);
    case ArenaSource::kCaller: break;
  }
  if (request.arena && request.arena_bytes < l.bytes)
    return too_small(detail, "options.arena_bytes", l.bytes, request.arena_bytes);
  return lend_arena(request.arena, request.arena_bytes, l.bytes, l.alignment, &memory->arena,
                    detail);
}

struct Constants {
  const OpenModel* model;
  const Layout* layout;
};
/// All that is constant: weight parts, what lies in the program, what is widened.
Status upload_all(void* user, Device& device, uint8_t* base, ErrorDetail* detail) {
  const OpenModel& model = *static_cast<Constants*>(user)->model;
  const Layout& layout = *static_cast<Constants*>(user)->layout;
  INGOT_TRY(layout.f16_weights
                ? model.f16_weights.code->upload_constants(model, layout, device, base, detail)
                : upload_weights(model, layout, device, base, detail));
  if (layout.inline_first)
    INGOT_TRY(device.interface->upload(device, base + layout.tables, layout.inline_first,
                                       layout.tables_bytes, detail));
  return layout.f16_weights ? Status() : widen_weights(model, layout, base, &device, detail);
}

void fill_program(RunSession* s, const Preparation& p, uint8_t* base) {
  const ProgramDef& program = s->model->program;
  s->program.steps = program.steps;
  s->program.instructions = program.instructions;
  s->program.values = program.values;
  s->program.calls = {s->tables.calls, program.instructions.size};
  s->program.scratch_places = s->tables.scratch_places;
  s->program.threads = p.threads;
  s->program.scratch =
      base + (s->tables.scratch_places ? s->layout.activations : s->layout.scratch);
  s->program.scratch_stride = p.scratch.per_thread;
  s->program.shared_scratch = s->program.scratch + p.scratch.per_thread * uint64_t(p.threads);
  s->program.resolve = resolve_hook(s);
  s->program.precision = program.precision;
  if (s->tables.routes)
    s->program.ports = {s->tables.routes, program.inputs.size + program.outputs.size +
                                              program.symbols.size - program.free_symbols};
  s->program.tunings = p.tunings;
  s->program.descriptors = s->tables.descriptors;
  s->program.known = s->tables.known;
  s->program.entered = s->tables.entered;
  if (os::kHasOtherDevices) s->program.host_decides = why_host_decides(s->device);
  s->control.cancel = &s->cancel;
}

/// Writes the session into its tables. @pre memory is taken, weights are loaded.
RunSession* fill_session(const OpenModel& model, const SessionRequest& request,
                         const Preparation& p, const Memory& memory) {
  uint8_t* base = memory.device_memory ? memory.device_memory : memory.arena.base;
  uint8_t* tables_at = memory.device_memory ? memory.arena.base : base + p.layout.tables;
  BumpAllocator bump(tables_at);
  Tables tables = carve_tables(model, p, &bump);
  if (memory.pinned) use_pinned(model, memory.pinned, &tables);
  fill_tables(model, p, request.rules, base, tables);
  if (tables.rebinding.binding_bytes) fill_rebinding(model, p, tables.rebinding);
  RunSession* s = new (tables.session) RunSession;
  s->model = &model;
  s->device = memory.device;
  s->queue = p.queue;
  s->pinned = memory.pinned;
  s->fallback = memory.fallback;
  s->arena = memory.arena;
  if (p.split) p.split->assignment->code->fill(model, request.rules, p, s, tables.split);
  s->device_memory = memory.device_memory;
  s->tables = tables;
  s->layout = p.layout;
  s->layout.part_offsets = nullptr;  // the workspace's; not needed any more
  s->requirements = sum_up(model, p);
  s->rules = request.rules;
  s->is_poisoned = request.poison;
  s->is_locked = request.lock_memory;
  s->threads = p.threads;
  s->join_spins = p.join_spins;
  s->threads_reason = p.threads_reason;
  s->executor = request.executor;
  if (tables.pool)
    s->pool = new (tables.pool) ThreadPool;
  else if (!request.executor.parallel)
    s->pool = request.pool;
  if (tables.thread_team) new (tables.thread_team) ThreadTeam;
  if (tables.queued) new (tables.queued) QueuedRun;
  if (tables.background) new (tables.background) Background;
  fill_program(s, p, base);
  s->unbound_ports = count_unbound(*s);
  return s;
}

Status start(RunSession* s, bool on_fast, ErrorDetail* detail) {
  const bool is_zero =
      s->arena.form == ArenaForm::kReserved && !s->device_memory && !s->is_poisoned;
  INGOT_TRY(reset_state(s, detail, is_zero));
  INGOT_TRY(s->device.interface->resolve(s->device, s->program, detail));
  if (s->tables.pool) {
    PoolOptions options;
    options.threads = s->threads;
    if (on_fast) options.place.processors = os::choose_fast(os::usable_processors());
    INGOT_TRY(s->tables.pool->start(options, detail));
  }
  if (!os::kHasThreads || !s->tables.background) return {};
  const Status status = start_background(s, detail);
  if (!status.ok() && s->tables.pool) s->tables.pool->stop();
  return status;
}

}  // namespace

uint32_t count_unbound(const RunSession& s) {
  uint32_t count = 0;
  for (size_t i = 0; i < s.model->program.inputs.size; i++)
    count += s.tables.inputs[i].view.data == nullptr;
  for (size_t i = 0; i < s.model->program.outputs.size; i++)
    count += s.tables.outputs[i].view.data == nullptr;
  return count;
}

Status session_requirements(const OpenModel& model, const SessionRequest& asked, Requirements* out,
                            ErrorDetail* detail) {
  const PreparedRequest prepared(model, asked, detail);
  INGOT_TRY(prepared.status);
  const Preparation& p = prepared.preparation;
  *out = sum_up(model, p);
  return {};
}

Status create_session(const OpenModel& model, const SessionRequest& asked, RunSession** out,
                      ErrorDetail* detail) {
  const DefaultFloatState float_state;
  const Status status = make_session(model, asked, out, detail);
  const BackendServices* services = backend_services();
  if (status.ok() || !detail || !services) return status;
  const Status retreated = services->automatic->session(model, asked, status, *detail, out);
  if (retreated.ok()) (*out)->gave_up_gpu = true;
  return retreated;
}

Status make_session(const OpenModel& model, const SessionRequest& asked, RunSession** out,
                    ErrorDetail* detail) {
  Fallback fallback(model, asked);
  INGOT_TRY(fallback.status(detail));
  const SessionRequest& request = fallback.request();
  const WorkspaceLock lock(model);
  Preparation p;
  Memory memory;
  memory.fallback = fallback.take();
  INGOT_TRY(prepare(model, request, &p, detail));
  INGOT_TRY(take_memory(model, request, p, &memory, detail));
  memory.model = &model;
  if (os::kHasOtherDevices && p.layout.shared_bytes) {
    Constants constants = {&model, &p.layout};
    const Status held =
        backend_services()->shared_weights->hold(model, p.device, false, p.layout.shared_bytes,
                                                 {&constants, upload_all}, &memory.shared, detail);
    INGOT_TRY(sum_up_shortage(held, p.layout.bytes, true, detail));
    p.layout.shared = memory.shared;
  } else if (memory.device_memory) {
    Constants constants = {&model, &p.layout};
    INGOT_TRY(upload_all(&constants, memory.device, memory.device_memory, detail));
  }
  if (!memory.device_memory) {
    INGOT_TRY(load_weights(model, p.layout, memory.arena, detail));
    const ArenaOptions arena_options = {request.huge_pages, request.lock_memory, request.prefault};
    if (memory.arena.form == ArenaForm::kReserved)
      INGOT_TRY(apply_arena_options(model, p.layout, memory.arena, arena_options, detail));
    const uint64_t from = p.layout.first_own();
    if (request.poison)
      std::memset(memory.arena.base + from, kPoison, size_t(p.layout.bytes - from));
    INGOT_TRY(widen_weights(model, p.layout, memory.arena.base, nullptr, detail));
  }
  if (p.split) {
    INGOT_TRY(p.split->assignment->code->take(model, p, request, memory.arena.base, detail));
    memory.split = p.split;
  }
  RunSession* session = fill_session(model, request, p, memory);
  INGOT_TRY(read_known(model, session->tables, detail));
  if (session->tables.rebinding.binding_bytes)
    INGOT_TRY(rebind_session(session, request.bindings, detail));
  INGOT_TRY(start(session, p.on_fast, detail));
  memory.kept = true;
  *out = session;
  return {};
}

namespace {

void give_back(RunSession* session) {
  Memory memory;  // returns everything, the session's own bytes last
  memory.model = session->model;
  memory.shared = session->layout.shared;
  memory.arena = session->arena;
  memory.device = session->device;
  memory.device_memory = session->device_memory;
  memory.pinned = session->pinned;
  memory.fallback = session->fallback;
  memory.device_bytes = session->layout.bytes;
  memory.split = session->split;
}

}  // namespace

void destroy_session(RunSession* session) {
  if (os::kHasThreads) abandon_started(session);
  if (session->tables.pool) session->tables.pool->stop();
  if (!session->layout.shared && !session->fallback) return give_back(session);
  const WorkspaceLock lock(*session->model);  // weights that other sessions may share
  give_back(session);
}

}  // namespace ingot
