// SPDX-License-Identifier: Apache-2.0
// runtime/op/chain.h - how a chain lays its rings out in a thread's scratch; contract and kernels
// read the same functions.
#pragma once
#include "runtime/op/conv_stage.h"

namespace ingot::conv {

/// Scratch of one thread: the rings of stages 0 .. count - 2, then the segment table and band of
/// the stage that is working.
struct ChainPlan {
  int count = 0;
  Extents stage[kMaxChainStages];
  int64_t ring_rows[kMaxChainStages] = {};  // of the output of stage i; the last stage has none
  int64_t pixel_stride[kMaxChainStages] =
      {};  // elements, a multiple of 16: lanes past the channels are written, never summed
  uint64_t ring_offset[kMaxChainStages] = {};  // bytes
  uint64_t stage_offset = 0, bytes = 0;
};

/// @pre the stages were checked; attributes and extents as chain_extents sets them. False on
/// overflow.
bool plan_chain(const ChainAttributes& t, const Extents* stages, ChainPlan* plan);

/// Extents of every stage of a checked chain.
void chain_extents(const OpArguments& arguments, Extents* stages);

inline int chain_residual(const ChainAttributes& t) { return int(1 + 2 * t.stage_count); }

}  // namespace ingot::conv
