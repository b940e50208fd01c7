// SPDX-License-Identifier: Apache-2.0
// runtime/session/layout.h - where each part of the arena lies, and the sums that requirements()
// reports.
#pragma once
#include "runtime/session/preparation.h"

namespace ingot {

/// @pre everything in `p` but the layout is decided. part_offsets go to the model's workspace.
/// Errors  kLimitExceeded when sums overflow; kInvalidArgument for an arena that the device or
///         system cannot have.
Status lay_out(const OpenModel& model, const SessionRequest& request, const Preparation& p,
               Layout* out, ErrorDetail* detail);

/// Exact bytes; the parts add up to arena_bytes. Mirrors ingot_requirements.
struct Requirements {
  uint64_t arena_bytes = 0, arena_alignment = 0;
  uint64_t weights_mapped = 0, weights_copied = 0, activations = 0, state = 0, scratch = 0,
           tables = 0, rounding = 0;
  uint64_t weights_widened = 0, weights_in_place = 0, outside_bytes = 0,
           activations_lower_bound = 0;
  uint64_t weights_shared = 0;  // apart from any arena, see Layout::shared
  uint64_t steps = 0;           // instructions of a run at most
  uint64_t device_bytes = 0;    // of a split: the arenas on devices other than the CPU
  uint32_t peak_instruction = kNoInstruction;
  int threads = 1;
};
Requirements sum_up(const OpenModel& model, const Preparation& p);

}  // namespace ingot
