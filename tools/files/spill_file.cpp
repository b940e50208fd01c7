// SPDX-License-Identifier: Apache-2.0
// tools/files/spill_file.cpp - see spill_file.h.
#include "tools/files/spill_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tools/files/mapped_pages.h"

namespace ingot::host {
namespace {

constexpr uint64_t kLetGoAfter = uint64_t{16} << 20;
constexpr uint64_t kKeptFree = uint64_t{64} << 20;  // of the file, for blocks of the same size

struct Block {
  size_t bytes = 0;
  int64_t offset = -1;  // in the file; -1: in memory
};

struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, Block> live;
  uint64_t allowed = 0, in_memory = 0;
  int file = -1;
  bool has_tried = false;
  int64_t end = 0;                             // of the file
  std::multimap<size_t, int64_t> free_places;  // of the file, by size
  uint64_t free_bytes = 0;
};
Blocks& blocks() {
  static Blocks* all = new Blocks;  // never destroyed: blocks are freed until the end
  return *all;
}

std::atomic<int> scopes{0};
std::atomic<uint64_t> touched{0};

/// -1 where the folder has no room on a disk: a file in memory would be no gain.
int open_in(const char* folder) {
  struct statfs found;
  if (!folder || !*folder || statfs(folder, &found) != 0) return -1;
  const uint32_t kind = uint32_t(found.f_type);  // of another type on every processor
  if (kind == TMPFS_MAGIC || kind == RAMFS_MAGIC) return -1;
#ifdef O_TMPFILE
  const int unnamed = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
#endif
  std::string name = std::string(folder) + "/ingot-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

int open_file() {
  for (const char* folder : {static_cast<const char*>(std::getenv("TMPDIR")), "/var/tmp", "/tmp"})
    if (const int file = open_in(folder); file >= 0) return file;
  return -1;
}

size_t whole_pages(size_t bytes) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Room is reserved first: a full disk must not end the program when a page is written.
/// What is no longer needed of the list is given to `gone`, to be freed without the lock.
void* map_from_file(Blocks& all, size_t bytes, std::multimap<size_t, int64_t>::node_type* gone) {
  if (!all.has_tried) all.has_tried = true, all.file = open_file();
  if (all.file < 0) return nullptr;
  const auto again = all.free_places.find(bytes);
  const bool is_free = again != all.free_places.end();
  const int64_t place = is_free ? again->second : all.end;
  if (!is_free && fallocate(all.file, 0, place, off_t(bytes)) != 0) return nullptr;
  void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, all.file, place);
  if (block == MAP_FAILED) return nullptr;
  if (is_free) {
    *gone = all.free_places.extract(again);
    all.free_bytes -= bytes;
  } else {
    all.end += int64_t(bytes);
  }
  all.live[uintptr_t(block)] = {bytes, place};
  return block;
}

}  // namespace

LargeBlocks::LargeBlocks(uint64_t in_memory) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  all.allowed = std::max(in_memory, kFloor);
  scopes++;
}
LargeBlocks::~LargeBlocks() { scopes--; }

void* allocate_large(size_t asked) {
  if (scopes == 0 || asked > SIZE_MAX / 2) return nullptr;
  const size_t bytes = whole_pages(asked);
  Blocks& all = blocks();
  void* block = nullptr;
  std::multimap<size_t, int64_t>::node_type gone;
  {
    const std::lock_guard lock(all.mutex);
    if (all.in_memory + bytes > all.allowed) block = map_from_file(all, bytes, &gone);
    if (!block) {
      block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (block == MAP_FAILED) return nullptr;
      all.live[uintptr_t(block)] = {bytes, -1};
      all.in_memory += bytes;
      return block;
    }
  }
  note_touched(bytes);
  return block;
}

bool free_large(void* memory) {
  if (!memory || uintptr_t(memory) % 4096 != 0) return false;
  Blocks& all = blocks();
  // freed without the lock: its own memory may lie at a page's beginning, too
  decltype(all.live)::node_type gone;
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.live.find(uintptr_t(memory)); found != all.live.end())
    gone = all.live.extract(found);
  if (gone.empty()) return false;
  const Block block = gone.mapped();
  munmap(memory, block.bytes);
  if (block.offset < 0) {
    all.in_memory -= block.bytes;
    return true;
  }
  if (all.free_bytes + block.bytes <= kKeptFree) {
    all.free_bytes += block.bytes;
    all.free_places.emplace(block.bytes, block.offset);
    return true;
  }
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  (void)!fallocate(all.file, mode, block.offset, off_t(block.bytes));
  return true;
}

void note_touched(uint64_t bytes) {
  if ((touched += bytes) < kLetGoAfter) return;
  touched = 0;
  forget_mapped_pages();
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  uintptr_t begin = 0, end = 0;  // neighbours together
  const auto let_go = [&] {
    if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  };
  for (const auto& [place, block] : all.live) {
    if (block.offset < 0) continue;
    if (place != end) let_go(), begin = place;
    end = place + block.bytes;
  }
  let_go();
}

std::vector<uint8_t> zero_bytes(uint64_t bytes) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  std::vector<uint8_t> zeros;
  zeros.reserve(size_t(bytes));
  while (zeros.size() < bytes) {
    zeros.resize(size_t(std::min(bytes, zeros.size() + kPiece)));
    note_touched(kPiece);
  }
  return zeros;
}

void copy_weights(void* to, const void* from, size_t bytes) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t at = 0; at < bytes; at += kPiece) {
    const size_t piece = std::min(kPiece, bytes - at);
    std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, piece);
    note_touched(2 * piece);
  }
}

}  // namespace ingot::host
