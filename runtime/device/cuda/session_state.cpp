// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/session_state.cpp - made with a session's first memory on a GPU, gone with
// its last.
#include "runtime/device/cuda/session_state.h"

#include <new>

#include "runtime/base/os/memory.h"

namespace ingot::cuda {
namespace {

void release(SessionState* s) {
  {
    const Current current(s->gpu.context);
    drop_parts(s);
    if (s->ended) driver().cuEventDestroy_v2(s->ended);
    if (s->mailbox) driver().cuMemFreeHost(s->mailbox);
    if (s->stream && s->owns_stream) driver().cuStreamDestroy_v2(s->stream);
  }
  drop_gpu(s->gpu);
  os::heap_release(s);
}

}  // namespace

Result wait_for_stream(const SessionState& s) {
  if (!s.ended) return driver().cuStreamSynchronize(s.stream);
  const Result result = driver().cuEventRecord(s.ended, s.stream);
  return result ? result : driver().cuEventSynchronize(s.ended);
}

uint64_t zeroed_bytes(uint32_t precision) {
  return gpu_precision(precision) == GpuPrecision::kExact ? 0 : kGpuCounters * sizeof(uint32_t);
}

uint64_t loop_counter_bytes(uint32_t subprograms) {
  const uint64_t bytes = sizeof(LoopWords) + uint64_t(subprograms) * sizeof(uint64_t);
  return (bytes + 255) & ~uint64_t{255};
}

Status open_state(Device& device, ErrorDetail* detail) {
  Gpu gpu;
  INGOT_TRY(hold_gpu(device, &gpu, detail));
  void* block = os::heap_allocate(sizeof(SessionState), alignof(SessionState));
  if (!block) {
    drop_gpu(gpu);
    return fail_on(device, detail, Code::kOutOfMemory, "device: a session's state",
                   sizeof(SessionState));
  }
  SessionState* s = new (block) SessionState;
  s->gpu = gpu;
  Result result;
  void* mailbox = nullptr;
  {
    const Current current(gpu.context);
    s->stream = static_cast<Stream>(device.stream);
    s->owns_stream = !s->stream;
    result = current.refused();
    if (!result && s->owns_stream) result = driver().cuStreamCreate(&s->stream, kStreamNonBlocking);
    if (result && s->owns_stream) s->stream = nullptr;
    if (!result && device.blocking_wait) {
      result = driver().cuEventCreate(&s->ended, event_flags(device));
      if (result) s->ended = nullptr;
    }
    if (!result)
      result = driver().cuMemHostAlloc(&mailbox, kMailboxBytes, kHostPortable | kHostMapped);
  }
  if (result) {
    const Status status = fail_with(device, detail, result, Code::kDeviceLost);
    release(s);
    return status;
  }
  s->mailbox = new (mailbox) HostMailbox{};
  device.state = s;
  return {};
}

void close_state(Device& device) {
  if (!device.state) return;
  if (!is_forked()) release(&state_of(device));
  device.state = nullptr;
}

}  // namespace ingot::cuda
