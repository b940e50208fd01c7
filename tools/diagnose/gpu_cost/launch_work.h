// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/launch_work.h - what a launch reads, writes and computes, from the
// parameters that its plan gave it: the launches are those of a session, not a guess of them.
// Owns     nothing.
// Threads  any.
#pragma once
#include "runtime/device/gpu/kernel_set.h"

namespace ingot::gpu_cost {

/// What multiplies, and in which type.
enum class Unit : uint8_t { kNone, kF32, kTf32, kF16, kDot4, kS8 };

struct LaunchWork {
  bool known = false;  // else the instruction's operands are its bytes, see predict.h
  Unit unit = Unit::kNone;
  double multiply_adds = 0;  // that the result needs
  double issued = 0;         // multiply-adds with the padding of tiles, less what cannot overlap
  double weight_bytes = 0, bytes = 0;  // weights; other operands and results, each once
  double fetched = 0;                  // bytes that all blocks together read and write
  double on_chip = 0;                  // bytes through shared memory and first-level cache
  double instructions = 0;             // that warps issue, of loops of tensor cores; 0: not known
  double blocks = 0;                   // tiles, where a block takes several
  double in_flight = 0;                // bytes that a block has under way at a time
  double loads = 1;                    // of a thread, in `in_flight`, of norms and softmax
  // Where weights are copied before the launch in front has ended: their share of a block's first
  // copies, and the bytes of all blocks, each once.
  double early_share = 0, early_bytes = 0;
  double tail = 0;  // cycles behind all of it: of the last block that adds parts of sums
  int threads = 0;
  uint32_t shared_bytes = 0;
};

/// @pre launch.params is the struct of its kernel
LaunchWork work_of(const GpuLaunch& launch);

}  // namespace ingot::gpu_cost
