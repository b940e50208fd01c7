// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/predict.h - how long a GPU that is not here takes for a program: the
// launches that a session there would have, each by its numbers. docs/cuda-cost.md has the formula
// in words, with the source of every constant.
//
//   cycles of a launch = start + the largest of
//     arithmetic   multiply-adds, padding of tiles included, at the rate of the unit that does them
//     issue        instructions of loops of tensor cores, four warps a cycle
//     on chip      bytes through shared memory and first-level cache, 128 a cycle
//     l2           bytes that all blocks fetch, 48 a cycle
//     memory       bytes of operands and results that lie in no cache, at the memory's rate
//     latency      what the resident threads have under way, once each round trip to memory
//   the first four on the multiprocessor that has the most blocks
// A launch begins when those that it waits for have ended (runtime/device/gpu/launch_order.h);
// others hide each other's start, and what they do is counted one after the other.
//
// Owns     what it returns.
// Threads  any.
#pragma once
#include <string>
#include <vector>

#include "tools/diagnose/gpu_cost/gpu_model.h"
#include "tools/diagnose/gpu_cost/launch_work.h"
#include "tools/session/program_view.h"

namespace ingot::gpu_cost {

enum class Bound : uint8_t { kLaunch, kArithmetic, kIssue, kOnChip, kL2, kMemory, kLatency };
const char* bound_name(Bound bound);

struct LaunchCost {
  double start_ns = 0;  // gap to the launch before it, and filling the pipeline
  double ns = 0;        // start_ns included
  double waves = 0;     // rounds of as many blocks as are resident at a time
  Bound bound = Bound::kLaunch;
};
/// @param weights_stay whether the weights of the program stay in the second-level cache
/// @param is_early whether it starts before the one launch that it waits for has ended
LaunchCost cost_of(const GpuModel& gpu, const LaunchWork& work, bool weights_stay,
                   bool is_early = false);

struct InstructionCost {
  uint32_t instruction = 0;
  const char* row = nullptr;         // of kernels; null: the CPU runs it, and nothing is predicted
  std::vector<const char*> kernels;  // of its launches
  double flops = 0, bytes = 0;       // wanted; operands and results of its launches, each once
  double weight_bytes = 0;           // of those
  double waves = 0;                  // of all launches
  double ns = 0, start_ns = 0;
  Bound bound = Bound::kLaunch;  // of the launch that takes the longest
};

struct ProgramCost {
  const GpuModel* gpu = nullptr;
  bool weights_stay = false;
  std::vector<InstructionCost> instructions;
  size_t launches = 0, left_to_cpu = 0;
  uint64_t activation_bytes = 0;  // of a session's arena there: those that are f16 take half
  // of the whole; hidden_ns: what it would take longer as one chain of launches
  double flops = 0, bytes = 0, weight_bytes = 0, ns = 0, start_ns = 0, hidden_ns = 0;
};

/// What sessions have and a prediction does without, to show what it gains
/// (tests/figures/gpu_levers.py).
struct Without {
  bool early_weights = false;  // weights copied before the launch in front has ended
  bool loads = false;          // norms and softmax: eight loads of a thread under way, not one
  bool large_tiles = false;    // of 128x128: blocks have 48 KB of shared memory
  bool last_block = false;     // that reduces split-K parts: a launch of its own does
};

/// Each instruction once: both branches of an If, one iteration of a Loop. Copies of ports are not
/// in it. @pre view.bound(). @throws Failure where a plan refuses
ProgramCost predict(const cli::ProgramView& view, const GpuModel& gpu, const Without& without = {});

/// One instruction in the kernel variant that files know by this name and number of parts; where
/// its row has no such variant, in the cost model's.
InstructionCost predict_variant(const cli::ProgramView& view, const GpuModel& gpu,
                                uint32_t instruction, const std::string& name, uint16_t parts);

}  // namespace ingot::gpu_cost
