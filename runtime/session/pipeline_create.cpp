// SPDX-License-Identifier: Apache-2.0
// runtime/session/pipeline_create.cpp - makes and unmakes pipelines: the session, then memory for
// each slot, then threads.
#include <new>

#include "runtime/session/backend_services.h"
#include "runtime/session/fallback.h"
#include "runtime/session/pipeline_slots.h"

namespace ingot {
namespace {

// a GPU likes the former; bound memory needs the latter
constexpr uint64_t kPortAlignment = 256, kHostAlignment = 64;

uint64_t rounded(uint64_t bytes, uint64_t to) { return (bytes + to - 1) & ~(to - 1); }

/// False: bytes overflow.
bool add_port(const TensorType& type, uint64_t* sum) {
  uint64_t bytes;
  if (!storage_bytes(type, &bytes) || bytes > uint64_t{1} << 58) return false;
  *sum += rounded(bytes, kPortAlignment);
  return true;
}

Status measure_slot(const OpenModel& model, const Preparation& p, SlotShape* out,
                    ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  bool fits = true;
  for (const PortDef& port : program.inputs)
    fits &= add_port(value_type(program, p.planned.bound, port.value), &out->input_bytes);
  for (const PortDef& port : program.outputs)
    fits &= add_port(value_type(program, p.planned.bound, port.value), &out->output_bytes);
  if (!fits || out->input_bytes + out->output_bytes > uint64_t{1} << 58)
    return fail(detail, Code::kLimitExceeded, "pipeline: bytes of a slot", uint64_t{1} << 58);
  // Where sizes depend on data each item is a run of the session, which reads them before the next.
  const bool resolves = program.symbols.size > program.free_symbols;
  const QueueInterface* queue = resolves ? nullptr : p.queue;
  out->is_queued = queue != nullptr;
  out->is_staged = queue && queue->stages(p.device);
  if (queue)
    out->head_bytes =
        rounded((program.inputs.size + program.outputs.size) * sizeof(PortDescriptor), 64) + 64;
  if (queue) out->head_bytes = rounded(out->head_bytes, kPortAlignment);
  return {};
}

PipelineParts carve(const OpenModel& model, const PipelineRequest& request, const SlotShape& shape,
                    BumpAllocator* bump) {
  PipelineParts parts;
  parts.pipeline = bump->take<RunPipeline>(1);
  parts.slots = bump->take<Slot>(request.depth);
  parts.views = bump->take<TensorView>(uint64_t{request.depth} *
                                       (model.program.inputs.size + model.program.outputs.size));
  if (!shape.is_queued)
    parts.ports = bump->take<uint8_t>(request.depth * (shape.input_bytes + shape.output_bytes),
                                      kHostAlignment);
  return parts;
}

Status check(const PipelineRequest& request, ErrorDetail* detail) {
  if (!os::kHasThreads)
    return fail(detail, Code::kThreadFailed, "pipeline: this system has no threads");
  if (request.depth < 1 || request.depth > kMaxSlots)
    return fail(detail, Code::kInvalidArgument, "options.depth: at most", kMaxSlots, request.depth);
  if (request.session.rebindable)
    return fail(detail, Code::kInvalidArgument,
                "pipeline: INGOT_REBINDABLE; a slot's memory is of one size");
  return {};
}

SessionRequest session_request(const PipelineRequest& request) {
  SessionRequest session = request.session;
  session.asynchronous = false;  // the pipeline has what it needs
  session.rules.ports_outside = ports_may_be_outside(session);
  return session;
}

Status measure(const OpenModel& model, const PipelineRequest& request, SlotShape* shape,
               PipelineNeeds* out, ErrorDetail* detail) {
  INGOT_TRY(check(request, detail));
  const PreparedRequest prepared(model, session_request(request), detail);
  INGOT_TRY(prepared.status);
  const Preparation& p = prepared.preparation;
  INGOT_TRY(measure_slot(model, p, shape, detail));
  out->session = sum_up(model, p);
  BumpAllocator bump(nullptr);
  (void)carve(model, request, *shape, &bump);
  out->block = bump.used();
  if (shape->is_queued) {
    out->pinned = request.depth * (shape->head_bytes + shape->input_bytes + shape->output_bytes);
    out->queue = p.device.interface->queue->queue_bytes();
  }
  if (shape->is_staged) out->device = request.depth * (shape->input_bytes + shape->output_bytes);
  out->stacks = (uint64_t{!shape->is_queued} + uint64_t{request.loader != nullptr}) *
                os::thread_outside_bytes();
  return {};
}

/// Gives each port its place behind `at`.
uint8_t* place_ports(Span<const PortDef> defs, const Port* ports, uint8_t* at, TensorView* views) {
  for (size_t i = 0; i < defs.size; i++) {
    TensorView* view = new (&views[i]) TensorView;
    static_cast<TensorType&>(*view) = ports[i].most;
    view->data = at;
    uint64_t bytes = 0;
    if (storage_bytes(ports[i].most, &bytes)) at += rounded(bytes, kPortAlignment);
  }
  return at;
}

void place_slots(RunPipeline* p, const SlotShape& shape, uint8_t* memory, TensorView* views) {
  const ProgramDef& program = p->model->program;
  const Tables& tables = p->session->tables;
  for (uint32_t i = 0; i < p->depth; i++) {
    Slot* slot = new (&p->slots[i]) Slot;
    slot->inputs = views;
    slot->outputs = views + program.inputs.size;
    views += program.inputs.size + program.outputs.size;
    memory += shape.head_bytes;
    memory = place_ports(program.inputs, tables.inputs, memory, slot->inputs);
    memory = place_ports(program.outputs, tables.outputs, memory, slot->outputs);
  }
}

/// Descriptors of a slot: its staging, or its memory of the host.
void aim_descriptors(const RunPipeline& p, const Slot& slot, const QueueSlot& queued,
                     PortDescriptor* to) {
  const size_t inputs = p.model->program.inputs.size, outputs = p.model->program.outputs.size;
  for (size_t i = 0; i < inputs + outputs; i++) {
    const bool is_input = i < inputs;
    const TensorView& view = is_input ? slot.inputs[i] : slot.outputs[i - inputs];
    const uint8_t* at = is_input ? queued.inputs + (view.as<uint8_t>() - queued.host_inputs)
                                 : queued.outputs + (view.as<uint8_t>() - queued.host_outputs);
    to[i] = {uint64_t(reinterpret_cast<uintptr_t>(at)),
             uint64_t(view.row_stride) * uint64_t(dtype_bytes(view.dtype))};
  }
}

/// @pre pinned memory and staging are taken
Status open_queue(RunPipeline* p, const SlotShape& shape, ErrorDetail* detail) {
  const size_t ports = p->model->program.inputs.size + p->model->program.outputs.size;
  QueueSlot slots[kMaxSlots];
  uint8_t *host = p->pinned, *device = p->staging;
  for (uint32_t i = 0; i < p->depth; i++) {
    QueueSlot& slot = slots[i];
    slot.program = p->session->program;
    slot.program.descriptors = reinterpret_cast<PortDescriptor*>(host);
    slot.program.fault =
        reinterpret_cast<uint32_t*>(host + rounded(ports * sizeof(PortDescriptor), 64));
    *slot.program.fault = 0;
    slot.host_inputs = host + shape.head_bytes;
    slot.host_outputs = slot.host_inputs + shape.input_bytes;
    slot.inputs = device ? device : slot.host_inputs;
    slot.outputs = device ? device + shape.input_bytes : slot.host_outputs;
    slot.input_bytes = shape.input_bytes;
    slot.output_bytes = shape.output_bytes;
    aim_descriptors(*p, p->slots[i], slot, slot.program.descriptors);
    host = slot.host_outputs + shape.output_bytes;
    if (device) device += shape.input_bytes + shape.output_bytes;
  }
  return p->session->device.interface->queue->open(p->session->device, {slots, p->depth}, &p->queue,
                                                   detail);
}

Status fill(RunPipeline* p, const PipelineParts& parts, const SlotShape& shape,
            const PipelineNeeds& needs, ErrorDetail* detail) {
  Device& device = p->session->device;
  if (shape.is_queued)
    INGOT_TRY(device.interface->reserve_host(device, needs.pinned, &p->pinned, detail));
  if (needs.device)
    INGOT_TRY(device.interface->reserve(device, needs.device, kPortAlignment, &p->staging, detail));
  p->device_bytes = needs.device;
  place_slots(p, shape, shape.is_queued ? p->pinned : parts.ports, parts.views);
  INGOT_TRY(os::watch_forks(detail));
  p->forks = os::fork_count();
  if (shape.is_queued)
    INGOT_TRY(open_queue(p, shape, detail));
  else
    INGOT_TRY(p->runner.start(run_next, p, detail));
  return p->loader ? os::start_thread(&p->loading, load_all, p, detail) : Status();
}

}  // namespace

Status pipeline_requirements(const OpenModel& model, const PipelineRequest& request,
                             PipelineNeeds* out, ErrorDetail* detail) {
  SlotShape shape;
  return measure(model, request, &shape, out, detail);
}

Status make_pipeline(const OpenModel& model, const PipelineRequest& request, RunPipeline** out,
                     ErrorDetail* detail) {
  SlotShape shape;
  PipelineNeeds needs;
  INGOT_TRY(measure(model, request, &shape, &needs, detail));
  const Allocator allocator =
      request.session.allocator.allocate ? request.session.allocator : allocator_of(model);
  uint8_t* block = nullptr;
  INGOT_TRY(allocate(allocator, needs.block, kHostAlignment, "pipeline", &block, detail));
  BumpAllocator bump(block);
  const PipelineParts parts = carve(model, request, shape, &bump);
  RunPipeline* p = new (parts.pipeline) RunPipeline;
  p->model = &model;
  p->allocator = allocator;
  p->block_bytes = needs.block;
  p->depth = request.depth;
  p->two_threads = request.two_threads || request.loader;
  p->loader = request.loader;
  p->loader_user = request.loader_user;
  p->slots = parts.slots;
  Status status = make_session(model, session_request(request), &p->session, detail);
  if (status.ok()) status = fill(p, parts, shape, needs, detail);
  if (!status.ok()) {
    destroy_pipeline(p);
    return status;
  }
  *out = p;
  return {};
}

Status create_pipeline(const OpenModel& model, const PipelineRequest& asked, RunPipeline** out,
                       ErrorDetail* detail) {
  const Status status = make_pipeline(model, asked, out, detail);
  const BackendServices* services = backend_services();
  if (status.ok() || !detail || !services) return status;
  const Status retreated = services->automatic->pipeline(model, asked, status, *detail, out);
  if (retreated.ok()) (*out)->session->gave_up_gpu = true;
  return retreated;
}

void destroy_pipeline(RunPipeline* p) {
  if (p->session) {
    cancel_pipeline(p);
    if (p->loading.started && p->forks == os::fork_count()) os::join_thread(&p->loading);
    p->runner.stop();
    Device& device = p->session->device;
    if (p->queue) device.interface->queue->close(p->queue);
    if (p->staging) device.interface->release(device, p->staging, p->device_bytes);
    if (p->pinned) device.interface->release_host(device, p->pinned);
    destroy_session(p->session);
  }
  p->allocator.release(p->allocator.user, p, size_t(p->block_bytes));
}

}  // namespace ingot
