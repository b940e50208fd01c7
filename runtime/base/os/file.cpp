// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/file.cpp - POSIX, or nothing.
#include "runtime/base/os/file.h"

#if defined(__unix__) || defined(__APPLE__)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ingot::os {
namespace {

constexpr char kRegistry[] = "registry:";
constexpr size_t kMaxPath = 4096;

/// Of "registry:NAME@TAG" INGOT_REGISTRY/NAME/tags/TAG/model.ingot, of "registry:NAME@3"
/// INGOT_REGISTRY/NAME/3/model.ingot (tools/registry/registry.h). Null, or why it cannot be.
const char* registry_path(const char* reference, char (&path)[kMaxPath]) {
  const char* const root = getenv("INGOT_REGISTRY");
  if (!root || !*root) return "the variable INGOT_REGISTRY names no folder";
  const char* const at = strchr(reference, '@');
  const bool is_plain = !strchr(reference, '/') && *reference != '.';
  if (!at || !at[1] || at == reference || at[1] == '.' || !is_plain)
    return "expected registry:NAME@TAG or registry:NAME@VERSION";
  const char* const between = at[1] >= '0' && at[1] <= '9' ? "/" : "/tags/";
  if (strlen(root) + strlen(reference) + sizeof "//tags//model.ingot" > kMaxPath)
    return "the path of it is too long";
  size_t end = 0;
  const auto add = [&](const char* text, size_t length) {
    memcpy(path + end, text, length);
    end += length;
  };
  add(root, strlen(root));
  add("/", 1);
  add(reference, size_t(at - reference));
  add(between, strlen(between));
  add(at + 1, strlen(at + 1));
  add("/model.ingot", sizeof "/model.ingot");
  return nullptr;
}

// strerror_r gives a text (GNU) or a number (POSIX).
[[maybe_unused]] const char* text_of(const char* text, const char*) { return text; }
[[maybe_unused]] const char* text_of(int failed, const char* room) {
  return failed ? "unknown system error" : room;
}

}  // namespace

const char* system_error_text(uint64_t number, char* room, uint64_t bytes) {
  return text_of(strerror_r(int(number), room, size_t(bytes)), room);
}

Status open_file(const char* path, File* out, uint64_t* out_bytes, ErrorDetail* detail) {
  int fd;
  char in_registry[kMaxPath];
  if (strncmp(path, kRegistry, sizeof kRegistry - 1) == 0) {
    const char* const why = registry_path(path + sizeof kRegistry - 1, in_registry);
    if (why) return fail(detail, Code::kFileOpen, why);
    path = in_registry;
  }
  // a FIFO must not hang us; regular files ignore the flag
  do fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (fd < 0 && errno == EINTR);
  if (fd < 0 && path == in_registry && (errno == ENOENT || errno == ENOTDIR))
    return fail(detail, Code::kFileOpen, "INGOT_REGISTRY has no such model, version or tag");
  if (fd < 0) return fail(detail, Code::kFileOpen, "", 0, uint64_t(errno));
  struct stat about = {};
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(fd);
    const bool folder = S_ISDIR(about.st_mode);
    return fail(detail, Code::kFileOpen,
                folder ? "" : "it is a device or a pipe, not a file on a disk", 0,
                folder ? uint64_t(EISDIR) : 0);
  }
  out->handle = fd;
  *out_bytes = uint64_t(about.st_size);
  return {};
}

void close_file(File* file) {
  if (file->is_open()) close(int(file->handle));
  file->handle = -1;
}

Status read_file(File file, uint64_t offset, void* destination, uint64_t bytes,
                 ErrorDetail* detail) {
  uint8_t* to = static_cast<uint8_t*>(destination);
  while (bytes != 0) {
    const size_t piece = bytes < (uint64_t{1} << 30) ? size_t(bytes) : size_t{1} << 30;
    const ssize_t got = pread(int(file.handle), to, piece, off_t(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(detail, Code::kFileRead, "", bytes, uint64_t(errno), offset);
    if (got == 0) return fail(detail, Code::kTruncated, "file: ends early", bytes, 0, offset);
    to += got, offset += uint64_t(got), bytes -= uint64_t(got);
  }
  return {};
}

Status map_file(File file, uint64_t offset, uint64_t bytes, void* at, const uint8_t** out,
                ErrorDetail* detail) {
  const int flags = MAP_SHARED | (at ? MAP_FIXED : 0);
  void* address = mmap(at, size_t(bytes), PROT_READ, flags, int(file.handle), off_t(offset));
  if (address == MAP_FAILED)
    return fail(detail, Code::kMapFailed, "", bytes, uint64_t(errno), offset);
  *out = static_cast<const uint8_t*>(address);
  return {};
}

void unmap_file(const void* address, uint64_t bytes) {
  munmap(const_cast<void*>(address), size_t(bytes));
}

uint64_t page_bytes() {
  const long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? uint64_t(bytes) : 4096;
}

uint64_t monotonic_ns() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

}  // namespace ingot::os

#else

namespace ingot::os {

const char* system_error_text(uint64_t, char*, uint64_t) { return "system error"; }
Status open_file(const char*, File*, uint64_t*, ErrorDetail* detail) {
  return fail(detail, Code::kFileOpen, "no file system");
}
void close_file(File* file) { file->handle = -1; }
Status read_file(File, uint64_t, void*, uint64_t, ErrorDetail* detail) {
  return fail(detail, Code::kFileRead, "no file system");
}
Status map_file(File, uint64_t, uint64_t, void*, const uint8_t**, ErrorDetail* detail) {
  return fail(detail, Code::kMapFailed, "no file system");
}
void unmap_file(const void*, uint64_t) {}
uint64_t page_bytes() { return 1; }
uint64_t monotonic_ns() { return 0; }

}  // namespace ingot::os

#endif
