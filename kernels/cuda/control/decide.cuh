// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/control/decide.cuh - what an If or a Loop needs of the GPU where conditional nodes
// of its graph decide (decision D70): a kernel that sets their conditions.
//
// cudaGraphSetConditional() is no code of a library: like printf's, its symbol stays undefined in
// the module, and the driver puts its own code there when it loads it, from CUDA 12.3 on. An older
// one would refuse the whole module, so this kernel is a unit of its own, loaded by programs that
// have a use for it, and compilers that do not know the function (11.8) leave it out.
#pragma once
#include "kernels/cuda/control/control_kernels.h"
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

#if defined(__CUDACC__)
GPU_FN void set_conditional(uint64_t handle, bool value) { cudaGraphSetConditional(handle, value); }
#else
GPU_FN void set_conditional(uint64_t handle, bool value) {
  emulate::set_conditional(handle, value);
}
#endif

/// Whether the loop goes on, and its iteration; false after a fault, so that it ends whatever the
/// data say.
GPU_FN bool next_trip(const DecideParams& p, bool condition, uint32_t fault) {
  const bool begins = p.what == Deciding::kLoop;
  const int64_t iteration = begins ? 0 : p.trip->iteration + 1;
  const int64_t count = !begins ? p.trip->count : p.count ? *p.count : p.known_count;
  p.trip->iteration = iteration;
  if (begins) p.trip->count = count;
  if (p.iteration) *p.iteration = iteration;
  if (begins && count > p.most) {
    p.mailbox->count = count;
    if (!fault) *p.fault = p.fault_value;
    return false;
  }
  return !fault && iteration < count && condition;
}

/// Of a loop that lies in no other: the words that it and all in it use until it ends.
GPU_FN void clear_words(const DecideParams& p) {
  *p.fault = *p.run_fault;
  for (uint64_t i = 0; i < p.subprograms; i++) p.counts[i] = 0;
}
GPU_FN void tell_host(const DecideParams& p) {
  if (*p.fault) *p.run_fault = *p.fault;
  for (uint64_t i = 0; i < p.subprograms; i++)
    if (p.counts[i]) p.run_counts[i] = p.run_counts[i] + p.counts[i];
}

INGOT_GPU_KERNEL(decide, DecideParams, 32) {
  if (threadIdx.x) return;
  if (p.run_fault && p.what == Deciding::kLoop) clear_words(p);
  const uint32_t fault = *p.fault;
  const bool condition = p.condition ? *p.condition != 0 : p.known_condition != 0;
  const bool goes = p.what == Deciding::kIf ? condition : next_trip(p, condition, fault);
  const int way = p.what == Deciding::kIf && !condition;
  if ((goes || way) && p.taken[way]) *p.taken[way] = *p.taken[way] + 1;
  if ((goes || way) && p.refuses[way] && !fault) *p.fault = p.fault_value;
  if (p.handles[0]) set_conditional(p.handles[0], goes);
  if (p.handles[1]) set_conditional(p.handles[1], way);
  if (p.run_fault && !goes) tell_host(p);
}

}  // namespace ingot::cuda
