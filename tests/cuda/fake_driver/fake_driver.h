// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/fake_driver.h - what tests ask of the fake CUDA driver and tell it. The
// library exports the driver's own names; load it through INGOT_CUDA_DRIVER, then find
// `fake_cuda_control` with dlsym in the same library.
//
// It pretends to be GPUs whose memory is the heap: every address is checked against what was handed
// out, memory begins with a pattern, pinned memory is counted apart, kernels run in the emulator,
// at the time of their launch or as late as streams and events allow (`order`). Misuse that a real
// driver would punish much later (a stray address, a context that is not current, a handle that was
// destroyed) ends with an error at once.
//
// Conditional nodes of graphs are there from FAKE_CUDA_VERSION 12040 on, a second body of an If
// from 12080 on; older versions refuse both.
//
// Time is pretended as well, and passes for kernels alone: FAKE_CUDA_TIMES gives nanoseconds of a
// launch by name ("conv2d_thin=500,add_splits=90"), a million where it says nothing.
// FAKE_CUDA_NOISE: each n-th graph takes ten times as long.
//
// A hostile one: FAKE_CUDA_INIT_MS (what cuInit takes where no process has a context; those that
// have one hold a lock of the file FAKE_CUDA_AWAKE), FAKE_CUDA_HANG (a kernel that never ends, by
// name), FAKE_CUDA_UNKILLABLE (the process that waits for it does not go when it is killed),
// FAKE_CUDA_WRONG (a kernel that does nothing), FAKE_CUDA_RACES (kernels that start early do not
// wait), FAKE_CUDA_REFUSES (what graphs lack: "early", "branches", "conditions", "graphs").
//
// FAKE_CUDA_NAME (of the first GPU), FAKE_CUDA_DEVICES (1), FAKE_CUDA_MIB (memory, 4096),
// FAKE_CUDA_SM (0: takes the image "emulated"; 87: takes cubins of sm_87 and looks kernels up in
// them too), FAKE_CUDA_INTEGRATED, FAKE_CUDA_COMPUTE_MODE (2: prohibited, 3: exclusive, and another
// process has it; -3: and none has); of several GPUs one number for each, "90,61".
// FAKE_CUDA_VERSION (13000), FAKE_CUDA_ORDER (of threads), CUDA_VISIBLE_DEVICES as the driver's
// own, FAKE_CUDA_FAIL ("n:code": the n-th call of the process), FAKE_CUDA_REPORT (a file that
// receives the counts when the process ends, those of each kernel among them).
#pragma once
#include <cstdint>

struct FakeCuda {
  // counts
  // of all entry points but cuGetErrorName
  uint64_t calls;
  // of them, pushes and pops of contexts
  uint64_t switches;
  uint64_t allocations, bytes;                                         // alive
  uint64_t pinned, contexts, modules, streams, events, graphs, execs;  // alive
  // graph launches, synchronizations, copies
  uint64_t launches, waits, uploads, downloads;
  // waits for an event whose thread sleeps
  uint64_t sleeps;
  // run in graphs; its clock: a kernel is 1 ms
  uint64_t kernels;
  // kernels that were launched without a graph
  uint64_t plain;
  // edges of graphs that let a kernel start early
  uint64_t early;
  // nodes of executable graphs that do not wait for the one that was added before them
  uint64_t branches;
  // conditional nodes that were reached
  uint64_t decided;
  // nodes of kernels that decide inside a loop and read words of the host's there
  uint64_t bus_words;
  uint64_t most_bytes;  // of device memory, ever
  uint64_t misuses;
  // faults
  uint64_t fail_at_call;  // counted from the moment it is set; 0: none
  int fail_code;          // a CUresult; 700 and above are sticky, as on hardware
  int sticky;             // the result of every call from now on; 0: none
  char last_call[64];
  // streams
  uint32_t order;         // 0: work is done when it is queued; else it waits, see Order
  uint64_t pinned_bytes;  // alive
  uint64_t queued;        // not done yet
  const char* times;      // as FAKE_CUDA_TIMES, which is asked where this is null
  // of a loop inside a graph; beyond them the device is lost, as in one without end. 0: 100,000
  uint64_t most_rounds;
  // a call that does nothing and says that it succeeded: a bug that a test plants
  const char* drop_call;
  long
      // a system call made with 1 at the entry of each call and with 0 at its end, for who traces
      // them; 0: none
      mark_call;
};
/// When work on streams is done.
enum Order : uint32_t {
  kAtOnce = 0,
  // only when somebody waits for it, the host or another stream: what was not waited for is not
  // there yet
  kLast = 1,
  kRandom =
      // this and above: a seed. Any stream may go on at any call, as far as the events that it
  // waits for let it
  2,
};
extern "C" FakeCuda* fake_cuda_control();
