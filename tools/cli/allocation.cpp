// SPDX-License-Identifier: Apache-2.0
// tools/cli/allocation.cpp - operator new that throws where memory ends. mimalloc's own, built as
// C, ends the process instead, and running out of memory is an ordinary error here (exit 7). malloc
// and free are mimalloc's all the same, where it is there. Large blocks of a conversion lie where
// tools/files/spill_file.h says.
#include <unistd.h>
#ifdef INGOT_HAVE_MIMALLOC
#include <mimalloc.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>

#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/spill_file.h"

namespace {

/// Where not even the exception finds room, as before main().
[[noreturn]] void end_without_memory() {
  static constexpr char kLine[] =
      "ingot: out of memory; close other programs or use a smaller input\n";
  ingot::host::remove_temporary_files();
  (void)!write(STDERR_FILENO, kLine, sizeof kLine - 1);
  _exit(ingot::host::Exit::kUnavailable);
}

[[noreturn]] void refuse() {
  std::set_terminate(end_without_memory);
  throw std::bad_alloc();
}

void* allocate(std::size_t bytes) {
  if (bytes >= ingot::host::kLargeBlock)
    if (void* block = ingot::host::allocate_large(bytes)) return block;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  refuse();
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  if (bytes >= ingot::host::kLargeBlock && align <= 4096)
    if (void* block = ingot::host::allocate_large(bytes)) return block;
  if (bytes <= SIZE_MAX - align)
    if (void* memory = std::aligned_alloc(align, (bytes + align) / align * align)) return memory;
  refuse();
}

void release(void* memory) noexcept {
  if (!ingot::host::free_large(memory)) std::free(memory);
}

#ifdef INGOT_HAVE_MIMALLOC
// Releases differ in whether they write lines of their own where memory ends. Constructors of
// shared libraries allocate already, so this comes before them.
void silence_mimalloc(int, char**, char**) { mi_option_disable(mi_option_show_errors); }
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_constructors)(int, char**, char**) = silence_mimalloc;
#endif

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, alignment);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
