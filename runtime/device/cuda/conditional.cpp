// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/conditional.cpp - Ifs and Loops inside a graph: a kernel sets the condition
// of a node, whose body the GPU then runs, or runs again, without the host (decision D70).
//
//   If     ... [decide] (c: then | else) ...          Loop   ... [begin] (while c: body, [repeat])
//          ...
#include "runtime/device/cuda/graph_walk.h"
#include "runtime/op/control.h"

namespace ingot::cuda {
namespace {

/// Steps of a branch or a body.
struct Body {
  uint32_t first, end;
  bool is_missing(const StepProgram& program) const {
    return first < end && program.steps[first].kind == StepKind::kRefuse;
  }
  bool has_work(const StepProgram& program) const { return first < end && !is_missing(program); }
};

bool is_present(const TensorView* operands, uint32_t count, uint32_t index) {
  return index < count && operands[index].present();
}

/// What all three have; the operand that is the condition.
DecideParams params_of(const Walk& walk, const StepProgram& program, const StepDef& step,
                       uint32_t condition) {
  const OpArguments& control = program.calls[step.index].arguments;
  HostMailbox* const mailbox = walk.state->mailbox;
  DecideParams params = {};
  params.fault = fault_word(walk, program);
  params.fault_value = step.index + 1;
  params.mailbox = &mailbox->control;
  params.known_condition = 1;
  if (!is_present(control.inputs, control.input_count, condition)) return params;
  if (condition == 0 && is_known(program, step.index))
    params.known_condition = program.known[step.index];
  else
    params.condition = control.inputs[condition].as<const uint8_t>();
  return params;
}

Status launch_decide(const Walk& walk, const DecideParams& params) {
  GpuLaunch launch;
  launch.kernel = ingot_cuda_kernel_set.decide;
  launch.params = &params;
  launch.params_bytes = sizeof params;
  return walk.sink.launch(walk.sink.user, launch);
}

/// False until a kernel of the same run sets it, so that a node whose kernel did not run does
/// nothing.
Status make_handle(const Walk& walk, uint64_t* out) {
  if (!walk.graph) return {};
  const Result result = driver().cuGraphConditionalHandleCreate(
      out, walk.graph, walk.state->gpu.context, 0, kConditionAssignDefault);
  return result ? fail_with(*walk.device, walk.detail, result, Code::kDeviceLost) : Status();
}

/// `bodies` become its graphs, which are the driver's.
Status add_node(Walk& walk, int kind, uint64_t handle, unsigned count, Graph* bodies) {
  if (!walk.graph) return {};
  ConditionalNodeParams params = {};
  params.type = kNodeConditional;
  params.kind = kind;
  params.handle = handle;
  params.size = count;
  params.context = walk.state->gpu.context;
  GraphNode added, before[LaunchOrder::kMaxLaunches];
  const uint32_t waits = wait_for_all(walk, before);
  const Result result = driver().cuGraphAddNode_v2(&added, walk.graph, waits ? before : nullptr,
                                                   nullptr, waits, &params);
  if (result) return fail_with(*walk.device, walk.detail, result, Code::kDeviceLost);
  add_other_node(walk, added);
  for (unsigned i = 0; i < count; i++) bodies[i] = params.bodies[i];
  return {};
}

/// Where nodes go while it lives.
class Inside {
 public:
  Inside(Walk* walk, Graph body)
      : walk_(*walk), graph_(walk->graph), order_(walk->order), was_inside_(walk->inside_node) {
    walk_.graph = body;
    walk_.order = &own_;
    walk_.inside_node = true;
  }
  ~Inside() {
    walk_.graph = graph_;
    walk_.order = order_;
    walk_.inside_node = was_inside_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Walk& walk_;
  Graph graph_;
  LaunchOrder* order_;
  const bool was_inside_;
  LaunchOrder own_;
};

/// What is walked while it lives is in a loop.
class InLoop {
 public:
  explicit InLoop(Walk* walk) : walk_(*walk), was_inside_(walk->inside_loop) {
    walk_.inside_loop = true;
  }
  ~InLoop() { walk_.inside_loop = was_inside_; }
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;
  bool is_outermost() const { return !was_inside_; }

 private:
  Walk& walk_;
  const bool was_inside_;
};

Status walk_if(Walk& walk, const StepProgram& program, uint32_t at) {
  const StepDef& step = program.steps[at];
  const IfAttributes& branches = program.calls[step.index].arguments.as<IfAttributes>();
  const uint32_t subprograms[] = {branches.then_subprogram, branches.else_subprogram};
  const Body bodies[] = {{at + 1, step.target - 1}, {step.target, end_of_control(program, at)}};
  const Part* const part = find_part(*walk.state, program);
  DecideParams params = params_of(walk, program, step, 0);
  params.what = Deciding::kIf;
  const bool in_one =
      bodies[0].has_work(program) && bodies[1].has_work(program) && driver().version >= kElseDriver;
  for (int i = 0; i < 2; i++) {
    params.refuses[i] = bodies[i].is_missing(program);
    if (part && part->taken && subprograms[i])
      params.taken[i] = (walk.inside_loop ? loop_counts(program) : part->taken) + subprograms[i];
    if (bodies[i].has_work(program) && !(i && in_one))
      INGOT_TRY(make_handle(walk, &params.handles[i]));
  }
  INGOT_TRY(launch_decide(walk, params));
  Graph graphs[2] = {};
  for (int i = 0; i < 2; i++) {
    if (!bodies[i].has_work(program)) continue;
    if (!(i && in_one))
      INGOT_TRY(add_node(walk, kConditionalIf, params.handles[i], in_one ? 2 : 1, &graphs[i]));
    const Inside inside(&walk, graphs[i]);
    INGOT_TRY(walk_steps(walk, program, bodies[i].first, bodies[i].end));
  }
  return {};
}

Status walk_loop(Walk& walk, const StepProgram& program, uint32_t at) {
  const StepDef& step = program.steps[at];
  const OpArguments& loop = program.calls[step.index].arguments;
  const LoopAttributes& attributes = loop.as<LoopAttributes>();
  const Part* const part = find_part(*walk.state, program);
  const InLoop in_loop(&walk);
  DecideParams params = params_of(walk, program, step, 1);
  params.what = Deciding::kLoop;
  if (in_loop.is_outermost()) {
    params.run_fault = program.fault ? program.fault : &walk.state->mailbox->fault;
    params.counts = loop_counts(program);
    params.run_counts = part ? part->taken : nullptr;
    params.subprograms = params.run_counts ? part->subprograms : 0;
  }
  params.known_count = params.most = attributes.most;
  if (is_present(loop.inputs, loop.input_count, 0)) {
    if (is_known(program, step.index))
      params.known_count = int64_t(program.known[step.index]);
    else
      params.count = loop.inputs[0].as<const int64_t>();
  }
  if (is_present(loop.outputs, loop.output_count, 0))
    params.iteration = loop.outputs[0].as<int64_t>();
  params.trip = &loop_words(program)->trips[step.loop];
  if (part && part->taken) params.taken[0] = &loop_counts(program)[attributes.body];
  INGOT_TRY(make_handle(walk, &params.handles[0]));
  INGOT_TRY(launch_decide(walk, params));
  Graph body = nullptr;
  INGOT_TRY(add_node(walk, kConditionalWhile, params.handles[0], 1, &body));
  const Inside inside(&walk, body);
  INGOT_TRY(walk_steps(walk, program, at + 1, step.target - 1));
  params.what = Deciding::kRepeat;
  return launch_decide(walk, params);
}

}  // namespace

Status walk_decision(Walk& walk, const StepProgram& program, uint32_t step) {
  if (walk.next_event)
    return fail_on(*walk.device, walk.detail, Code::kInternal,
                   "device: events inside what the device decides");
  return program.steps[step].kind == StepKind::kIf ? walk_if(walk, program, step)
                                                   : walk_loop(walk, program, step);
}

}  // namespace ingot::cuda
