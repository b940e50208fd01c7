// SPDX-License-Identifier: Apache-2.0
// runtime/api/session_api.cpp - sessions: requirements, creation, ports, runs.
#include "runtime/api/translate.h"

using namespace ingot;
using namespace ingot::api;

namespace {

constexpr uint32_t kKnownFlags = INGOT_CALLER_BINDS_PORTS | INGOT_HUGE_PAGES | INGOT_LOCK_MEMORY |
                                 INGOT_KEEP_VALUES | INGOT_POISON | INGOT_PREFAULT |
                                 INGOT_REBINDABLE | INGOT_STRICT | INGOT_ASYNC |
                                 INGOT_IGNORE_TUNINGS | INGOT_HOST_BRANCHES | INGOT_BLOCKING_WAIT;
// ingot_binding is read in place.
static_assert(sizeof(ingot_binding) == sizeof(DimBinding) &&
                  offsetof(ingot_binding, value) == offsetof(DimBinding, value),
              "");

}  // namespace

namespace ingot::api {

ingot_code translate(const ingot_session_options* given, SessionRequest* out, ingot_error* error) {
  ingot_session_options o = {};
  if (given && !read_sized(given, &o))
    return refuse_argument(
        "options.size: not set, or a field that this library does not know is not 0", error);
  if (o.binding_count && !o.bindings) return refuse_argument("options.bindings is null", error);
  if (o.upper_bound_count && !o.upper_bounds)
    return refuse_argument("options.upper_bounds is null", error);
  if (o.flags & ~kKnownFlags)
    return refuse_number("options.flags: unknown bits", 0, o.flags & ~kKnownFlags, error);
  if (o.pool && o.executor)
    return refuse_argument("options: pool and executor exclude each other", error);
  if (o.executor && !o.executor->parallel)
    return refuse_argument("options.executor.parallel is null", error);
  if (o.executor && o.threads < 1)
    return refuse_argument("options.threads: an executor needs a number", error);
  if (o.arena_kind < INGOT_ARENA_OWN || o.arena_kind > INGOT_ARENA_ALLOCATOR)
    return refuse_number("options.arena_kind: at most", INGOT_ARENA_ALLOCATOR,
                         uint64_t(o.arena_kind), error);
  const ingot_allocator* allocator = o.allocator;
  if (o.arena_kind == INGOT_ARENA_ALLOCATOR &&
      (!allocator || !allocator->allocate || !allocator->release))
    return refuse_argument("options.allocator: null, or without allocate or release", error);
  out->device = o.device;
  out->assignment = reinterpret_cast<const DeviceAssignment*>(o.assignment);
  if (o.assignment && o.device)
    return refuse_argument("options.device: the assignment says the devices", error);
  out->bindings = {reinterpret_cast<const DimBinding*>(o.bindings), o.binding_count};
  out->rebindable = (o.flags & INGOT_REBINDABLE) != 0;
  if (o.upper_bound_count && !out->rebindable)
    return refuse_argument("options.upper_bounds: for INGOT_REBINDABLE only", error);
  out->upper_bounds = {reinterpret_cast<const DimBinding*>(o.upper_bounds), o.upper_bound_count};
  out->threads = o.threads;
  out->rules.ports_outside = (o.flags & INGOT_CALLER_BINDS_PORTS) != 0;
  // Ports of a device with memory of its own, and of several devices, are copied from and to where
  // they are bound.
  if (out->rules.ports_outside) out->rules.ports_outside = ports_may_be_outside(*out);
  out->rules.keep_values = (o.flags & INGOT_KEEP_VALUES) != 0;
  out->strict = (o.flags & INGOT_STRICT) != 0;
  out->ignore_tunings = (o.flags & INGOT_IGNORE_TUNINGS) != 0;
  out->host_branches = (o.flags & INGOT_HOST_BRANCHES) != 0;
  out->blocking_wait = (o.flags & INGOT_BLOCKING_WAIT) != 0;
  out->asynchronous = (o.flags & INGOT_ASYNC) != 0;
  out->gpu_stream = o.gpu_stream;
  if (o.gpu_stream) {
    const BackendRow* const row = o.assignment || !o.device ? nullptr : find_backend(o.device);
    if (!row || (row->linked && !row->linked->takes_stream))
      return refuse_argument(
          "options.gpu_stream: for a session whose device is a GPU with streams, asked for by name",
          error);
  }
  out->huge_pages = (o.flags & INGOT_HUGE_PAGES) != 0;
  out->lock_memory = (o.flags & INGOT_LOCK_MEMORY) != 0;
  out->poison = (o.flags & INGOT_POISON) != 0;
  out->prefault = (o.flags & INGOT_PREFAULT) != 0;
  out->pool = reinterpret_cast<ThreadPool*>(o.pool);  // its first and only member
  if (o.executor) out->executor = {o.executor->user, o.executor->parallel};
  out->arena_source = ArenaSource(o.arena_kind);
  out->arena = o.arena;
  out->arena_bytes = o.arena_bytes;
  if (allocator) out->allocator = {allocator->user, allocator->allocate, allocator->release};
  return INGOT_OK;
}

}  // namespace ingot::api

namespace {

ingot_requirements requirements_of(const Requirements& r) {
  ingot_requirements to = {};
  to.arena_bytes = r.arena_bytes;
  to.arena_alignment = r.arena_alignment;
  to.weights_mapped = r.weights_mapped;
  to.weights_copied = r.weights_copied;
  to.activations = r.activations;
  to.state = r.state;
  to.scratch = r.scratch;
  to.tables = r.tables;
  to.rounding = r.rounding;
  to.weights_in_place = r.weights_in_place;
  to.outside_bytes = r.outside_bytes;
  to.activations_lower_bound = r.activations_lower_bound;
  to.peak_instruction = r.peak_instruction;
  to.threads = r.threads;
  to.device_bytes = r.device_bytes;
  to.weights_widened = r.weights_widened;
  to.weights_shared = r.weights_shared;
  to.steps = r.steps;
  return to;
}

ingot_code port_view(ingot_session* session, bool is_input, uint32_t index,
                     ingot_tensor* out_tensor) {
  if (!session || !out_tensor) return INGOT_INVALID_ARGUMENT;
  const RunSession& s = *unwrap(session);
  const size_t count = is_input ? s.model->program.inputs.size : s.model->program.outputs.size;
  if (index >= count) return INGOT_NOT_FOUND;
  *out_tensor = tensor_of((is_input ? s.tables.inputs : s.tables.outputs)[index].view);
  return INGOT_OK;
}

ingot_code port_view_by_name(ingot_session* session, bool is_input, const char* name,
                             ingot_tensor* out_tensor) {
  if (!session || !name || !out_tensor) return INGOT_INVALID_ARGUMENT;
  const ingot_model* model = reinterpret_cast<const ingot_model*>(unwrap(session)->model);
  const int32_t index =
      is_input ? ingot_model_find_input(model, name) : ingot_model_find_output(model, name);
  if (index < 0) return INGOT_NOT_FOUND;
  return port_view(session, is_input, uint32_t(index), out_tensor);
}

ingot_code read_tensor(const ingot_tensor& tensor, TensorView* view, ingot_error* error) {
  if (tensor.row_stride > INT32_MAX) {
    ErrorDetail detail;
    return report(fail(&detail, Code::kShapeMismatch, "tensor.row_stride: at most",
                       uint64_t(INT32_MAX), uint64_t(tensor.row_stride)),
                  detail, error);
  }
  if (view_of(tensor, view)) return INGOT_OK;
  return refuse_argument("tensor: dtype, rank or a dimension is out of range", error);
}

ingot_code bind(ingot_session* session, bool is_input, uint32_t index, const ingot_tensor* tensor,
                ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  TensorView view;
  if (tensor)
    if (const ingot_code code = read_tensor(*tensor, &view, error)) return code;
  ErrorDetail detail;
  const Status status = bind_port(unwrap(session), is_input, index, tensor ? &view : nullptr,
                                  tensor ? tensor->bytes : 0, &detail);
  return report(status, detail, error);
}

ingot_code bind_device(ingot_session* session, bool is_input, uint32_t index,
                       const ingot_tensor* tensor, ingot_error* error) {
  if (!session || !tensor) return refuse_argument("session or tensor is null", error);
  TensorView view;
  if (const ingot_code code = read_tensor(*tensor, &view, error)) return code;
  ErrorDetail detail;
  return report(bind_port_on_device(unwrap(session), is_input, index, view, tensor->bytes, &detail),
                detail, error);
}

ingot_code run(ingot_session* session, uint64_t deadline_ns, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  ErrorDetail detail;
  return report(run_session(unwrap(session), deadline_ns, &detail), detail, error);
}

/// Turns an event of the device into one of the caller's.
void watch(void* user, const StepEvent& event) {
  RunSession& s = *static_cast<RunSession*>(user);
  const ingot_instruction instruction = instruction_of(*s.model, event.instruction);
  const KernelEntry* kernel = s.tables.calls[event.instruction].kernel;
  const ingot_profile_event to = {
      event.instruction, instruction.op, instruction.name, kernel ? kernel->name : "",
      event.begin_ns,    event.end_ns,   event.team};
  s.in_profile = true;
  reinterpret_cast<ingot_profile_function>(s.profile)(s.profile_user, &to);
  s.in_profile = false;
}

}  // namespace

extern "C" {

ingot_code ingot_model_requirements(const ingot_model* model, const ingot_session_options* options,
                                    ingot_requirements* out_requirements, ingot_error* error) {
  if (!model || !out_requirements)
    return refuse_argument("model or out_requirements is null", error);
  SessionRequest request;
  if (const ingot_code code = translate(options, &request, error)) return code;
  ErrorDetail detail;
  Requirements requirements;
  const Status status = session_requirements(*unwrap(model), request, &requirements, &detail);
  if (!status.ok()) return report(status, detail, error);
  return write_sized(requirements_of(requirements), out_requirements)
             ? ingot_code{INGOT_OK}
             : refuse_argument(
                   "requirements.size: not set, or a field that this library does not know is not "
                   "0",
                   error);
}

ingot_code ingot_session_create(const ingot_model* model, const ingot_session_options* options,
                                ingot_session** out_session, ingot_error* error) {
  if (!out_session) return refuse_argument("out_session is null", error);
  *out_session = nullptr;
  if (!model) return refuse_argument("model is null", error);
  SessionRequest request;
  if (const ingot_code code = translate(options, &request, error)) return code;
  ErrorDetail detail;
  RunSession* session = nullptr;
  const Status status = create_session(*unwrap(model), request, &session, &detail);
  if (status.ok()) {
    if (session->model->log.session) session->model->log.session(*session, detail);
    *out_session = reinterpret_cast<ingot_session*>(session);
  }
  return report(status, detail, error);
}

ingot_code ingot_session_rebind(ingot_session* session, const ingot_binding* bindings,
                                size_t binding_count, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  if (binding_count && !bindings) return refuse_argument("bindings is null", error);
  ErrorDetail detail;
  const Status status = rebind_session(
      unwrap(session), {reinterpret_cast<const DimBinding*>(bindings), binding_count}, &detail);
  return report(status, detail, error);
}

void ingot_session_destroy(ingot_session* session) {
  if (session) destroy_session(unwrap(session));
}
const ingot_model* ingot_session_model(const ingot_session* session) {
  return session ? reinterpret_cast<const ingot_model*>(unwrap(session)->model) : nullptr;
}

ingot_code ingot_session_input(ingot_session* session, uint32_t index, ingot_tensor* out_tensor) {
  return port_view(session, true, index, out_tensor);
}
ingot_code ingot_session_output(ingot_session* session, uint32_t index, ingot_tensor* out_tensor) {
  return port_view(session, false, index, out_tensor);
}
ingot_code ingot_session_input_by_name(ingot_session* session, const char* name,
                                       ingot_tensor* out_tensor) {
  return port_view_by_name(session, true, name, out_tensor);
}
ingot_code ingot_session_output_by_name(ingot_session* session, const char* name,
                                        ingot_tensor* out_tensor) {
  return port_view_by_name(session, false, name, out_tensor);
}
ingot_code ingot_session_bind_input(ingot_session* session, uint32_t index,
                                    const ingot_tensor* tensor, ingot_error* error) {
  return bind(session, true, index, tensor, error);
}
ingot_code ingot_session_bind_output(ingot_session* session, uint32_t index,
                                     const ingot_tensor* tensor, ingot_error* error) {
  return bind(session, false, index, tensor, error);
}

ingot_code ingot_session_bind_device_input(ingot_session* session, uint32_t index,
                                           const ingot_tensor* tensor, ingot_error* error) {
  return bind_device(session, true, index, tensor, error);
}
ingot_code ingot_session_bind_device_output(ingot_session* session, uint32_t index,
                                            const ingot_tensor* tensor, ingot_error* error) {
  return bind_device(session, false, index, tensor, error);
}

ingot_code ingot_session_run(ingot_session* session, ingot_error* error) {
  return run(session, 0, error);
}
ingot_code ingot_session_run_until(ingot_session* session, uint64_t deadline_ns,
                                   ingot_error* error) {
  return run(session, deadline_ns ? deadline_ns : 1, error);
}
void ingot_session_cancel(ingot_session* session) {
  if (session) cancel_session(unwrap(session));
}
ingot_code ingot_session_reset_state(ingot_session* session, ingot_error* error) {
  if (!session) return refuse_argument("session is null", error);
  ErrorDetail detail;
  return report(reset_state(unwrap(session), &detail), detail, error);
}

ingot_code ingot_session_set_profile(ingot_session* session, ingot_profile_function function,
                                     void* user) {
  if (!session) return INGOT_INVALID_ARGUMENT;
  RunSession* s = unwrap(session);
  if (s->is_running) return INGOT_WRONG_STATE;
  s->profile = reinterpret_cast<void (*)()>(function);
  s->profile_user = user;
  s->control.watch = function ? watch : nullptr;
  s->control.watch_user = s;
  return INGOT_OK;
}

ingot_code ingot_session_value(ingot_session* session, uint32_t value, ingot_tensor* out_tensor,
                               ingot_error* error) {
  if (!session || !out_tensor) return refuse_argument("session or out_tensor is null", error);
  ErrorDetail detail;
  TensorView view;
  const Status status =
      find_value(*unwrap(session), value > INT32_MAX ? -1 : int32_t(value), &view, &detail);
  if (status.ok()) *out_tensor = tensor_of(view);
  return report(status, detail, error);
}

ingot_code ingot_session_requirements(const ingot_session* session,
                                      ingot_requirements* out_requirements) {
  if (!session || !out_requirements) return INGOT_INVALID_ARGUMENT;
  return wrote(write_sized(requirements_of(unwrap(session)->requirements), out_requirements));
}

}  // extern "C"
