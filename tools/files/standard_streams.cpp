// SPDX-License-Identifier: Apache-2.0
#include "tools/files/standard_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tools/files/failure.h"

namespace ingot::host {
namespace {

std::string spooled;  // the path that reads what standard input gave

/// Paths and what messages call them.
std::vector<std::pair<std::string, std::string>>& shown_names() {
  // Never destroyed: what the C library flushes at exit still passes through with_stream_names().
  static auto& names = *new std::vector<std::pair<std::string, std::string>>;
  return names;
}

std::string temporary_folder() {
  const char* folder = getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

bool write_all(int descriptor, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(descriptor, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= size_t(written);
  }
  return true;
}

}  // namespace

int open_unnamed_file() {
#ifdef O_TMPFILE
  const int descriptor = open(temporary_folder().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
#endif
  std::string name = temporary_folder() + "/ingot-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

std::string descriptor_path(int descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? path : "";
}

std::string spool_standard_input() {
  if (!spooled.empty())
    fail(Exit::kUsage, "'-' is given twice: standard input can be read once; name a file instead");
  if (isatty(STDIN_FILENO))
    fail(
        Exit::kUsage,
        "'-' reads standard input, which is a terminal; redirect a file into it, or name the file");
  const int descriptor = open_unnamed_file();
  const std::string where = temporary_folder() + ": cannot keep what standard input gives: ";
  if (descriptor < 0)
    fail(Exit::kUnavailable,
         where + strerror(errno) + "; set TMPDIR to a folder that you may write to");
  static char piece[1 << 16];
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      fail(Exit::kUnavailable, std::string("standard input: cannot be read: ") + strerror(errno));
    if (count == 0) break;
    if (!write_all(descriptor, piece, size_t(count)))
      fail(Exit::kUnavailable,
           where + strerror(errno) + "; make room, or set TMPDIR to another folder");
  }
  spooled = descriptor_path(descriptor);
  if (spooled.empty())
    fail(Exit::kUnavailable, "'-' needs /proc, which is not mounted here; name a file instead");
  show_path_as(spooled, "standard input");
  return spooled;
}

bool is_standard_input(const std::string& path) { return !spooled.empty() && path == spooled; }

void show_path_as(const std::string& path, const std::string& name) {
  if (!path.empty()) shown_names().emplace_back(path, name);
}

std::string with_stream_names(std::string text) {
  for (const auto& [path, name] : shown_names()) {
    for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
      const size_t end = at + path.size();
      if (end < text.size() && text[end] >= '0' &&
          text[end] <= '9') {  // a longer number: another descriptor
        at = end;
        continue;
      }
      text.replace(at, path.size(), name);
      at += name.size();
    }
  }
  return text;
}

}  // namespace ingot::host
