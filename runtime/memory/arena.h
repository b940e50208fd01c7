// SPDX-License-Identifier: Apache-2.0
// runtime/memory/arena.h - one contiguous range for a session.
//
//   reserved   | weight pages of the file, read-only, shared | tables, scratch, activations:
//              private, zero at first |
//   lent       | weights, copied (unless they are used where they lie) | tables | scratch |
//              activations |
//   allocated  the same in one block of the caller's allocator
//
// Owns     the range (lent: nothing). Pointers into it die with it.
// Threads  none of its own: who makes it, releases it.
// Errors   kArenaTooSmall{need,have} kMisaligned{need,have} kOutOfMemory kMapFailed kLockFailed.
// Allocates once,
//          when made.
#pragma once
#include "runtime/base/os/file.h"
#include "runtime/memory/allocator.h"

namespace ingot {

enum class ArenaForm : uint8_t { kNone, kReserved, kLent, kAllocated };

struct Arena {
  uint8_t* base = nullptr;
  uint64_t bytes = 0;
  ArenaForm form = ArenaForm::kNone;
  Allocator allocator;
};

/// Reserves `bytes` (whole pages) and makes all from `writable_offset` on readable and writable.
Status reserve_arena(uint64_t bytes, uint64_t alignment, uint64_t writable_offset, Arena* out,
                     ErrorDetail* detail);
/// The caller's memory: refused when it is smaller than `bytes`, or not aligned.
Status lend_arena(void* memory, uint64_t memory_bytes, uint64_t bytes, uint64_t alignment,
                  Arena* out, ErrorDetail* detail);
Status allocate_arena(const Allocator& allocator, uint64_t bytes, uint64_t alignment, Arena* out,
                      ErrorDetail* detail);
void release_arena(Arena* arena);

/// Maps whole pages of a file read-only over [at, at + bytes) of a reserved arena. All three are
/// multiples of the page.
Status map_weights(const Arena& arena, uint64_t at, os::File file, uint64_t file_offset,
                   uint64_t bytes, ErrorDetail* detail);

struct ArenaOptions {
  bool huge_pages = false;
  bool lock = false;
  bool prefault = false;
};
/// Applied to whole pages of a reserved arena that are mapped already.
Status apply_arena_options(uint8_t* at, uint64_t bytes, bool writable,
                           const ArenaOptions& arena_options, ErrorDetail* detail);

}  // namespace ingot
