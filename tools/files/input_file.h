// SPDX-License-Identifier: Apache-2.0
// tools/files/input_file.h - the one door through which host code opens files to read, so that no
// output is written over what a command reads: a model, its external data, shards, goldens,
// images. tools/lint/file_access.py refuses other ways. What counts is the file itself (device
// and inode), by whatever name or link it was reached.
// Errors   -1, null and a failed stream, with errno; callers have their own words.
// Threads  any.
#pragma once
#include <cstdio>
#include <fstream>
#include <string>

namespace ingot::host {

/// From now on outputs are kept apart from what was read. The command line calls it; a library may
/// write what it read.
void protect_inputs();

/// A descriptor as open() gives one, read only and closed on exec; `flags` are added.
int open_input(const std::string& path, int flags = 0);
/// The same as a FILE, which the caller closes.
std::FILE* open_input_stream(const std::string& path);
/// In front of a library's own way to open a file by its name.
void remember_input(const std::string& path);
/// A temporary file that is about to be removed: another may get its inode.
void forget_input(const std::string& path);

class InputStream : public std::ifstream {
 public:
  InputStream() = default;
  explicit InputStream(const std::string& path) { open(path); }
  void open(const std::string& path) {
    remember_input(path);
    std::ifstream::open(path, std::ios::binary);
  }
};

/// True when `path` is a regular file that was read; under another name or link as well.
bool was_read(const std::string& path);

}  // namespace ingot::host
