// tools/files/output_folder.h - a folder of files that appears whole or not at all.
// Errors   Failure kUsage where the path is there already; kUnavailable with the path and the
// reason
//          of the system.
// Signals  a program that is killed leaves a hidden folder beside the path; the next try removes
// it.
#pragma once
#include <cstddef>
#include <string>

namespace ingot::host {

/// Written under a hidden name beside its own; commit() renames it.
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

 private:
  [[noreturn]] void fail_with(const std::string& why) const;
  std::string path_, temporary_;
  size_t count_ = 0;
  bool committed_ = false;
};

}  // namespace ingot::host
