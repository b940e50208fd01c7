// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/graph_walk.h - one way through the steps of a segment: what it becomes in a
// graph, node by node, or that graph's hash. graph.cpp has instructions and ports, conditional.cpp
// Ifs and Loops that the GPU decides.
// Owns     nothing.
// Threads  as the session's.
// Errors   those of build_part().
#pragma once
#include "runtime/device/cuda/session_state.h"
#include "runtime/device/gpu/launch_order.h"

namespace ingot::cuda {

/// What a sink sees on its way through the program.
struct Walk {
  Device* device;
  SessionState* state;
  ErrorDetail* detail;
  uint64_t hash = 14695981039346656037ull;
  Graph graph = nullptr;         // null: nothing is made
  LaunchOrder* order = nullptr;  // of the nodes in `graph`
  LaunchAccess touched = {};     // by the instruction whose launches come
  const uint8_t* scratch = nullptr;
  uint64_t scratch_bytes = 0;
  bool inside_node = false;           // `graph` is the body of a conditional node
  const Event* next_event = nullptr;  // of a graph that records when instructions end
  bool inside_loop = false;           // that the GPU decides
  GpuTraits traits = {};
  GpuCounters counters = {};  // that are left
  GpuSink sink = {};
};

/// Those of the program: from the beginning of each graph, of which one runs at a time.
inline GpuCounters counters_of(const StepProgram& program) {
  const uint64_t bytes = zeroed_bytes(program.precision);
  if (!bytes || !program.shared_scratch) return {};
  return {reinterpret_cast<uint32_t*>(program.shared_scratch), uint32_t(bytes / sizeof(uint32_t))};
}

/// Where kernels write who found a bad index: of the host, and inside a loop of the GPU's own.
inline uint32_t* fault_word(const Walk& walk, const StepProgram& program) {
  if (walk.inside_loop) return &loop_words(program)->fault;
  return program.fault ? program.fault : &walk.state->mailbox->fault;
}

/// What a node that is no launch waits for: all before it. At most LaunchOrder::kMaxLaunches.
uint32_t wait_for_all(Walk& walk, GraphNode* before);
/// It is in the graph; what comes waits for it.
void add_other_node(Walk& walk, GraphNode node);

/// Instructions, and what the GPU decides. @pre no event is recorded inside what it decides
Status walk_steps(Walk& walk, const StepProgram& program, uint32_t first_step, uint32_t end_step);
/// The If or the Loop that begins at `step`, with all in it: kernels that decide, nodes with
/// bodies.
Status walk_decision(Walk& walk, const StepProgram& program, uint32_t step);

}  // namespace ingot::cuda
