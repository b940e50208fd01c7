// SPDX-License-Identifier: Apache-2.0
// tools/files/spill_file.h - where the large blocks of a conversion lie, so that it stays in
// proportion to its source: in memory up to so many bytes, the rest in an unnamed file, whose pages
// are let go of while nobody looks at them. What is let go of is read again where it is looked at,
// so note_touched() may be called anywhere. The command line's operator new and delete ask here
// (tools/cli/allocation.cpp); in any other program nothing happens.
//   LargeBlocks blocks(bytes_of_source);   // until the end of the scope
//   note_touched(bytes);                   // in loops over weights
// The file lies in $TMPDIR, else /var/tmp, else /tmp; where that is memory itself (tmpfs), full or
// missing, blocks lie in memory after all.
// Threads  any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::host {

constexpr size_t kLargeBlock = size_t{32} << 10;

class LargeBlocks {
 public:
  /// At most so many bytes of large blocks are in memory; a floor of kFloor is always allowed.
  explicit LargeBlocks(uint64_t in_memory);
  ~LargeBlocks();
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  static constexpr uint64_t kFloor = uint64_t{32} << 20;
};

/// A block aligned to a page, or null: then malloc() is the way. @pre bytes >= kLargeBlock
void* allocate_large(size_t bytes);
/// False where it is no block of allocate_large().
bool free_large(void* block);

/// So many bytes of weights were read or written. After each 16 MB of them the pages of all source
/// files and of the unnamed file are let go of.
void note_touched(uint64_t bytes);

/// Appends elements to a vector that was reserved for them, so many at a time that they need not be
/// resident together, as they are where a vector is made with its size.
template <class T>
void append_weights(std::vector<T>& to, const T* from, size_t count) {
  constexpr size_t kPiece = (size_t{1} << 20) / sizeof(T);
  for (size_t at = 0; at < count; at += kPiece) {
    const size_t piece = count - at < kPiece ? count - at : kPiece;
    to.insert(to.end(), from + at, from + at + piece);
    note_touched(2 * piece * sizeof(T));
  }
}

/// So many zeros.
std::vector<uint8_t> zero_bytes(uint64_t bytes);

/// As memcpy(), a piece at a time.
void copy_weights(void* to, const void* from, size_t bytes);

}  // namespace ingot::host
