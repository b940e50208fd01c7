// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/emulator.h - runs device code on a CPU: one fiber a thread of a block,
// blocks one after the other. It finds what a CPU would forgive: a missing barrier (threads run in
// an adversarial order, blocks too), a barrier or a warp operation that not all of a group reach,
// two barriers for one warp, a shuffle from a lane outside its mask, an asynchronous copy that
// nobody waited for (it lands no earlier than it is waited for, over poison), misaligned rows,
// shared memory that is read before it is written or is more than there is; and it counts bank
// conflicts. Mistakes end the process with one line: these are bugs of kernels.
// Threads  one launch at a time in each OS thread; everything is thread_local.
#pragma once
#include <cstdint>
#include <cstring>

namespace ingot::cuda::emulate {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// Of the launch and thread that run now.
struct Place {
  Dim3 thread, block, block_dim, grid_dim;
};
extern thread_local Place* here;

/// Of threads and of blocks. 0: ascending, 1: descending, else a new random order in each sweep,
/// from this seed.
void set_order(uint32_t order);

/// Runs body(argument) in every thread of the grid. `shared_bytes`: dynamic shared memory. All of a
/// block's is filled with a pattern first.
void launch(Dim3 grid, unsigned threads, uint32_t shared_bytes, void (*body)(const void* argument),
            const void* argument);

/// Memory that launches before this one may write.
struct Range {
  void* at;
  size_t bytes;
};
/// Until it is called again launches start while the one before them runs: what is in `ranges` is
/// poison to a block until none of its threads can go on without wait_for_launches(). Who writes
/// there before fails. Of large ranges and grids the first blocks alone.
void start_early(const Range* ranges, size_t count);
/// Each thread calls it before it ends.
void wait_for_launches();
/// Counts, and reads a byte.
void prefetch(const void* at);

struct Counts {
  uint64_t launches = 0, tensor_products = 0, matrix_loads = 0, bank_conflicts = 0, copies = 0;
  uint64_t early_copies = 0, prefetches = 0;  // early: before wait_for_launches()
};
extern thread_local Counts counts;

/// Where in the source a thread is.
struct Site {
  const char* file = "";
  int line = 0;
  bool operator==(const Site& other) const {
    return line == other.line && std::strcmp(file, other.file) == 0;
  }
};

void* dynamic_shared();
void declare_shared(void* at, size_t bytes);
/// Of this thread, not on its stack: for kernels of many instances, one of which runs at a time.
void* common_shared(size_t bytes);
constexpr size_t kMaxCommonShared = 48 << 10;
void sync_block(const Site& site);
[[noreturn]] void fail(const char* what);

/// Of a variable's name, which is not to be followed by extents.
constexpr bool is_name(const char* text) {
  return *text == 0 || (*text != '[' && is_name(text + 1));
}

/// Where cudaGraphSetConditional() ends: whoever has graphs puts itself here. Null: a kernel that
/// calls it fails.
extern void (*conditional_setter)(uint64_t handle, bool value);
inline void set_conditional(uint64_t handle, bool value) {
  if (!conditional_setter) fail("a condition is set where there are no graphs");
  conditional_setter(handle, value);
}

/// The lanes of `mask` meet; the last to come runs operate(registers, mask), where registers[i] is
/// what lane i passed: it lies on that lane's suspended stack, so that the operation reads and
/// writes the registers of the whole warp in place.
void meet(const char* operation, uint32_t mask, void* registers,
          void (*operate)(void* const* registers, uint32_t mask, void* more), void* more);
unsigned lane_index();
/// A warp operation of all 32 lanes, or the process ends.
void need_whole_warp(const char* operation);

/// cp.async: poisons `to` now, copies (or writes zeros) when waited for. bytes: 4, 8 or 16.
void async_copy(void* to, const void* from, unsigned bytes, bool valid);
void async_commit();
/// All but the `pending` youngest groups land.
void async_wait(unsigned pending);

/// Adds the extra passes that 32 (or fewer) simultaneous accesses of `bytes` each to shared memory
/// take.
void count_conflicts(const void* const* addresses, int count, unsigned bytes);

template <class T>
T shuffle(const char* operation, uint32_t mask, T value, unsigned from) {
  struct Registers {
    T value, result;
    unsigned from;
  } mine{value, value, from};
  meet(
      operation, mask, &mine,
      [](void* const* all, uint32_t live, void*) {
        for (int i = 0; i < 32; i++) {
          if (!(live >> i & 1)) continue;
          Registers& own = *static_cast<Registers*>(all[i]);
          if (own.from > 31 || !(live >> own.from & 1))
            fail("a shuffle reads a lane outside its mask");
          own.result = static_cast<Registers*>(all[own.from])->value;
        }
      },
      nullptr);
  return mine.result;
}

}  // namespace ingot::cuda::emulate

// The names of CUDA that kernels use.
#define GPU_SHARED(type, name)                                                       \
  static_assert(::ingot::cuda::emulate::is_name(#name), "arrays: GPU_SHARED_ARRAY"); \
  GPU_SHARED_ARRAY(type, name, )
#define GPU_SHARED_ARRAY(type, name, extents) \
  static thread_local type name extents;      \
  ::ingot::cuda::emulate::declare_shared(&(name), sizeof(name))
#define GPU_COMMON_SHARED(type, name)                                                         \
  static_assert(sizeof(type) <= ::ingot::cuda::emulate::kMaxCommonShared, "more is dynamic"); \
  auto& name = *static_cast<type*>(::ingot::cuda::emulate::common_shared(sizeof(type)))
#define threadIdx (::ingot::cuda::emulate::here->thread)
#define blockIdx (::ingot::cuda::emulate::here->block)
#define blockDim (::ingot::cuda::emulate::here->block_dim)
#define gridDim (::ingot::cuda::emulate::here->grid_dim)

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  ::ingot::cuda::emulate::sync_block({file, line});
}
inline void __syncwarp(uint32_t mask = ~0u) {
  char nothing = 0;
  ::ingot::cuda::emulate::meet(
      "__syncwarp", mask, &nothing, [](void* const*, uint32_t, void*) {}, nullptr);
}
template <class T>
T __shfl_sync(uint32_t mask, T value, int from, int width = 32) {
  const unsigned lane = ::ingot::cuda::emulate::lane_index(), first = lane & ~unsigned(width - 1);
  return ::ingot::cuda::emulate::shuffle("__shfl_sync", mask, value,
                                         first | (unsigned(from) & unsigned(width - 1)));
}
template <class T>
T __shfl_xor_sync(uint32_t mask, T value, int lanes, int width = 32) {
  const unsigned lane = ::ingot::cuda::emulate::lane_index(), from = lane ^ unsigned(lanes);
  const unsigned end = (lane & ~unsigned(width - 1)) + unsigned(width);
  return ::ingot::cuda::emulate::shuffle("__shfl_xor_sync", mask, value, from < end ? from : lane);
}
template <class T>
T __shfl_down_sync(uint32_t mask, T value, unsigned lanes, int width = 32) {
  const unsigned lane = ::ingot::cuda::emulate::lane_index();
  const bool inside = (lane & unsigned(width - 1)) + lanes < unsigned(width);
  return ::ingot::cuda::emulate::shuffle("__shfl_down_sync", mask, value,
                                         inside ? lane + lanes : lane);
}
template <class T>
T __shfl_up_sync(uint32_t mask, T value, unsigned lanes, int width = 32) {
  const unsigned lane = ::ingot::cuda::emulate::lane_index();
  const bool inside = (lane & unsigned(width - 1)) >= lanes;
  return ::ingot::cuda::emulate::shuffle("__shfl_up_sync", mask, value,
                                         inside ? lane - lanes : lane);
}
inline unsigned __ballot_sync(uint32_t mask, int predicate) {
  unsigned vote = predicate != 0;
  ::ingot::cuda::emulate::meet(
      "__ballot_sync", mask, &vote,
      [](void* const* all, uint32_t live, void*) {
        unsigned votes = 0;
        for (int i = 0; i < 32; i++)
          if (live >> i & 1) votes |= *static_cast<unsigned*>(all[i]) << i;
        for (int i = 0; i < 32; i++)
          if (live >> i & 1) *static_cast<unsigned*>(all[i]) = votes;
      },
      nullptr);
  return vote;
}
// Threads of a launch share one OS thread, so an atomic is plain.
template <class T>
T atomicAdd(T* at, T value) {
  const T old = *at;
  *at = T(old + value);
  return old;
}
template <class T>
T atomicMax(T* at, T value) {
  const T old = *at;
  *at = value > old ? value : old;
  return old;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}
inline void __threadfence() {}
