// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/emulator.cpp - fibers, barriers, warp operations, copies that land late.
#include "kernels/cuda/emulate/emulator.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/cuda/emulate/shared_memory.h"

extern "C" void ingot_switch_fiber(void** save, void* load);

// Saves what a called function must keep, swaps stacks.
#if defined(__x86_64__)
asm(R"(.text
.globl ingot_switch_fiber
.type ingot_switch_fiber,@function
ingot_switch_fiber:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size ingot_switch_fiber, .-ingot_switch_fiber
)");
#elif defined(__aarch64__)
asm(R"(.text
.globl ingot_switch_fiber
.type ingot_switch_fiber,%function
ingot_switch_fiber:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size ingot_switch_fiber, .-ingot_switch_fiber
)");
#else
#error "the emulator needs a context switch for this architecture"
#endif

namespace ingot::cuda::emulate {

thread_local Place* here = nullptr;
thread_local Counts counts;

namespace {

// What is not touched takes no memory. Sanitized frames are several times as large.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define INGOT_LARGE_FRAMES 1
#endif
#endif
#ifdef INGOT_LARGE_FRAMES
constexpr size_t kStack = 1 << 20;
#else
constexpr size_t kStack = 128 << 10;
#endif
// Stacks that begin at one offset of a page share a few sets of the first cache: each begins some
// lines below the one before it.
constexpr size_t kLine = 64, kColors = 64, kColorStep = 5;
constexpr unsigned kMaxThreads = 1024;

struct Copy {
  void* to;
  const void* from;  // null: `early`
  unsigned bytes, group;
  unsigned char early[16];  // what was there when it was asked for
};
struct Fiber {
  Place place;
  unsigned lane = 0, warp = 0;
  bool is_done = false, has_waited = false;  // for launches
  const unsigned* waits_on = nullptr;        // runs again once this is no longer `seen`
  unsigned seen = 0;
  std::vector<Copy> copies;
  unsigned groups = 0;
  void* stack_pointer = nullptr;
  std::unique_ptr<unsigned char[]> stack;
};
/// Lanes of one warp that are about to do the same thing. A warp may be in several such groups.
struct Meeting {
  uint32_t mask = 0, arrived = 0;
  unsigned generation = 0;
  const char* operation = nullptr;
  void* registers[32];
};
struct Warp {
  Meeting meetings[4];
  Site barrier;  // where its lanes wait
  unsigned at_barrier = 0, barrier_generation = 0;
};
/// What launches before this one may write, as they have written it.
class EarlyStart {
 public:
  std::vector<Range> ranges;
  bool is_on() const { return is_on_; }
  void begin(uint64_t blocks_done) {
    size_t bytes = 0;
    for (const Range& r : ranges) bytes += r.bytes;
    constexpr uint64_t kBlocks = 4, kBytes = 1 << 16;
    is_on_ = bytes && blocks_done < kBlocks && (bytes < kBytes || blocks_done == 0);
    if (!is_on_) return;
    kept_.resize(bytes);
    size_t at = 0;
    for (const Range& r : ranges) std::memcpy(&kept_[at], r.at, r.bytes), at += r.bytes;
    for (const Range& r : ranges) std::memset(r.at, kPoison, r.bytes);
  }
  void end() {
    size_t at = 0;
    for (const Range& r : ranges)
      for (size_t i = 0; i < r.bytes; i++)
        if (static_cast<unsigned char*>(r.at)[i] != kPoison)
          fail("a kernel wrote before it waited for the launches in front of it");
    for (const Range& r : ranges) std::memcpy(r.at, &kept_[at], r.bytes), at += r.bytes;
    is_on_ = false;
  }

 private:
  static constexpr unsigned char kPoison = 0xff;  // NaN in every type of floats
  std::vector<unsigned char> kept_;
  bool is_on_ = false;
};
uint32_t order = 0;
/// An order in which to visit the threads of a block, or the blocks of a grid.
struct Sweep {
  uint64_t at = 0, step = 1;
  Sweep() = default;
  Sweep(uint64_t count, uint32_t* random) {
    if (order == 1) {
      at = step = count - 1;
    } else if (order) {
      *random = *random * 1664525u + 1013904223u;
      at = *random >> 8;
      step = (*random >> 4 & 15) * 2 + 1;
      while (std::gcd(step, count) != 1) step += 2;
    }
    at %= count;
    step %= count;
  }
  void advance(uint64_t count) { at = at + step < count ? at + step : at + step - count; }
};

struct Block {
  unsigned threads = 0, alive = 0, at_barrier = 0, barrier_generation = 0;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  SharedMemory shared;
  EarlyStart early;
  unsigned releases = 0;  // of threads that wait for launches
  void* main_stack = nullptr;
  void (*body)(const void*) = nullptr;
  const void* argument = nullptr;
  Sweep sweep;
  uint32_t* random = nullptr;
  unsigned visited = 0;   // in this sweep
  bool progress = false;  // likewise: a thread went on
  void begin_sweep() { sweep = Sweep(threads, random), visited = 0, progress = false; }
};
thread_local Block* block = nullptr;
thread_local Fiber* current = nullptr;
thread_local std::vector<Range> next_ranges;  // see start_early()

/// The next thread that can go on; null once all of the block have ended.
Fiber* next_fiber() {
  Block& b = *block;
  for (;;) {
    for (; b.visited < b.threads; b.visited++, b.sweep.advance(b.threads)) {
      Fiber& fiber = b.fibers[b.sweep.at];
      if (fiber.is_done || (fiber.waits_on && *fiber.waits_on == fiber.seen)) continue;
      b.visited++, b.sweep.advance(b.threads);
      b.progress = true;
      return &fiber;
    }
    if (!b.alive) return nullptr;
    if (!b.progress && b.early.is_on()) {
      b.early.end();
      b.releases++;
    } else if (!b.progress) {
      fail("deadlock: a barrier or a warp operation that not all threads reach");
    }
    b.begin_sweep();
  }
}
/// Leaves a stack for that of the next thread, or for the one that began the block.
void leave(void** save) {
  Fiber* const next = next_fiber();
  if (next == current) return;
  current = next;
  if (next) here = &next->place;
  ingot_switch_fiber(save, next ? next->stack_pointer : block->main_stack);
}
void wait_until_changed(const unsigned& generation, unsigned seen) {
  Fiber* own = current;
  own->waits_on = &generation;
  own->seen = seen;
  do leave(&own->stack_pointer);
  while (generation == seen);
  own->waits_on = nullptr;
}
void open_barrier_if_full() {
  if (!block->at_barrier || block->at_barrier != block->alive) return;
  block->at_barrier = 0;
  block->barrier_generation++;
}
/// The last warp of a block may be partial.
uint32_t live(uint32_t mask) {
  const unsigned lanes = block->threads - current->warp * 32;
  return lanes < 32 ? mask & ((1u << lanes) - 1) : mask;
}

void fiber_main() {
  for (;;) {  // a finished fiber waits here for its next block
    block->body(block->argument);
    if (!current->copies.empty())
      fail("a kernel ended with an asynchronous copy that nobody waited for");
    if (!current->has_waited && !block->early.ranges.empty())
      fail("a thread ended that did not wait for the launches in front of it");
    current->is_done = true;
    block->alive--;
    open_barrier_if_full();
    leave(&current->stack_pointer);
  }
}
void prepare(Fiber& fiber, unsigned index) {
  if (fiber.stack) return;
  fiber.stack.reset(new unsigned char[kStack]);
  const size_t color = index * kColorStep % kColors * kLine;
  const uintptr_t top =
      (reinterpret_cast<uintptr_t>(fiber.stack.get()) + kStack - color) & ~uintptr_t{15};
#if defined(__x86_64__)
  uintptr_t* frame = reinterpret_cast<uintptr_t*>(top) - 8;
  std::memset(frame, 0, 64);
  frame[6] = reinterpret_cast<uintptr_t>(&fiber_main);
#else
  uintptr_t* frame = reinterpret_cast<uintptr_t*>(top - 160);
  std::memset(frame, 0, 160);
  frame[11] = reinterpret_cast<uintptr_t>(&fiber_main);
#endif
  fiber.stack_pointer = frame;
}

void run_block(Dim3 at, Dim3 grid, uint64_t blocks_done, uint32_t* random) {
  Block& b = *block;
  b.early.begin(blocks_done);
  b.alive = b.threads;
  b.at_barrier = 0;
  b.shared.begin_block();
  b.warps.assign((b.threads + 31) / 32, {});
  for (unsigned i = 0; i < b.threads; i++) {
    Fiber& fiber = b.fibers[i];
    fiber.is_done = fiber.has_waited = false;
    fiber.waits_on = nullptr;
    fiber.copies.clear();
    fiber.groups = 0;
    fiber.lane = i % 32;
    fiber.warp = i / 32;
    fiber.place = {{i, 0, 0}, at, {b.threads, 1, 1}, grid};
    prepare(fiber, i);
  }
  b.random = random;
  b.begin_sweep();
  leave(&b.main_stack);
  b.shared.end_block();
}

}  // namespace

void set_order(uint32_t to) { order = to; }
unsigned lane_index() { return current->lane; }

void (*conditional_setter)(uint64_t handle, bool value) = nullptr;

void fail(const char* what) {
  std::fprintf(stderr, "emulated GPU: %s", what);
  if (here)
    std::fprintf(stderr, ": block (%u,%u,%u) thread %u", here->block.x, here->block.y,
                 here->block.z, here->thread.x);
  std::fputc('\n', stderr);
  std::abort();
}

void* dynamic_shared() { return block->shared.dynamic(); }
void declare_shared(void* at, size_t bytes) { block->shared.declare(at, bytes); }
void* common_shared(size_t bytes) {
  static thread_local const std::unique_ptr<unsigned char[]> room(
      new unsigned char[kMaxCommonShared]);
  declare_shared(room.get(), bytes);
  return room.get();
}

/// All lanes of a warp wait in the same place: bar.sync is aligned, so two branches with a barrier
/// each are undefined on a GPU.
void sync_block(const Site& site) {
  const unsigned generation = block->barrier_generation;
  Warp& warp = block->warps[current->warp];
  if (warp.barrier_generation != generation)
    warp.barrier_generation = generation, warp.at_barrier = 0;
  if (warp.at_barrier++ && !(warp.barrier == site)) fail("lanes of one warp wait at two barriers");
  warp.barrier = site;
  block->at_barrier++;
  open_barrier_if_full();
  if (block->barrier_generation == generation)
    wait_until_changed(block->barrier_generation, generation);
}

void start_early(const Range* ranges, size_t count) { next_ranges.assign(ranges, ranges + count); }
void wait_for_launches() {
  if (current->has_waited) return;
  current->has_waited = true;
  if (block->early.is_on()) wait_until_changed(block->releases, block->releases);
}
void prefetch(const void* at) {
  (void)*static_cast<const volatile unsigned char*>(at);
  counts.prefetches++;
}

void need_whole_warp(const char* operation) {
  if (live(~0u) != ~0u) fail(operation);
}

void meet(const char* operation, uint32_t mask, void* registers,
          void (*operate)(void* const*, uint32_t, void*), void* more) {
  Warp& warp = block->warps[current->warp];
  mask = live(mask);
  if (!(mask >> current->lane & 1)) fail("a lane is not in its own mask");
  Meeting* own = nullptr;
  for (Meeting& m : warp.meetings)
    if (m.arrived && m.mask == mask) own = &m;
  for (Meeting& m : warp.meetings)
    if (!own && !m.arrived) {
      own = &m;
      own->mask = mask;
      own->operation = operation;
    }
  if (!own) fail("too many groups in one warp");
  if (own->operation != operation && std::strcmp(own->operation, operation) != 0)
    fail("lanes of one warp disagree on the operation");
  own->registers[current->lane] = registers;
  own->arrived |= 1u << current->lane;
  if (own->arrived != mask) return wait_until_changed(own->generation, own->generation);
  operate(own->registers, mask, more);
  own->arrived = 0;
  own->generation++;
}

void async_copy(void* to, const void* from, unsigned bytes, bool valid) {
  static constexpr unsigned char kZeros[16] = {};
  const bool aligned = reinterpret_cast<uintptr_t>(to) % bytes == 0 &&
                       (!valid || reinterpret_cast<uintptr_t>(from) % bytes == 0);
  if (!aligned || (bytes != 4 && bytes != 8 && bytes != 16))
    fail("an asynchronous copy of 4, 8 or 16 bytes that is not so aligned");
  std::memset(to, 0xff, bytes);
  Copy copy = {to, valid ? from : kZeros, bytes, current->groups, {}};
  if (!current->has_waited) std::memcpy(copy.early, copy.from, bytes), copy.from = nullptr;
  counts.copies++, counts.early_copies += !current->has_waited;
  current->copies.push_back(copy);
}
void async_commit() { current->groups++; }
void async_wait(unsigned pending) {
  std::vector<Copy>& copies = current->copies;
  size_t landed = 0;
  for (; landed < copies.size() && copies[landed].group + pending < current->groups; landed++)
    std::memcpy(copies[landed].to, copies[landed].from ? copies[landed].from : copies[landed].early,
                copies[landed].bytes);
  copies.erase(copies.begin(), copies.begin() + ptrdiff_t(landed));
}

void count_conflicts(const void* const* addresses, int count, unsigned bytes) {
  counts.bank_conflicts += bank_conflicts(addresses, count, bytes);
}

void launch(Dim3 grid, unsigned threads, uint32_t shared_bytes, void (*body)(const void*),
            const void* argument) {
  static thread_local Block own;
  if (threads == 0 || threads > kMaxThreads || grid.y > 65535 || grid.z > 65535 ||
      grid.x > 0x7fffffff || grid.x == 0 || grid.y == 0 || grid.z == 0)
    fail("a launch out of bounds");
  block = &own;
  own.threads = threads;
  if (own.fibers.size() < threads) own.fibers.resize(threads);
  own.shared.begin_launch(shared_bytes);
  own.early.ranges = next_ranges;
  own.body = body;
  own.argument = argument;
  counts.launches++;
  uint32_t random = order;
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  Sweep sweep(blocks, &random);
  for (uint64_t i = 0; i < blocks; i++, sweep.advance(blocks)) {
    const uint64_t row = sweep.at / grid.x;
    run_block({unsigned(sweep.at % grid.x), unsigned(row % grid.y), unsigned(row / grid.y)}, grid,
              i, &random);
  }
  here = nullptr;
}

}  // namespace ingot::cuda::emulate
