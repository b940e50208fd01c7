// runtime/device/cuda/graph.cpp - a stretch of the program as one graph: copies of inputs, kernels in the order of the steps, copies of
// outputs, one behind the other. Replaying it is one launch.
#include <string.h>

#include "runtime/base/os/file.h"
#include "runtime/device/cuda/session_state.h"

namespace ingot::cuda {
namespace {

/// What a sink sees on its way through the program.
struct Walk {
  Device* device;
  SessionState* state;
  ErrorDetail* detail;
  uint64_t hash = 14695981039346656037ull;
  uint32_t launches = 0;
  Graph graph = nullptr;
  GraphNode last = nullptr;
  const Event* next_event = nullptr;  // of a graph that records when instructions end
};

uint64_t mix(uint64_t hash, const void* bytes, size_t count) {
  const uint8_t* at = static_cast<const uint8_t*>(bytes);
  uint64_t word;
  for (; count >= 8; at += 8, count -= 8) {
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  for (; count; at++, count--) hash = (hash ^ *at) * 1099511628211ull;
  return hash;
}

Status hash_launch(void* user, const GpuLaunch& l) {
  Walk& walk = *static_cast<Walk*>(user);
  const uint32_t head[] = {l.kernel, l.grid_x, l.grid_y, l.grid_z, l.shared_bytes, l.params_bytes};
  walk.hash = mix(mix(walk.hash, head, sizeof head), l.params, l.params_bytes);
  walk.launches++;
  return {};
}

/// The function, allowed the shared memory that the launch asks for.
Status find_launchable(Walk& walk, const GpuLaunch& l, Function* function) {
  const GpuKernel& kernel = ingot_cuda_kernel_set.kernels[l.kernel];
  if (l.params_bytes != kernel.params_bytes || !l.grid_x || !l.grid_y || !l.grid_z || l.grid_y > 65535 ||
      l.grid_z > 65535)
    return fail_on(*walk.device, walk.detail, Code::kInternal, "device: a launch that its kernel cannot have",
                   kernel.params_bytes, l.params_bytes);
  INGOT_TRY(find_function(walk.state->gpu, *walk.device, l.kernel, function, walk.detail));
  if (l.shared_bytes <= (48u << 10)) return {};
  const Result result = driver().cuFuncSetAttribute(*function, kFunctionMaxDynamicShared, int(l.shared_bytes));
  return result ? fail_with(*walk.device, walk.detail, result, Code::kInternal) : Status();
}

Status add_launch(void* user, const GpuLaunch& l) {
  Walk& walk = *static_cast<Walk*>(user);
  KernelNodeParams node = {};
  INGOT_TRY(find_launchable(walk, l, &node.function));
  void* params[] = {const_cast<void*>(l.params)};
  node.grid_x = l.grid_x, node.grid_y = l.grid_y, node.grid_z = l.grid_z;
  node.block_x = ingot_cuda_kernel_set.kernels[l.kernel].threads, node.block_y = node.block_z = 1;
  node.shared_bytes = l.shared_bytes;
  node.params = params;
  GraphNode added;
  const Result result =
      driver().cuGraphAddKernelNode(&added, walk.graph, walk.last ? &walk.last : nullptr, walk.last ? 1 : 0, &node);
  if (result) return fail_with(*walk.device, walk.detail, result, Code::kDeviceLost);
  walk.last = added;
  return {};
}

/// Behind all that was added so far.
Status add_event(Walk& walk) {
  if (!walk.next_event) return {};
  GraphNode added;
  const Result result = driver().cuGraphAddEventRecordNode(&added, walk.graph, walk.last ? &walk.last : nullptr,
                                                           walk.last ? 1 : 0, *walk.next_event++);
  if (result) return fail_with(*walk.device, walk.detail, result, Code::kDeviceLost);
  walk.last = added;
  return {};
}

/// The inputs, or the outputs; or what an instruction measured, whose storage may be another value's afterwards.
Status move_ports(const StepProgram& program, bool inputs, const GpuTraits& traits, const GpuSink& sink,
                  uint32_t after = kNoInstruction) {
  for (size_t i = 0; i < program.ports.size; i++) {
    const PortRoute& port = program.ports[i];
    if (port.is_input != inputs || port.after != after || !port.rows || !port.row_bytes) continue;
    const PortParams params = {&program.descriptors[i], reinterpret_cast<char*>(port.home), port.home_stride,
                               port.row_bytes, port.rows};
    const uint64_t pieces = port.rows * port.row_bytes / (16 * 256) + 1, most = uint64_t(traits.multiprocessors) * 8;
    GpuLaunch launch;
    launch.kernel = inputs ? ingot_cuda_kernel_set.copy_in : ingot_cuda_kernel_set.copy_out;
    launch.grid_x = uint32_t(pieces < most ? pieces : most);
    launch.params = &params;
    launch.params_bytes = sizeof params;
    INGOT_TRY(sink.launch(sink.user, launch));
  }
  return {};
}

Status plan_instruction(Walk& walk, const StepProgram& program, uint32_t index, const GpuTraits& traits,
                        const GpuSink& sink) {
  const InstructionDef& instruction = program.instructions[index];
  GpuWork work;
  work.arguments = &program.calls[index].arguments;
  work.scratch = program.scratch;
  work.scratch_bytes = program.scratch_stride;
  work.fault = program.fault ? program.fault : walk.state->fault;
  work.fault_value = index + 1;
  work.traits = traits;
  work.precision = GpuPrecision(program.precision);
  work.sink = sink;
  const GpuRow* row = find_gpu_row(ingot_cuda_kernel_set, instruction.op, *work.arguments, traits, work.precision);
  const Status status =
      row ? row->plan(work) : fail_on(*walk.device, walk.detail, Code::kNoKernel, "device: no kernel for these types");
  if (status.ok()) return status;
  if (walk.detail) walk.detail->instruction = index;
  return Status(status.code(), index);
}

Status walk_program(Walk& walk, const StepProgram& program, Status (*launch)(void*, const GpuLaunch&)) {
  const GpuTraits traits = traits_of(gpu_facts(walk.device->ordinal));
  const GpuSink sink = {&walk, launch};
  INGOT_TRY(move_ports(program, true, traits, sink));
  INGOT_TRY(add_event(walk));
  for (uint32_t s = program.first_step; s < program.steps.size; s++) {
    if (program.steps[s].kind != StepKind::kRun)
      return fail_on(*walk.device, walk.detail, Code::kInternal, "device: control flow in a graph");
    const uint32_t index = program.steps[s].index;
    INGOT_TRY(plan_instruction(walk, program, index, traits, sink));
    if (program.instructions[index].measures) INGOT_TRY(move_ports(program, false, traits, sink, index));
    INGOT_TRY(add_event(walk));
  }
  INGOT_TRY(move_ports(program, false, traits, sink));
  return add_event(walk);
}

Piece* find_piece(SessionState& s, const StepProgram& program, uint64_t hash) {
  for (Piece& piece : s.pieces)
    if (piece.exec && piece.first_step == program.first_step && piece.hash == hash) return &piece;
  return nullptr;
}

/// A free place, or that of the graph that has not run for longest.
Piece& make_room(SessionState& s) {
  Piece* oldest = &s.pieces[0];
  for (Piece& piece : s.pieces) {
    if (!piece.exec) return piece;
    if (piece.last_used < oldest->last_used) oldest = &piece;
  }
  drop_piece(oldest);
  return *oldest;
}

Status instantiate(Walk& walk, const StepProgram& program, GraphExec* exec) {
  Device& device = *walk.device;
  if (const Result result = driver().cuGraphCreate(&walk.graph, 0))
    return fail_with(device, walk.detail, result, Code::kDeviceLost);
  Status status = walk_program(walk, program, add_launch);
  if (status.ok()) {
    const Result result = driver().cuGraphInstantiateWithFlags(exec, walk.graph, 0);
    if (result) {
      *exec = nullptr;
      status = fail_with(device, walk.detail, result, Code::kDeviceLost);
    }
  }
  driver().cuGraphDestroy(walk.graph);
  if (!status.ok()) return status;
  const Result result = driver().cuGraphUpload(*exec, walk.state->stream);
  if (!result) return {};
  driver().cuGraphExecDestroy(*exec);
  *exec = nullptr;
  return fail_with(device, walk.detail, result, Code::kDeviceLost);
}

/// The newest of these steps is the one that was resolved last.
Piece* newest_piece(SessionState& s, const StepProgram& program) {
  Piece* piece = nullptr;
  for (Piece& candidate : s.pieces)
    if (candidate.exec && candidate.first_step == program.first_step &&
        (!piece || candidate.last_used > piece->last_used))
      piece = &candidate;
  return piece;
}

Status launch(Device& device, const StepProgram& program, void (*ended)(void*), void* user, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Piece* piece = newest_piece(s, program);
  if (!piece) return fail_on(device, detail, Code::kInternal, "device: steps without a graph");
  *static_cast<volatile uint32_t*>(s.fault) = 0;
  Result result = driver().cuGraphLaunch(piece->exec, s.stream);
  if (result == kInvalidContext) {  // a driver that wants the context current on this thread
    const Current current(s.gpu.context);
    result = driver().cuGraphLaunch(piece->exec, s.stream);
  }
  if (!result && ended) result = driver().cuLaunchHostFunc(s.stream, ended, user);
  return result ? lose(device, detail, result) : Status();
}

Status finish(Device& device, const StepProgram&, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Result result = driver().cuStreamSynchronize(s.stream);
  return result ? lose(device, detail, result) : read_fault(s.fault, detail);
}

/// An error ends a run as well; finish() names it.
bool is_ended(Device& device) { return is_forked() || driver().cuStreamQuery(state_of(device).stream) != kNotReady; }

bool stages(const Device& device) { return !gpu_facts(device.ordinal).is_integrated; }

}  // namespace

Status build_piece(Device& device, const StepProgram& program, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  const Current current(s.gpu.context);
  Walk walk = {&device, &s, detail};
  INGOT_TRY(walk_program(walk, program, hash_launch));
  Piece* piece = find_piece(s, program, walk.hash);
  if (!piece) {
    piece = &make_room(s);
    Piece made;
    INGOT_TRY(instantiate(walk, program, &made.exec));
    made.hash = walk.hash;
    made.first_step = program.first_step;
    made.launches = walk.launches;
    *piece = made;
  }
  piece->last_used = ++s.clock;
  return {};
}

Status make_piece(Device& device, const StepProgram& program, Piece* out, ErrorDetail* detail) {
  Walk walk = {&device, &state_of(device), detail};
  return instantiate(walk, program, &out->exec);
}

Status make_timed_graph(Device& device, const StepProgram& program, const Event* events, GraphExec* out,
                        ErrorDetail* detail) {
  Walk walk = {&device, &state_of(device), detail};
  walk.next_event = events;
  return instantiate(walk, program, out);
}

void drop_piece(Piece* piece) {
  if (piece->exec) driver().cuGraphExecDestroy(piece->exec);
  if (piece->timing) drop_timing(piece->timing);
  *piece = Piece();
}

Status check_usable(Device& device, ErrorDetail* detail) {
  if (is_forked())
    return fail_on(device, detail, Code::kDeviceLost, "device: CUDA cannot be used in the child of a fork");
  if (state_of(device).is_lost) return fail_on(device, detail, Code::kDeviceLost, "device: lost in an earlier run");
  return {};
}

Status lose(Device& device, ErrorDetail* detail, Result result) {
  state_of(device).is_lost = true;
  return fail_with(device, detail, result, Code::kDeviceLost);
}

Status read_fault(const uint32_t* word, ErrorDetail* detail) {
  const uint32_t fault = *static_cast<const volatile uint32_t*>(word);
  if (!fault) return {};
  (void)fail(detail, Code::kBadIndexValue, "an index tensor holds an index outside its range");
  if (detail) detail->instruction = fault - 1;
  return Status(Code::kBadIndexValue, fault - 1);
}

Status run_piece(Device& device, const StepProgram& program, const RunControl& control, ErrorDetail* detail) {
  if (Piece* piece = control.watch ? newest_piece(state_of(device), program) : nullptr)
    return run_timed(device, program, piece, control, detail);
  INGOT_TRY(launch(device, program, nullptr, nullptr, detail));
  return finish(device, program, detail);
}

const QueueInterface kCudaQueue = {launch,     finish,      is_ended,    stages,      queue_bytes,
                                   open_queue, close_queue, submit_slot, collect_slot};

}  // namespace ingot::cuda
