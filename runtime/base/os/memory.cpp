// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/memory.cpp - POSIX, or nothing.
#include "runtime/base/os/memory.h"

#include "runtime/base/checked_math.h"
#include "runtime/base/os/file.h"

#if defined(__unix__) || defined(__APPLE__)

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>

namespace ingot::os {
namespace {

#ifdef MAP_NORESERVE
constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS;
#endif

Status refused(ErrorDetail* detail, Code code, const char* field, uint64_t bytes) {
  const bool says_why = code != Code::kOutOfMemory;  // there `have` would be read as bytes
  return fail(detail, code, field, bytes, says_why ? uint64_t(errno) : 0);
}

}  // namespace

Status reserve_pages(uint64_t bytes, uint64_t alignment, uint8_t** out, ErrorDetail* detail) {
  const uint64_t page = page_bytes();
  uint64_t wide, rounded;
  if (!checked_align(bytes, page, &rounded) || !checked_add(rounded, alignment - page, &wide) ||
      wide > SIZE_MAX) {
    errno = ENOMEM;
    return refused(detail, Code::kOutOfMemory, "arena reservation", bytes);
  }
  void* at = mmap(nullptr, size_t(wide), PROT_NONE, kReserve, -1, 0);
  if (at == MAP_FAILED) return refused(detail, Code::kOutOfMemory, "arena reservation", bytes);
  // Cut what lies before and behind the aligned part, so that the arena is all that is held.
  uint8_t* begin = static_cast<uint8_t*>(at);
  uint8_t* aligned = begin + (alignment - (uintptr_t(begin) & (alignment - 1))) % alignment;
  if (aligned != begin) munmap(begin, size_t(aligned - begin));
  const uint64_t behind = wide - rounded - uint64_t(aligned - begin);
  if (behind) munmap(aligned + rounded, size_t(behind));
  *out = aligned;
  return {};
}

Status commit_pages(uint8_t* at, uint64_t bytes, ErrorDetail* detail) {
  if (!bytes || mprotect(at, size_t(bytes), PROT_READ | PROT_WRITE) == 0) return {};
  return refused(detail, Code::kOutOfMemory, "arena pages", bytes);
}

void release_pages(uint8_t* at, uint64_t bytes) {
  const uint64_t page = page_bytes();
  if (at && bytes) munmap(at, size_t((bytes + page - 1) & ~(page - 1)));
}

void advise_huge_pages(uint8_t* at, uint64_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes) madvise(at, size_t(bytes), MADV_HUGEPAGE);
#else
  (void)at, (void)bytes;
#endif
}

Status lock_pages(const uint8_t* at, uint64_t bytes, ErrorDetail* detail) {
  if (!bytes || mlock(at, size_t(bytes)) == 0) return {};
  return refused(detail, Code::kLockFailed, "arena lock (RLIMIT_MEMLOCK)", bytes);
}

bool drop_pages(uint8_t* at, uint64_t bytes) {
#if defined(__linux__)
  return !bytes || madvise(at, size_t(bytes), MADV_DONTNEED) == 0;
#else  // elsewhere that advice may keep the contents, and the memory
  return !bytes || mmap(at, size_t(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
#endif
}

void touch_pages(uint8_t* at, uint64_t bytes, bool writable) {
  // Linux 5.14: one call, not a fault a page
  constexpr int kPopulateRead = 22, kPopulateWrite = 23;
  if (madvise(at, size_t(bytes), writable ? kPopulateWrite : kPopulateRead) == 0) return;
  const uint64_t page = page_bytes();
  for (uint64_t i = 0; i < bytes; i += page) {
    volatile uint8_t* byte = at + i;
    const uint8_t found = *byte;
    if (writable) *byte = found;
  }
}

void* heap_allocate(uint64_t bytes, uint64_t alignment) {
  void* pointer = nullptr;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  if (bytes > SIZE_MAX || posix_memalign(&pointer, size_t(alignment), size_t(bytes)) != 0)
    return nullptr;
  return pointer;
}

void heap_release(void* pointer) { free(pointer); }

}  // namespace ingot::os

#else

namespace ingot::os {

Status reserve_pages(uint64_t bytes, uint64_t, uint8_t**, ErrorDetail* detail) {
  return fail(detail, Code::kOutOfMemory,
              "arena reservation: no operating system; lend the session an arena", bytes);
}
Status commit_pages(uint8_t*, uint64_t bytes, ErrorDetail* detail) {
  return fail(detail, Code::kOutOfMemory, "arena pages", bytes);
}
void release_pages(uint8_t*, uint64_t) {}
void advise_huge_pages(uint8_t*, uint64_t) {}
Status lock_pages(const uint8_t*, uint64_t bytes, ErrorDetail* detail) {
  return fail(detail, Code::kLockFailed, "arena lock", bytes);
}
bool drop_pages(uint8_t*, uint64_t) { return false; }
void touch_pages(uint8_t*, uint64_t, bool) {}
void* heap_allocate(uint64_t, uint64_t) { return nullptr; }
void heap_release(void*) {}

}  // namespace ingot::os

#endif
