// SPDX-License-Identifier: Apache-2.0
#include "tests/traps/traps.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <typeinfo>

namespace ingot::test {
namespace {

std::atomic<bool> armed{false};
std::atomic<unsigned long> seen[kTrapCount];

void hit(Trap trap) {
  if (armed.load(std::memory_order_relaxed)) seen[trap].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const char* const kTrapNames[kTrapCount] = {"allocations", "frees", "mappings", "locks",
                                            "exceptions"};

void arm_traps() {
  for (auto& count : seen) count = 0;
  armed = true;
}

void disarm_traps(unsigned long counts[kTrapCount]) {
  armed = false;
  for (int i = 0; i < kTrapCount; i++) counts[i] = seen[i];
}

}  // namespace ingot::test

using namespace ingot::test;

// How C++ spells a size in the names of operators new and delete.
#if __SIZEOF_SIZE_T__ == 4
#define INGOT_SIZED(before, behind) before##j##behind
#else
#define INGOT_SIZED(before, behind) before##m##behind
#endif
#define INGOT_WRAP(trap, result, name, parameters, arguments) \
  INGOT_WRAP_NAMED(trap, result, name, parameters, arguments)
#define INGOT_WRAP_NAMED(trap, result, name, parameters, arguments) \
  result __real_##name parameters;                                  \
  result __wrap_##name parameters {                                 \
    hit(trap);                                                      \
    return __real_##name arguments;                                 \
  }

extern "C" {
INGOT_WRAP(kAllocations, void*, malloc, (size_t n), (n))
INGOT_WRAP(kAllocations, void*, calloc, (size_t n, size_t m), (n, m))
INGOT_WRAP(kAllocations, void*, realloc, (void* p, size_t n), (p, n))
INGOT_WRAP(kAllocations, int, posix_memalign, (void** p, size_t a, size_t n), (p, a, n))
INGOT_WRAP(kAllocations, void*, aligned_alloc, (size_t a, size_t n), (a, n))
INGOT_WRAP(kAllocations, void*, memalign, (size_t a, size_t n), (a, n))
INGOT_WRAP(kAllocations, void*, INGOT_SIZED(_Znw, ), (size_t n), (n))
INGOT_WRAP(kAllocations, void*, INGOT_SIZED(_Zna, ), (size_t n), (n))
INGOT_WRAP(kAllocations, void*, INGOT_SIZED(_Znw, St11align_val_t), (size_t n, size_t a), (n, a))
INGOT_WRAP(kFrees, void, free, (void* p), (p))
INGOT_WRAP(kFrees, void, _ZdlPv, (void* p), (p))
INGOT_WRAP(kFrees, void, INGOT_SIZED(_ZdlPv, ), (void* p, size_t n), (p, n))
INGOT_WRAP(kMappings, void*, mmap, (void* a, size_t n, int p, int f, int d, off_t o),
           (a, n, p, f, d, o))
INGOT_WRAP(kMappings, int, munmap, (void* a, size_t n), (a, n))
INGOT_WRAP(kMappings, int, mprotect, (void* a, size_t n, int p), (a, n, p))
INGOT_WRAP(kMappings, int, madvise, (void* a, size_t n, int p), (a, n, p))
INGOT_WRAP(kMappings, int, brk, (void* a), (a))
INGOT_WRAP(kMappings, void*, sbrk, (intptr_t n), (n))
INGOT_WRAP(kLocks, int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
INGOT_WRAP(kLocks, int, pthread_mutex_trylock, (pthread_mutex_t * m), (m))
INGOT_WRAP(kLocks, int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
INGOT_WRAP(kLocks, int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
INGOT_WRAP(kLocks, int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t* m), (c, m))
INGOT_WRAP(kLocks, int, pthread_spin_lock, (pthread_spinlock_t * l), (l))
INGOT_WRAP(kLocks, int, pthread_once, (pthread_once_t * o, void (*f)(void)), (o, f))
INGOT_WRAP(kLocks, int, sem_wait, (sem_t * s), (s))
void __real___cxa_throw(void*, std::type_info*, void (*)(void*)) __attribute__((noreturn));
void __attribute__((noreturn))
__wrap___cxa_throw(void* object, std::type_info* type, void (*destroy)(void*)) {
  hit(kThrows);
  __real___cxa_throw(object, type, destroy);
}
}

bool ingot::test::traps_work() {
  unsigned long counts[kTrapCount];
  arm_traps();
  void* volatile pointer = std::malloc(10);
  std::free(pointer);
  int* volatile number = new int(1);
  delete number;
  void* pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages, 4096);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  try {
    throw 1;
  } catch (int) {
  }
  disarm_traps(counts);
  return counts[kAllocations] >= 2 && counts[kFrees] >= 2 && counts[kMappings] == 2 &&
         counts[kLocks] == 1 && counts[kThrows] == 1;
}
