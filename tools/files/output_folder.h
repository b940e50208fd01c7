// SPDX-License-Identifier: Apache-2.0
// tools/files/output_folder.h - a folder of files that appears whole or not at all.
// Errors   Failure kUsage where the path is there already, also where another process was first;
//          kUnavailable with the path and the reason of the system.
// Signals  an interrupt removes what was written (output_file.h). A process that is killed leaves a
//          hidden folder beside the path, which the next try removes: it has a marker of ours that
//          nobody locks.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace ingot::host {

struct TemporaryTree;

/// Written under a hidden name of its own beside the path; commit() makes it durable and renames
/// it. Two at once for one path each write their own, and the second to commit fails.
class OutputFolder {
 public:
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// `name` may have folders in it.
  void add(const std::string& name, const std::string& text);
  /// @return how many files
  size_t commit();
  /// The hidden name, until commit().
  const std::string& temporary() const { return temporary_; }

 private:
  void make_folder(const std::string& name);
  void sync(const std::string& name, bool must) const;
  [[noreturn]] void fail_with(const std::string& what, int error) const;
  std::string path_, temporary_;
  std::unique_ptr<TemporaryTree> tree_;
  int marker_ = -1;  // descriptor
  size_t count_ = 0;
};

}  // namespace ingot::host
