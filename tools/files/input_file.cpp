// SPDX-License-Identifier: Apache-2.0
#include "tools/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

namespace ingot::host {
namespace {

std::atomic<bool> is_protecting{false};

struct Inputs {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> files;
};
Inputs& inputs() {
  static Inputs* all = new Inputs;  // never destroyed: threads may read until the end
  return *all;
}

void remember(const struct stat& found) {
  // Pipes and devices are not overwritten but written to; a file without a name is none of the
  // user's.
  if (!S_ISREG(found.st_mode) || found.st_nlink == 0) return;
  Inputs& all = inputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.files.insert({found.st_dev, found.st_ino});
}

}  // namespace

void protect_inputs() { is_protecting = true; }

int open_input(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  struct stat found;
  if (descriptor >= 0 && is_protecting && fstat(descriptor, &found) == 0) remember(found);
  return descriptor;
}

std::FILE* open_input_stream(const std::string& path) {
  const int descriptor = open_input(path);
  if (descriptor < 0) return nullptr;
  std::FILE* file = fdopen(descriptor, "rb");
  if (!file) {
    const int error = errno;
    close(descriptor);
    errno = error;
  }
  return file;
}

void remember_input(const std::string& path) {
  struct stat found;
  if (is_protecting && stat(path.c_str(), &found) == 0) remember(found);
}

void forget_input(const std::string& path) {
  struct stat found;
  if (!is_protecting || stat(path.c_str(), &found) != 0) return;
  Inputs& all = inputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.files.erase({found.st_dev, found.st_ino});
}

bool was_read(const std::string& path) {
  struct stat found;
  if (!is_protecting || stat(path.c_str(), &found) != 0) return false;
  Inputs& all = inputs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.files.count({found.st_dev, found.st_ino}) > 0;
}

}  // namespace ingot::host
