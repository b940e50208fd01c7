// SPDX-License-Identifier: Apache-2.0
#include "tools/files/whole_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/refuse_pipe.h"

namespace ingot::host {
namespace {

/// The system's reason and what to do about it.
std::string why_unreadable() {
  const char* todo = errno == EACCES         ? "; check its permissions"
                     : errno == ELOOP        ? "; links lead to each other, name the file itself"
                     : errno == ENAMETOOLONG ? "; check the name"
                                             : "";
  return strerror(errno) + std::string(todo);
}

}  // namespace

int open_readable(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) fail(Exit::kUnavailable, path + ": no such file; check the name");
    fail(Exit::kUnavailable, path + ": cannot be read: " + why_unreadable());
  }
  if (S_ISDIR(found.st_mode))
    fail(Exit::kUnavailable, path + ": is a folder, expected a file; name the file in it");
  refuse_pipe(path);
  const int descriptor = open_input(path);
  if (descriptor < 0) fail(Exit::kUnavailable, path + ": cannot be read: " + why_unreadable());
  return descriptor;
}

std::string read_text(const std::string& path) {
  const int descriptor = open_readable(path);
  std::string text;
  char block[65536];
  ssize_t got = 0;
  while (text.size() <= kMaxTextFile && (got = read(descriptor, block, sizeof block)) > 0)
    text.append(block, size_t(got));
  const int error = errno;
  close(descriptor);
  if (got < 0) fail(Exit::kUnavailable, path + ": cannot be read: " + strerror(error));
  if (text.size() > kMaxTextFile)
    fail(Exit::kUnsupported, path + ": a text of more than " + std::to_string(kMaxTextFile >> 20) +
                                 " MiB; cut it into parts");
  return text;
}

}  // namespace ingot::host
