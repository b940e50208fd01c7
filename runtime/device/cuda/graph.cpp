// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/graph.cpp - a segment of the program as one graph: copies of inputs, kernels
// in the order of the steps, copies of outputs; each behind those that touch the same memory
// (runtime/device/gpu/launch_order.h). Replaying it is one launch.
#include <string.h>

#include "runtime/device/cuda/graph_walk.h"
#include "runtime/device/cuda/variant.h"
#include "runtime/device/cuda/variant_timer.h"

namespace ingot::cuda {
namespace {

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
  for (uint32_t i = 0; i < walk.touched.count(); i++) {
    const LaunchAccess::Range& range = walk.touched[i];
    const uint64_t words[] = {range.begin, range.end, range.writes};
    walk.hash = mix(walk.hash, words, sizeof words);
  }
  const uint32_t head[] = {l.kernel, l.grid_x, l.grid_y, l.grid_z, l.shared_bytes, l.params_bytes};
  walk.hash = mix(mix(walk.hash, head, sizeof head), l.params, l.params_bytes);
  return {};
}

/// The function, allowed the shared memory that the launch asks for. Its limit belongs to all nodes
/// that have it: it is the most that the GPU gives, and no later node lowers it.
Status find_launchable(Walk& walk, const GpuLaunch& l, Function* function) {
  const GpuKernel& kernel = ingot_cuda_kernel_set.kernels[l.kernel];
  if (l.params_bytes != kernel.params_bytes || !l.grid_x || !l.grid_y || !l.grid_z ||
      l.grid_y > 65535 || l.grid_z > 65535)
    return fail_on(*walk.device, walk.detail, Code::kInternal,
                   "device: a launch that its kernel cannot have", kernel.params_bytes,
                   l.params_bytes);
  INGOT_TRY(find_function(walk.state->gpu, *walk.device, l.kernel, function, walk.detail));
  const Result result = allow_shared(*function, l.shared_bytes);
  return result ? fail_with(*walk.device, walk.detail, result, Code::kDeviceLost) : Status();
}

/// A kernel may start while the last blocks of the one before it run, where it waits for no other:
/// device code waits for the end of that before it does anything (INGOT_GPU_KERNEL). Not inside of
/// conditional nodes.
bool has_early_launches(const Walk& walk) {
  const Driver& d = driver();
  return (walk.traits.sm == 0 || walk.traits.sm >= 90) && !walk.inside_node &&
         d.graphs == GraphUse::kFull && d.version >= kEarlyLaunchDriver &&
         d.cuGraphAddDependencies_v2;
}

/// The driver's own reason, and what asks less of it. A sticky error is none of the graph's.
Status refuse_graph(Walk& walk, Result result) {
  const Status status = fail_with(*walk.device, walk.detail, result, Code::kDeviceLost);
  const char* const hint = retreat_hint();
  const bool is_sticky = result >= kFirstSticky && result <= kLastSticky;
  if (walk.detail && hint && !is_sticky && result != kResultOutOfMemory) walk.detail->hint = hint;
  return status;
}

Status add_in_order(Walk& walk, const KernelNodeParams& params, const LaunchAccess& touched) {
  LaunchOrder::Waits waits;
  walk.order->wait(driver().graphs >= GraphUse::kSerial ? LaunchAccess() : touched, &waits);
  const bool is_early = waits.count == 1 && waits.launches[0].is_kernel && has_early_launches(walk);
  GraphNode added, before[LaunchOrder::kMaxLaunches];
  for (uint32_t i = 0; i < waits.count; i++)
    before[i] = static_cast<GraphNode>(waits.launches[i].node);
  const uint32_t count = is_early ? 0 : waits.count;
  Result result =
      driver().cuGraphAddKernelNode(&added, walk.graph, count ? before : nullptr, count, &params);
  if (!result && is_early) {
    const EdgeData edge = {kPortProgrammatic, 0, kEdgeProgrammatic, {}};
    result = driver().cuGraphAddDependencies_v2(walk.graph, before, &added, &edge, 1);
  }
  if (result) return refuse_graph(walk, result);
  walk.order->add({added, true});
  return {};
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
  return add_in_order(walk, node, access_of(walk.touched, l, walk.scratch, walk.scratch_bytes));
}

/// Without graphs: what a launch needs is there before the first run.
Status check_launch(void* user, const GpuLaunch& l) {
  Function function = nullptr;
  return find_launchable(*static_cast<Walk*>(user), l, &function);
}

/// Without graphs: on the session's stream, behind all that is there.
Status launch_now(void* user, const GpuLaunch& l) {
  Walk& walk = *static_cast<Walk*>(user);
  Function function = nullptr;
  INGOT_TRY(find_launchable(walk, l, &function));
  void* params[] = {const_cast<void*>(l.params)};
  const Result result = driver().cuLaunchKernel(
      function, l.grid_x, l.grid_y, l.grid_z, ingot_cuda_kernel_set.kernels[l.kernel].threads, 1, 1,
      l.shared_bytes, walk.state->stream, params, nullptr);
  return result ? lose(*walk.device, walk.detail, result) : Status();
}

/// Behind all that was added so far.
Status add_event(Walk& walk) {
  if (!walk.next_event) return {};
  if (!walk.graph) {
    const Result result = driver().cuEventRecord(*walk.next_event++, walk.state->stream);
    return result ? lose(*walk.device, walk.detail, result) : Status();
  }
  GraphNode added, before[LaunchOrder::kMaxLaunches];
  const uint32_t waits = wait_for_all(walk, before);
  const Result result = driver().cuGraphAddEventRecordNode(
      &added, walk.graph, waits ? before : nullptr, waits, *walk.next_event++);
  if (result) return fail_with(*walk.device, walk.detail, result, Code::kDeviceLost);
  add_other_node(walk, added);
  return {};
}

/// The inputs, or the outputs; or the sizes that an instruction found, whose storage may be another
/// value's afterwards.
Status move_ports(Walk& walk, const StepProgram& program, bool inputs,
                  uint32_t after = kNoInstruction) {
  for (size_t i = 0; i < program.ports.size; i++) {
    const PortRoute& port = program.ports[i];
    if (port.is_input != inputs || port.after != after || !port.rows || !port.row_bytes) continue;
    const PortParams params = {&program.descriptors[i], reinterpret_cast<char*>(port.home),
                               port.home_stride, port.row_bytes, port.rows};
    const uint64_t pieces = port.rows * port.row_bytes / (16 * 256) + 1,
                   most = uint64_t(walk.traits.multiprocessors) * 8;
    GpuLaunch launch;
    launch.kernel = inputs ? ingot_cuda_kernel_set.copy_in : ingot_cuda_kernel_set.copy_out;
    launch.grid_x = uint32_t(pieces < most ? pieces : most);
    launch.params = &params;
    launch.params_bytes = sizeof params;
    // The caller's memory, whichever it will be: an output may be an input's.
    walk.touched = LaunchAccess::nothing();
    walk.touched.add(program.descriptors, 1, !inputs);
    walk.touched.add(port.home, (port.rows - 1) * port.home_stride + port.row_bytes, inputs);
    const Status status = walk.sink.launch(walk.sink.user, launch);
    walk.touched = LaunchAccess();
    INGOT_TRY(status);
  }
  return {};
}

Status plan_instruction(Walk& walk, const StepProgram& program, uint32_t index) {
  const InstructionDef& instruction = program.instructions[index];
  GpuWork work;
  work.arguments = &program.calls[index].arguments;
  work.scratch = program.scratch;
  work.scratch_bytes = program.scratch_stride;
  work.fault = fault_word(walk, program);
  work.fault_value = index + 1;
  work.traits = walk.traits;
  work.precision = gpu_precision(program.precision);
  work.sink = walk.sink;
  const GpuKernelEntry* row = find_gpu_row(ingot_cuda_kernel_set, instruction.op, *work.arguments,
                                           work.traits, work.precision);
  Status status;
  Chosen chosen;
  if (row) {
    choose({walk.device->ordinal, row, work.arguments, work.precision, &program.tunings, index,
            work.scratch_bytes},
           &chosen);
    work.variant = chosen.variant;
    walk.touched = access_of(instruction, program.values, *work.arguments, work.fault);
    work.constants = constants_of(instruction, program.values, *work.arguments);
    work.counters = &walk.counters;
    walk.scratch = work.scratch, walk.scratch_bytes = work.scratch_bytes;
    status = row->plan(work);
    walk.touched = LaunchAccess();
  } else {
    status =
        fail_on(*walk.device, walk.detail, Code::kNoKernel, "device: no kernel for these types");
  }
  if (status.ok()) return status;
  if (walk.detail) walk.detail->instruction = index;
  return Status(status.code(), index);
}

/// What the host has to know behind the segment.
Status tell(const Walk& walk, const StepProgram& program, const GraphSegment& segment) {
  const StepDef& step = program.steps[segment.end_step];
  const OpArguments& control = program.calls[step.index].arguments;
  ControlParams params = {};
  params.begins = step.kind == StepKind::kLoop;
  if (segment.needs.iteration) params.iteration = control.outputs[0].as<int64_t>();
  params.counter = &loop_words(program)->trips[step.loop].iteration;
  if (segment.needs.condition)
    params.condition = control.inputs[step.kind != StepKind::kIf].as<const uint8_t>();
  if (segment.needs.count) params.count = control.inputs[0].as<const int64_t>();
  params.mailbox = &walk.state->mailbox->control;
  GpuLaunch launch;
  launch.kernel = ingot_cuda_kernel_set.publish_condition;
  launch.params = &params;
  launch.params_bytes = sizeof params;
  return walk.sink.launch(walk.sink.user, launch);
}

Status walk_segment(Walk& walk, const StepProgram& program, const GraphSegment& segment,
                    Status (*launch)(void*, const GpuLaunch&)) {
  walk.sink = {&walk, launch}, walk.counters = counters_of(program);
  if (segment.brings_inputs) INGOT_TRY(move_ports(walk, program, true));
  INGOT_TRY(add_event(walk));
  INGOT_TRY(walk_steps(walk, program, segment.first_step, segment.end_step));
  if (segment.needs.any()) INGOT_TRY(tell(walk, program, segment));
  if (segment.takes_outputs) INGOT_TRY(move_ports(walk, program, false));
  return add_event(walk);
}

/// The graph with that hash, a free place, or that of the graph that has not run for longest.
Piece* find_piece(SegmentPieces* segment, uint64_t hash) {
  Piece *oldest = nullptr, *free = nullptr;
  for (Piece& piece : segment->pieces) {
    if (!piece.exec) {
      free = free ? free : &piece;
      continue;
    }
    if (piece.hash == hash) return &piece;
    if (!oldest || piece.last_used < oldest->last_used) oldest = &piece;
  }
  return free ? free : oldest;
}

/// An executable graph of what `add` puts into walk.graph.
template <class Add>
Status instantiate(Walk& walk, GraphExec* exec, Add add) {
  Device& device = *walk.device;
  if (const Result result = driver().cuGraphCreate(&walk.graph, 0))
    return fail_with(device, walk.detail, result, Code::kDeviceLost);
  LaunchOrder order;
  walk.order = &order;
  Status status = add();
  walk.order = nullptr;
  if (status.ok()) {
    const Result result = driver().cuGraphInstantiateWithFlags(exec, walk.graph, 0);
    if (result) {
      *exec = nullptr;
      status = refuse_graph(walk, result);
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

Status instantiate(Walk& walk, const StepProgram& program, const GraphSegment& segment,
                   GraphExec* exec) {
  return instantiate(walk, exec, [&] { return walk_segment(walk, program, segment, add_launch); });
}

}  // namespace

uint32_t wait_for_all(Walk& walk, GraphNode* before) {
  LaunchOrder::Waits waits;
  walk.order->wait(LaunchAccess(), &waits);
  for (uint32_t i = 0; i < waits.count; i++)
    before[i] = static_cast<GraphNode>(waits.launches[i].node);
  return waits.count;
}
void add_other_node(Walk& walk, GraphNode node) { walk.order->add({node, false}); }

Status walk_steps(Walk& walk, const StepProgram& program, uint32_t first_step, uint32_t end_step) {
  for (uint32_t s = first_step; s < end_step; s++) {
    const uint32_t index = program.steps[s].index;
    if (program.steps[s].kind != StepKind::kRun) {
      INGOT_TRY(walk_decision(walk, program, s));
      s = end_of_control(program, s) - 1;
      continue;
    }
    INGOT_TRY(plan_instruction(walk, program, index));
    if (program.instructions[index].resolves) INGOT_TRY(move_ports(walk, program, false, index));
    INGOT_TRY(add_event(walk));
  }
  return {};
}

/// Zero before the first run; launches leave them so.
Status clear_counters(Walk& walk, const StepProgram& program) {
  static constexpr uint32_t kZeros[kGpuCounters] = {};
  const GpuCounters counters = counters_of(program);
  if (!counters.left) return {};
  Result result =
      driver().cuMemcpyHtoDAsync_v2(reinterpret_cast<Address>(counters.next), kZeros,
                                    counters.left * sizeof(uint32_t), walk.state->stream);
  if (!result) result = wait_for_stream(*walk.state);
  return result ? fail_with(*walk.device, walk.detail, result, Code::kDeviceLost) : Status();
}

Status build_piece(Device& device, const StepProgram& program, SegmentPieces* segment,
                   ErrorDetail* detail) {
  SessionState& s = state_of(device);
  Walk walk = {&device, &s, detail};
  walk.traits = traits_of(gpu_facts(device.ordinal));
  if (driver().graphs == GraphUse::kNone) {
    segment->newest = 0;
    INGOT_TRY(clear_counters(walk, program));
    return walk_segment(walk, program, segment->segment, check_launch);
  }
  INGOT_TRY(walk_segment(walk, program, segment->segment, hash_launch));
  Piece* piece = find_piece(segment, walk.hash);
  if (!piece->exec || piece->hash != walk.hash) {
    drop_piece(piece);
    Piece made;
    INGOT_TRY(clear_counters(walk, program));
    INGOT_TRY(instantiate(walk, program, segment->segment, &made.exec));
    made.hash = walk.hash;
    *piece = made;
  }
  piece->last_used = ++s.clock;
  segment->newest = uint32_t(piece - segment->pieces);
  return {};
}

Status make_piece(Device& device, const StepProgram& program, Piece* out, ErrorDetail* detail) {
  Walk walk = {&device, &state_of(device), detail};
  GraphSegment whole;
  SegmentScan scan(program, true);
  if (!scan.next(&whole) || !whole.takes_outputs)
    return fail_on(device, detail, Code::kInternal, "device: control flow in a queued graph");
  walk.traits = traits_of(gpu_facts(device.ordinal));
  INGOT_TRY(clear_counters(walk, program));
  if (driver().graphs == GraphUse::kNone) return walk_segment(walk, program, whole, check_launch);
  return instantiate(walk, program, whole, &out->exec);
}

Status launch_kernels(Device& device, const StepProgram& program, const GraphSegment& segment,
                      const Event* events, ErrorDetail* detail) {
  Walk walk = {&device, &state_of(device), detail};
  walk.next_event = events;
  walk.traits = traits_of(gpu_facts(device.ordinal));
  const Status status = walk_segment(walk, program, segment, launch_now);
  // part of a run is under way, as after any error of one
  if (!status.ok()) state_of(device).is_lost = true;
  return status;
}

Status launch_piece(Device& device, const StepProgram& program, const Piece& piece,
                    ErrorDetail* detail) {
  if (driver().graphs == GraphUse::kNone) {
    GraphSegment whole;
    SegmentScan scan(program, true);
    (void)scan.next(&whole);  // as make_piece() found it
    return launch_kernels(device, program, whole, nullptr, detail);
  }
  const Result result = driver().cuGraphLaunch(piece.exec, state_of(device).stream);
  return result ? lose(device, detail, result) : Status();
}

Status make_timed_graph(Device& device, const StepProgram& program, const GraphSegment& segment,
                        const Event* events, GraphExec* out, ErrorDetail* detail) {
  Walk walk = {&device, &state_of(device), detail};
  walk.next_event = events;
  walk.traits = traits_of(gpu_facts(device.ordinal));
  return instantiate(walk, program, segment, out);
}

void drop_piece(Piece* piece) {
  if (piece->exec) driver().cuGraphExecDestroy(piece->exec);
  if (piece->timing) drop_timing(piece->timing);
  *piece = Piece();
}

Status build_repeats(Device& device, const GpuWork& work, const GpuKernelEntry& row,
                     uint32_t repeats, GraphExec* out, ErrorDetail* detail) {
  Walk walk = {&device, &state_of(device), detail};
  walk.traits = work.traits;
  GpuWork recorded = work;
  recorded.sink = {&walk, add_launch};
  return instantiate(walk, out, [&] {
    for (uint32_t i = 0; i < repeats; i++) {  // one behind the other: all count in the same words
      GpuCounters counters = work.counters ? *work.counters : GpuCounters();
      recorded.counters = &counters;
      INGOT_TRY(row.plan(recorded));
    }
    return Status();
  });
}

}  // namespace ingot::cuda
