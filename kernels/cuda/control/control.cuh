// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/control/control.cuh - what an If or a Loop needs of the GPU where the host decides
// between launches: a Loop's iteration in the arena, and what decides in memory of the host
// (decision D56).
#pragma once
#include "kernels/cuda/control/control_kernels.h"
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

INGOT_GPU_KERNEL(publish_condition, ControlParams, 32) {
  if (threadIdx.x) return;
  if (p.iteration) {
    const int64_t iteration = p.begins ? 0 : *p.counter + 1;
    *p.counter = *p.iteration = iteration;
  }
  if (p.condition) p.mailbox->condition = *p.condition;
  if (p.count) p.mailbox->count = *p.count;
}

}  // namespace ingot::cuda
