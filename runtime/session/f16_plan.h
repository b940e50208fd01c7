// SPDX-License-Identifier: Apache-2.0
// runtime/session/f16_plan.h - the plan of an fp16 file on a GPU that keeps activations as f16
// (runtime/device/gpu/f16_activations.h). The file's plan is of no device, so a session plans for
// itself: what is f16 is chosen by the extents that are bound, those lifetimes are halved, and the
// plan is validated as one from a file. A session that may be rebound keeps places for f32, since
// other extents choose otherwise, and chooses anew for each binding.
// Owns     nothing: works in the model's workspace, or in what a session carved for it.
// Threads  the holder of the WorkspaceLock; choose() and mark_calls() of a session: as the
//          session's.
// Errors   kOutOfMemory kLimitExceeded.
// Cost     at most 64 passes over the instructions, and that of plan_greedy().
#pragma once
#include "runtime/session/tables.h"

namespace ingot {

/// Reached through BackendServices alone, so that a program without a back end does not link it.
struct F16Planner {
  /// Sets `chooses_f16`, and unless the session may be rebound halves what is f16. @pre lifetimes
  /// are found, nothing is placed
  Status (*halve)(const OpenModel& model, const SessionRequest& request, const Device& device,
                  PlannedProgram* planned, ErrorDetail* detail);
  /// Offsets for these lifetimes; those of `file`, where it has any, if the plan is not smaller.
  Status (*place)(const OpenModel& model, Span<const uint64_t> file, PlannedProgram* planned,
                  ErrorDetail* detail);
  /// What is f16 with these extents, into `storage`, by value. `operands` of one instruction.
  void (*choose)(const OpenModel& model, const Device& device, const BoundProgram& bound,
                 const LifetimeRules& rules, TensorView* operands, uint64_t* storage);
  /// Operands of calls as kernels of the device see them. @pre p.planned.f16_storage, calls filled
  void (*mark_calls)(const OpenModel& model, const Preparation& p, const LifetimeRules& rules,
                     uint8_t* base, const Tables& tables);
};
extern const F16Planner kF16Planner;

}  // namespace ingot
