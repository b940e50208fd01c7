// SPDX-License-Identifier: Apache-2.0
// runtime/device/gpu/service_kernels.h - parameters of the kernels that compute no operator: they
// move ports between the arena and the host, and decide Ifs and Loops. Shared by the host side and
// the device code.
// Owns     nothing.
// Threads  as the run that launches them.
#pragma once
#include <cstdint>

namespace ingot {

/// Where a port's bytes are in a run, as the kernels that move ports find it (pinned memory).
struct PortDescriptor {
  uint64_t address;     // of the GPU: pinned memory of the host, or the caller's device memory
  uint64_t row_stride;  // bytes there
};
/// The parameter of the kernels copy_in and copy_out: rows of `row_bytes` between the arena and the
/// place in the descriptor.
struct PortParams {
  const volatile PortDescriptor* descriptor;
  char* home;
  uint64_t home_stride;  // bytes
  uint64_t row_bytes, rows;
};

/// In pinned memory: what the host reads to go on behind an If or a Loop.
struct ControlMailbox {
  uint32_t condition;
  int64_t count;
};
/// The parameter of the kernel publish_condition. Null: not asked for.
struct ControlParams {
  int64_t* iteration;  // for the body, which may overwrite it
  int64_t* counter;    // the loop's own, in LoopWords: 0 where `begins` is 1, else one more
  uint64_t begins;
  const uint8_t* condition;
  const int64_t* count;
  volatile ControlMailbox* mailbox;
};

/// A loop that has begun.
struct LoopTrip {
  int64_t iteration, count;
};
/// What loops keep between their iterations, in the GPU's own memory: an iteration asks nothing of
/// the host's, which lies behind a bus.
struct LoopWords {
  LoopTrip trips[16];  // by how many loops a loop lies in
  uint32_t fault;      // of the loop that lies in none, found since it began
  uint32_t unused;
};
enum class Deciding : uint32_t { kIf = 0, kLoop = 1, kRepeat = 2 };
/// The parameter of the kernel decide, which sets conditions of a graph's nodes: those of an If, or
/// of a Loop before its first iteration and behind each. Null or 0: not asked for. Inside a loop
/// `fault` and `taken` are in the GPU's memory; a loop that lies in none clears them when it begins
/// and tells the host when it ends.
struct DecideParams {
  uint64_t handles[2];  // of the driver: where the If is true, where it is false; of the Loop
  Deciding what;
  uint32_t refuses[2];   // 1: the file has no such branch
  uint32_t fault_value;  // written to `fault` where the file was not converted for what is asked
  volatile uint32_t* fault;     // of the run; where one was found, no loop goes on
  volatile uint64_t* taken[2];  // one more where that branch or the body begins
  // Of a loop that lies in none: the host's words, and `counts`, which are `subprograms`.
  volatile uint32_t* run_fault;
  volatile uint64_t* run_counts;
  volatile uint64_t* counts;
  uint64_t subprograms;
  const uint8_t* condition;  // null: `known_condition`
  const int64_t* count;      // null: `known_count`
  uint64_t known_condition;
  int64_t known_count, most;
  int64_t* iteration;  // for the body, which may overwrite it
  volatile LoopTrip* trip;
  volatile ControlMailbox* mailbox;  // the count that was too large
};

}  // namespace ingot
