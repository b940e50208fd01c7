// SPDX-License-Identifier: Apache-2.0
// tools/files/output_file.h - files that appear whole or not at all.
// Errors   Failure kUnavailable with the path and the reason of the system.
// Signals  remove_temporary_files() is async-signal-safe; install_interrupt_cleanup() calls it on
//          SIGINT, SIGTERM,
// SIGHUP.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::host {

/// Written to an unnamed file in the folder of its destination; commit() makes it durable and
/// renames it. Without commit() nothing is left behind, also when the process is killed: where the
/// file system has no unnamed files, a hidden one is used, which the next try at the same
/// destination removes. "-" is standard output; it and a pipe get the whole file at commit().
/// Devices are written directly.
class OutputFile {
 public:
  /// Refuses to write over a file that the command reads (input_file.h), but for `replaced`, which
  /// it reads to replace.
  explicit OutputFile(const std::string& path, const std::string& replaced = "");
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, size_t count);
  /// Overwrites bytes that were written before.
  void write_at(uint64_t offset, const void* bytes, size_t count);
  uint64_t size() const { return size_; }
  /// A path that opens what was written so far, until commit(); "" for a device.
  const std::string& temporary() const { return temporary_; }
  void commit();

 private:
  enum class Kind { kRename, kDirect, kStream };
  [[noreturn]] void fail_with(int error);
  void open_beside();
  void name_temporary();
  void copy_to_stream();
  void keep_inputs() const;
  std::string path_, replaced_, temporary_;
  int descriptor_ = -1;
  int slot_ = -1;
  Kind kind_ = Kind::kRename;
  uint64_t size_ = 0;
};

/// A path for an OutputFile that is needed while this lives: of an unnamed file where the system
/// has them, else a name in the directory for temporary files ($TMPDIR or /tmp) with this suffix,
/// removed when this dies or the program is interrupted.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& suffix);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  int slot_ = -1;
};

/// Removes every temporary file that is open now.
void remove_temporary_files();
/// From now on an interrupt removes the temporary files before it ends the program with the
/// signal's own status.
void install_interrupt_cleanup();

/// True when both paths exist and are the same file.
bool same_file(const std::string& a, const std::string& b);
/// Refuses, before anything is done, to write over what the command reads, or two outputs into one
/// file. Empty names are passed over. @throws Failure(kUsage)
void refuse_path_overlap(const std::vector<std::string>& outputs,
                         const std::vector<std::string>& inputs);

}  // namespace ingot::host
