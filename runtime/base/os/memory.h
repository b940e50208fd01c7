// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/memory.h - pages and the heap, from the operating system.
// Owns     nothing: who reserves, releases.
// Threads  any.
// Allocates reserve_pages, heap_allocate.
// Errors   kOutOfMemory, kMapFailed, kLockFailed; ErrorDetail.need is the bytes asked for, have the
//          system's error number. Without an operating system every call fails (heap_allocate gives
//          null), and the linker drops what nobody calls.
#pragma once
#include <cstdint>

#include "runtime/base/os/platform.h"
#include "runtime/base/status.h"

namespace ingot::os {

/// Address space that may not be touched yet, at a multiple of `alignment` (a power of two, at
/// least a page).
Status reserve_pages(uint64_t bytes, uint64_t alignment, uint8_t** out, ErrorDetail* detail);
/// Makes whole pages of a reservation readable and writable; they read as zeros.
Status commit_pages(uint8_t* at, uint64_t bytes, ErrorDetail* detail);
/// Gives back a whole reservation with all that was mapped into it.
void release_pages(uint8_t* at, uint64_t bytes);

/// Asks for large pages; the system may decline silently.
void advise_huge_pages(uint8_t* at, uint64_t bytes);
/// Keeps pages in memory.
Status lock_pages(const uint8_t* at, uint64_t bytes, ErrorDetail* detail);
/// Brings pages in now: reads one byte of each, and writes it back where `writable`.
void touch_pages(uint8_t* at, uint64_t bytes, bool writable);

/// Forgets what whole pages of a private reservation hold and gives the memory back; they read as
/// zeros when touched again. False when the system declined (locked pages), and they are as they
/// were.
bool drop_pages(uint8_t* at, uint64_t bytes);

/// The C library's heap. `alignment` is a power of two. Null when there is none left, or none at
/// all.
void* heap_allocate(uint64_t bytes, uint64_t alignment);
void heap_release(void* pointer);

}  // namespace ingot::os
