// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/pipeline.cpp - slots of a pipeline on a GPU: inputs go up on one stream,
// programs run on the session's, outputs come down on a third. Each slot has its own buffers,
// descriptors and graph, which never change, so nothing that is queued can be overtaken by what the
// CPU does next; events order the three streams within a slot, and the one compute stream orders
// the slots.
#include <initializer_list>
#include <new>

#include "runtime/base/os/file.h"
#include "runtime/base/os/memory.h"
#include "runtime/base/os/thread.h"
#include "runtime/device/cuda/session_state.h"

namespace ingot {

/// A slot and what the driver holds for it.
struct Lane {
  QueueSlot slot;
  cuda::Piece piece;
  cuda::Event uploaded = nullptr, computed = nullptr, ended = nullptr;
};

struct DeviceQueue {
  Device* device = nullptr;
  // two, since a copy waits for all that was queued before it
  cuda::Stream up = nullptr, down = nullptr;
  uint32_t count = 0;
  Lane lanes[kMaxSlots];
};

namespace cuda {
namespace {

Address device_address(const void* pointer) {
  return Address(reinterpret_cast<uintptr_t>(pointer));
}
bool uploads(const QueueSlot& slot) { return slot.input_bytes && slot.inputs != slot.host_inputs; }
bool downloads(const QueueSlot& slot) {
  return slot.output_bytes && slot.outputs != slot.host_outputs;
}

/// Streams and events. @pre the context is current
Result take(DeviceQueue* queue) {
  bool any_up = false, any_down = false;
  for (uint32_t i = 0; i < queue->count; i++) {
    any_up |= uploads(queue->lanes[i].slot);
    any_down |= downloads(queue->lanes[i].slot);
  }
  Result result = 0;
  if (any_up) result = driver().cuStreamCreate(&queue->up, kStreamNonBlocking);
  if (!result && any_down) result = driver().cuStreamCreate(&queue->down, kStreamNonBlocking);
  for (uint32_t i = 0; i < queue->count && !result; i++) {
    Lane& lane = queue->lanes[i];
    if (uploads(lane.slot)) result = driver().cuEventCreate(&lane.uploaded, kEventDisableTiming);
    if (!result && downloads(lane.slot))
      result = driver().cuEventCreate(&lane.computed, kEventDisableTiming);
    if (!result) result = driver().cuEventCreate(&lane.ended, event_flags(*queue->device));
  }
  return result;
}

/// Copy, run and copy, each on its stream, each behind the one before.
Result queue_inputs(DeviceQueue* queue, Lane& lane, Stream compute) {
  const QueueSlot& slot = lane.slot;
  if (!uploads(slot)) return 0;
  Result result = driver().cuMemcpyHtoDAsync_v2(device_address(slot.inputs), slot.host_inputs,
                                                size_t(slot.input_bytes), queue->up);
  if (!result) result = driver().cuEventRecord(lane.uploaded, queue->up);
  return result ? result : driver().cuStreamWaitEvent(compute, lane.uploaded, 0);
}
Result queue_outputs(DeviceQueue* queue, Lane& lane, Stream compute) {
  const QueueSlot& slot = lane.slot;
  Result result = 0;
  Stream last = compute;
  if (downloads(slot)) {
    result = driver().cuEventRecord(lane.computed, compute);
    if (!result) result = driver().cuStreamWaitEvent(queue->down, lane.computed, 0);
    if (!result)
      result = driver().cuMemcpyDtoHAsync_v2(slot.host_outputs, device_address(slot.outputs),
                                             size_t(slot.output_bytes), queue->down);
    last = queue->down;
  }
  return result ? result : driver().cuEventRecord(lane.ended, last);
}

/// The driver has no wait that ends by itself. Asked often at first, for runs that are nearly over,
/// then every 100 us at most. kNotReady: it is deadline_ns.
Result poll_until(Event event, uint64_t deadline_ns) {
  constexpr uint64_t kLongestNap = 100'000;
  std::atomic<uint32_t> nobody{0};  // wakes us
  for (uint64_t nap = 0;; nap = nap ? (nap < kLongestNap ? nap * 2 : nap) : 1000) {
    const Result result = driver().cuEventQuery(event);
    const uint64_t now = os::monotonic_ns();
    if (result != kNotReady || now >= deadline_ns) return result;
    if (nap) os::wait_on(&nobody, 0, nap < deadline_ns - now ? nap : deadline_ns - now);
  }
}

}  // namespace

uint64_t queue_bytes() { return sizeof(DeviceQueue); }

Status open_queue(Device& device, Span<const QueueSlot> slots, DeviceQueue** out,
                  ErrorDetail* detail) {
  void* block = os::heap_allocate(sizeof(DeviceQueue), alignof(DeviceQueue));
  if (!block)
    return fail_on(device, detail, Code::kOutOfMemory, "device: a pipeline's queue",
                   sizeof(DeviceQueue));
  DeviceQueue* queue = new (block) DeviceQueue;
  queue->device = &device;
  queue->count = uint32_t(slots.size);
  for (uint32_t i = 0; i < queue->count; i++) queue->lanes[i].slot = slots[i];
  Status status;
  {
    const Current current(state_of(device).gpu.context);
    if (const Result result = current.refused() ? current.refused() : take(queue))
      status = fail_with(device, detail, result, Code::kDeviceLost);
    for (uint32_t i = 0; i < queue->count && status.ok(); i++)
      status = make_piece(device, queue->lanes[i].slot.program, &queue->lanes[i].piece, detail);
  }
  if (!status.ok()) {
    close_queue(queue);
    return status;
  }
  *out = queue;
  return {};
}

void close_queue(DeviceQueue* queue) {
  if (!is_forked()) {
    SessionState& s = state_of(*queue->device);
    const Current current(s.gpu.context);
    // What is queued uses what is given back below. Errors were told, or nobody asks for them any
    // more.
    if (queue->up) driver().cuStreamSynchronize(queue->up);
    driver().cuStreamSynchronize(s.stream);
    if (queue->down) driver().cuStreamSynchronize(queue->down);
    for (const Lane& lane : Span<const Lane>(queue->lanes, queue->count)) {
      if (lane.piece.exec) driver().cuGraphExecDestroy(lane.piece.exec);
      for (const Event event : {lane.uploaded, lane.computed, lane.ended})
        if (event) driver().cuEventDestroy_v2(event);
    }
    if (queue->up) driver().cuStreamDestroy_v2(queue->up);
    if (queue->down) driver().cuStreamDestroy_v2(queue->down);
  }
  os::heap_release(queue);
}

Status submit_slot(DeviceQueue* queue, uint32_t index, ErrorDetail* detail) {
  Device& device = *queue->device;
  INGOT_TRY(check_usable(device, detail));
  SessionState& s = state_of(device);
  Lane& lane = queue->lanes[index];
  *static_cast<volatile uint32_t*>(lane.slot.program.fault) = 0;
  const Current current(s.gpu.context);
  Result result = current.refused();
  if (!result) result = queue_inputs(queue, lane, s.stream);
  if (result) return lose(device, detail, result);
  INGOT_TRY(launch_piece(device, lane.slot.program, lane.piece, detail));
  result = queue_outputs(queue, lane, s.stream);
  return result ? lose(device, detail, result) : Status();
}

Status collect_slot(DeviceQueue* queue, uint32_t index, uint64_t deadline_ns, ErrorDetail* detail) {
  Device& device = *queue->device;
  INGOT_TRY(check_usable(device, detail));
  const Lane& lane = queue->lanes[index];
  const Current current(state_of(device).gpu.context);
  if (current.refused()) return lose(device, detail, current.refused());
  const Result result =
      deadline_ns ? poll_until(lane.ended, deadline_ns) : driver().cuEventSynchronize(lane.ended);
  if (result == kNotReady)
    return fail(detail, Code::kDeadlineExceeded, "pop: deadline in ns", deadline_ns,
                os::monotonic_ns());
  return result ? lose(device, detail, result) : read_fault(device, lane.slot.program, detail);
}

}  // namespace cuda
}  // namespace ingot
