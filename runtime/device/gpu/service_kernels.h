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
  // in pinned memory, the loop's own: 0 where `begins` is 1, else one more
  volatile int64_t* counter;
  uint64_t begins;
  const uint8_t* condition;
  const int64_t* count;
  volatile ControlMailbox* mailbox;
};

/// A loop that has begun, where the GPU decides; pinned memory, by how many loops it lies in.
struct LoopTrip {
  int64_t iteration, count;
};
enum class Deciding : uint32_t { kIf = 0, kLoop = 1, kRepeat = 2 };
/// The parameter of the kernel decide, which sets conditions of a graph's nodes: those of an If, or
/// of a Loop before its first iteration and behind each. Null or 0: not asked for.
struct DecideParams {
  uint64_t handles[2];  // of the driver: where the If is true, where it is false; of the Loop
  Deciding what;
  uint32_t refuses[2];   // 1: the file has no such branch
  uint32_t fault_value;  // written to `fault` where the file was not converted for what is asked
  volatile uint32_t* fault;     // of the run; where one was found, no loop goes on
  volatile uint64_t* taken[2];  // one more where that branch or the body begins
  const uint8_t* condition;     // null: `known_condition`
  const int64_t* count;         // null: `known_count`
  uint64_t known_condition;
  int64_t known_count, most;
  int64_t* iteration;  // for the body, which may overwrite it
  volatile LoopTrip* trip;
  volatile ControlMailbox* mailbox;  // the count that was too large
};

}  // namespace ingot
