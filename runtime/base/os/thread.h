// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/thread.h - threads, waiting on a word, and forks.
// Owns     nothing: who starts a thread, joins it.
// Threads  any.
// Allocates start_thread (its stack, by the C
//          library).
// Errors   kThreadFailed; ErrorDetail.have is the system's error number. Without threads
//          start_thread() fails, processor_count() is 1, and waiting returns at once.
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/base/os/processors.h"
#include "runtime/base/status.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INGOT_SEES_ATOMICS 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define INGOT_SEES_ATOMICS 1
#endif
#if defined(__linux__) && !defined(INGOT_SEES_ATOMICS)
// Of ThreadSanitizer, in a program that was compiled with it; else null.
extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}
#define INGOT_TELLS_ORDER 1
#endif

namespace ingot::os {

/// ThreadSanitizer sees the atomics of what was compiled with it alone. In a program that was, this
/// tells it the order that an atomic of this library makes: `releases` in front of the store,
/// `acquired` behind the load that saw it. Elsewhere they are a test of a null pointer.
inline void releases([[maybe_unused]] const void* atomic) {
#ifdef INGOT_TELLS_ORDER
  if (__tsan_release) __tsan_release(const_cast<void*>(atomic));
#endif
}
inline void acquired([[maybe_unused]] const void* atomic) {
#ifdef INGOT_TELLS_ORDER
  if (__tsan_acquire) __tsan_acquire(const_cast<void*>(atomic));
#endif
}

#if defined(__linux__)
inline constexpr bool kHasThreads = true;
#else
inline constexpr bool kHasThreads = false;  // a port adds start_thread and a futex
#endif

/// Where a thread runs, and before whom.
struct ThreadPlace {
  ProcessorSet processors;  // none: where the thread that starts it may
  bool has_niceness = false;
  int niceness = 0;  // -20 (first) to 19, of the system's; below 0 needs a right
  bool is_given() const { return has_niceness || processors.count() > 0; }
};

/// Lives where its owner put it, until joined.
struct Thread {
  uint64_t handle = 0;
  bool started = false;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  const ThreadPlace* place = nullptr;  // until it is settled
  std::atomic<uint32_t> settled{0};    // 0: not yet, else 1 + the system's error number
};

/// Starts body(argument) with every signal blocked, so that handlers run on the application's
/// threads. Returns when the thread is in its place; where the system refuses that, there is none.
Status start_thread(Thread* thread, const ThreadPlace& place, void (*body)(void*), void* argument,
                    ErrorDetail* detail);
inline Status start_thread(Thread* thread, void (*body)(void*), void* argument,
                           ErrorDetail* detail) {
  return start_thread(thread, {}, body, argument, detail);
}
void join_thread(Thread* thread);
/// Address space that each thread takes: its stack and guard page.
uint64_t thread_outside_bytes();

/// Processors that this process may use.
int processor_count();

/// Sleeps while *word == value, until woken, or for at most timeout_ns (0: without end). May return
/// early.
void wait_on(std::atomic<uint32_t>* word, uint32_t value, uint64_t timeout_ns);
/// Wakes up to `count` sleepers. One system call.
void wake_sleepers(std::atomic<uint32_t>* word, int count);

/// Number of forks between the process in which watch_forks() was first called and this one.
/// Threads of another count than this are not ours: they stayed in the parent.
uint32_t fork_count();
Status watch_forks(ErrorDetail* detail);

/// Tells the processor that this is a spin.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");         // yield is a no-op on most cores; isb costs some 10 ns
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace ingot::os
