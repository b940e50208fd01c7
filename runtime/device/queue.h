// SPDX-License-Identifier: Apache-2.0
// runtime/device/queue.h - runs that are queued on a device and waited for later, alone or as slots
// of a pipeline.
// Owns     open: streams, events and graphs, until close.
// Threads  as the session's; of a pipeline submit and collect may be called by two threads at once.
// Errors   kDeviceLost kOutOfMemory kNoKernel; collect and finish: kBadIndexValue.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

/// A place in a pipeline. Its memory is its own from open to close, so that what the device reads
/// late never changes under it.
struct QueueSlot {
  StepProgram program;             // with descriptors and a fault word of the slot's
  uint8_t* host_inputs = nullptr;  // memory of the host that the device reads
  uint8_t* host_outputs = nullptr;
  // where descriptors point; the host's own memory where nothing is staged
  uint8_t* inputs = nullptr;
  uint8_t* outputs = nullptr;
  uint64_t input_bytes = 0, output_bytes = 0;
};
struct DeviceQueue;
constexpr uint32_t kMaxSlots = 16;

struct QueueInterface {
  /// The first half of run(): everything is queued, nothing waited for. `ended`, where it is not
  /// null, is called by a thread of the driver when the run has ended, unless the device was lost.
  Status (*launch)(Device& device, const StepProgram& program, void (*ended)(void*), void* user,
                   ErrorDetail* detail);
  /// The second.
  Status (*finish)(Device& device, const StepProgram& program, ErrorDetail* detail);
  bool (*is_ended)(Device& device);

  /// Whether inputs and outputs are copied to memory of the device beside the run before: not where
  /// the two memories are one.
  bool (*stages)(const Device& device);
  /// Of the heap, for a pipeline.
  uint64_t (*queue_bytes)();
  Status (*open)(Device& device, Span<const QueueSlot> slots, DeviceQueue** out,
                 ErrorDetail* detail);
  /// Waits for what is queued.
  void (*close)(DeviceQueue* queue);
  /// Queues copy, run and copy of a slot that is idle.
  Status (*submit)(DeviceQueue* queue, uint32_t slot, ErrorDetail* detail);
  /// Waits for it. kDeadlineExceeded: at deadline_ns of monotonic_ns() (0: no deadline) it had not
  /// ended; it goes on.
  Status (*collect)(DeviceQueue* queue, uint32_t slot, uint64_t deadline_ns, ErrorDetail* detail);
};

}  // namespace ingot
