// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/thread.cpp - Linux, or nothing.
#include "runtime/base/os/thread.h"

#if defined(__linux__)

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

#include "runtime/base/os/file.h"

namespace ingot::os {
namespace {

// kernels keep their tiles in registers and their panels in scratch
constexpr uint64_t kStackBytes = 256 * 1024;

std::atomic<uint32_t> forks{0};
std::atomic<uint32_t> fork_watch{0};  // 0: none, 1: set

/// Of the calling thread. The system's error number, or 0.
int take_place(const ThreadPlace& place) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < ProcessorSet::kMax && i < CPU_SETSIZE; i++)
    if (place.processors.has(i)) CPU_SET(size_t(i), &set);
  if (CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) != 0) return errno;
  const id_t self = id_t(syscall(SYS_gettid));
  if (place.has_niceness && setpriority(PRIO_PROCESS, self, place.niceness) != 0) return errno;
  return 0;
}

void* enter(void* pointer) {
  Thread* thread = static_cast<Thread*>(pointer);
  if (thread->place) {
    const int error = take_place(*thread->place);
    thread->settled.store(1 + uint32_t(error), std::memory_order_release);
    wake_sleepers(&thread->settled, 1);
    if (error) return nullptr;
  }
  thread->body(thread->argument);
  return nullptr;
}

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Status start_thread(Thread* thread, const ThreadPlace& place, void (*body)(void*), void* argument,
                    ErrorDetail* detail) {
  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes))
    return fail(detail, Code::kThreadFailed, "thread", 0, uint64_t(error));
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread->body = body;
  thread->argument = argument;
  thread->place = place.is_given() ? &place : nullptr;
  thread->settled.store(0, std::memory_order_relaxed);
  pthread_t handle;
  const int error = pthread_create(&handle, &attributes, enter, thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error) return fail(detail, Code::kThreadFailed, "thread", 0, uint64_t(error));
  thread->handle = uint64_t(handle);
  thread->started = true;
  if (!thread->place) return {};
  uint32_t settled;
  while ((settled = thread->settled.load(std::memory_order_acquire)) == 0)
    wait_on(&thread->settled, 0, 0);
  if (settled == 1) return {};
  join_thread(thread);
  return fail(detail, Code::kThreadFailed, "thread: its processors or its priority", 0,
              settled - 1);
}

void join_thread(Thread* thread) {
  if (thread->started) pthread_join(pthread_t(thread->handle), nullptr);
  thread->started = false;
}

uint64_t thread_outside_bytes() { return kStackBytes + page_bytes(); }

int processor_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);  // more processors than a cpu_set_t holds
  return online > 0 ? int(online) : 1;
}

void wait_on(std::atomic<uint32_t>* word, uint32_t value, uint64_t timeout_ns) {
  timespec timeout = {};
  timeout.tv_sec = time_t(timeout_ns / 1000000000u);
  timeout.tv_nsec = long(timeout_ns % 1000000000u);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, value,
          timeout_ns ? &timeout : nullptr, nullptr, 0);
}

void wake_sleepers(std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr,
          0);
}

uint32_t fork_count() { return forks.load(std::memory_order_relaxed); }

Status watch_forks(ErrorDetail* detail) {
  if (fork_watch.exchange(1)) return {};
  const int error = pthread_atfork(nullptr, nullptr, count_fork);
  if (!error) return {};
  fork_watch.store(0);
  return fail(detail, Code::kThreadFailed, "thread: fork watch", 0, uint64_t(error));
}

}  // namespace ingot::os

#else

namespace ingot::os {

Status start_thread(Thread*, const ThreadPlace&, void (*)(void*), void*, ErrorDetail* detail) {
  return fail(detail, Code::kThreadFailed, "thread: this system has none; ask for 1");
}
void join_thread(Thread*) {}
uint64_t thread_outside_bytes() { return 0; }
int processor_count() { return 1; }
void wait_on(std::atomic<uint32_t>*, uint32_t, uint64_t) {}
void wake_sleepers(std::atomic<uint32_t>*, int) {}
uint32_t fork_count() { return 0; }
Status watch_forks(ErrorDetail*) { return {}; }

}  // namespace ingot::os

#endif
