// SPDX-License-Identifier: Apache-2.0
// runtime/memory/arena.cpp - the arena in its forms.
#include "runtime/memory/arena.h"

#include "runtime/base/os/memory.h"

namespace ingot {

Status reserve_arena(uint64_t bytes, uint64_t alignment, uint64_t writable_offset, Arena* out,
                     ErrorDetail* detail) {
  Arena arena;
  INGOT_TRY(os::reserve_pages(bytes, alignment, &arena.base, detail));
  arena.bytes = bytes;
  arena.form = ArenaForm::kReserved;
  const Status status =
      os::commit_pages(arena.base + writable_offset, bytes - writable_offset, detail);
  if (!status.ok())
    release_arena(&arena);
  else
    *out = arena;
  return status;
}

Status lend_arena(void* memory, uint64_t memory_bytes, uint64_t bytes, uint64_t alignment,
                  Arena* out, ErrorDetail* detail) {
  if (!memory) return fail(detail, Code::kInvalidArgument, "options.arena is null");
  if (memory_bytes < bytes)
    return fail(detail, Code::kArenaTooSmall, "options.arena_bytes", bytes, memory_bytes);
  const uint64_t beside = uintptr_t(memory) & (alignment - 1);
  if (beside) return fail(detail, Code::kMisaligned, "options.arena", alignment, beside);
  *out = {static_cast<uint8_t*>(memory), bytes, ArenaForm::kLent, {}};
  return {};
}

Status allocate_arena(const Allocator& allocator, uint64_t bytes, uint64_t alignment, Arena* out,
                      ErrorDetail* detail) {
  uint8_t* base;
  INGOT_TRY(allocate(allocator, bytes, alignment, "arena", &base, detail));
  *out = {base, bytes, ArenaForm::kAllocated, allocator};
  return {};
}

void release_arena(Arena* arena) {
  const Arena released = *arena;
  *arena = {};
  if (released.form == ArenaForm::kReserved) os::release_pages(released.base, released.bytes);
  if (released.form == ArenaForm::kAllocated)
    released.allocator.release(released.allocator.user, released.base, size_t(released.bytes));
}

Status map_weights(const Arena& arena, uint64_t at, os::File file, uint64_t file_offset,
                   uint64_t bytes, ErrorDetail* detail) {
  const uint8_t* mapped;
  return os::map_file(file, file_offset, bytes, arena.base + at, &mapped, detail);
}

Status apply_arena_options(uint8_t* at, uint64_t bytes, bool writable,
                           const ArenaOptions& arena_options, ErrorDetail* detail) {
  if (arena_options.huge_pages) os::advise_huge_pages(at, bytes);
  if (arena_options.lock) INGOT_TRY(os::lock_pages(at, bytes, detail));
  if (arena_options.prefault) os::touch_pages(at, bytes, writable);
  return {};
}

}  // namespace ingot
