// SPDX-License-Identifier: Apache-2.0
// runtime/session/split.h - a session whose instructions run on several devices. Each device has
// memory laid out by the one plan of the program, so a value has the same offset everywhere, and
// what another device reads is copied from there to there. In a run the steps are cut into segments
// of one device each; before a segment its transfers: the storage, whole, of what it reads, or
// writes a part of, and does not have the newest bytes of. An If or a Loop is on one device with
// all that is in it.
//   - each transfer is waited for, and each segment on a device with memory of its own
//   - a value that is read later is live until then, so its place is free of others on every
//   device: transfers may come early
//   - between two devices bytes go through the CPU's memory, at the same place
//   - an instruction that resolves a size on a device ends its segment, and the number is the first
//   thing that is copied after it
//   - inputs and state are on the CPU before a run; outputs and state (every value that is to be
//   kept) go back there after it
// Owns     devices' memory, through the session.
// Threads  as the session's.
// Calls    run: only what the devices do.
#pragma once
#include "runtime/session/assignment.h"

namespace ingot {

extern const SplitCode kSplitCode;
extern const DeviceInterface kSplitDevice;

/// The storage of `root`, between the CPU and a device.
struct Transfer {
  uint32_t device;
  bool is_upload;
  int32_t root;
  uint64_t offset, bytes;  // in the activations
};
/// Steps [first_step, end_step) of the program, after transfers [first_transfer, that of the next
/// one).
struct Segment {
  uint32_t device, first_step, end_step, first_transfer;
};

/// A SplitPlan with memory, in the session's own. The last segment has no steps: it brings home
/// what the run leaves.
struct Split : SplitPlan {
  uint8_t* home = nullptr;  // the CPU's activations
  Span<const Segment> segments;
  Span<const Transfer> transfers;
  uint64_t* part_offsets = nullptr;  // of the weights on the CPU
  // StepProgram::host_decides; asked once, since a run locks nothing
  const char* host_decides[kMaxDevices] = {};
};

}  // namespace ingot
