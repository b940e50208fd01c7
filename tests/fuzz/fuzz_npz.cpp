// SPDX-License-Identifier: Apache-2.0
// Any bytes as an .npz (through a file in memory) and as an .npy: an array or a Failure, never
// anything else.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/diagnose/golden/golden.h"
#include "tools/files/failure.h"
#include "tools/files/npz/npz.h"

using namespace ingot::host;

namespace {

/// What is read must be what its shape says; otherwise the reader lied.
void check_whole(const Array& array) {
  if (array.is_text) return;
  if (array.bytes.size() != size_t(array.elements()) * size_t(ingot::dtype_bytes(array.dtype)))
    abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t at = 0;
  const ByteSource source = [&](void* out, size_t count) {
    count = std::min(count, size - at);
    memcpy(out, data + at, count);
    at += count;
    return count;
  };
  try {
    check_whole(read_npy(source, "memory", 1 << 24));
  } catch (const Failure&) {
  }
  const int file = memfd_create("npz", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != ssize_t(size)) abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  NpzLimits limits;
  limits.total_bytes = 1 << 24;
  try {
    for (const Array& array : read_npz(path, limits)) check_whole(array);
    ingot::check::read_golden(path, {"x"}, {"y"});
  } catch (const Failure&) {
  }
  close(file);
  return 0;
}
