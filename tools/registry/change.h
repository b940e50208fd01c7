// SPDX-License-Identifier: Apache-2.0
// tools/registry/change.h - one change of a registry: made durable under ROOT/.changes, then
// visible by one rename. While it lives no other writer runs; what a killed one left is removed.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/registry/registry.h"

namespace ingot::registry {

/// Whole, at most 16 MiB. @throws Failure
std::string read_small_file(const std::string& path);
std::string sha256_of_file(const std::string& path, uint64_t* bytes);

class Registry::Change {
 public:
  /// Waits for other writers. `first`: the root and the model's folder are made where they are not
  /// there. @pre else they are
  Change(const std::string& root, const std::string& name, bool first = false);
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  /// Of the model.
  const std::string& folder() const { return folder_; }
  /// One of its folders, there from now on.
  std::string subfolder(const std::string& name);
  /// A folder that nobody sees yet.
  std::string make_folder(const std::string& name);
  std::string time() const;

  /// A new file with these bytes, durable.
  void write(const std::string& path, const std::string& text);
  /// A copy that is read only; its hash and size come into `record`, whose parts are allocated by
  /// themselves. Blocks are shared with the source where the file system can.
  void copy(const std::string& from, const std::string& to, Record* record);
  /// Puts a link to a file of these bytes in the place of a copy; false where that cannot be, or
  /// where the file no longer has them.
  bool share(const std::string& with, const std::string& sha256, const std::string& copy);
  /// Lets `copy` have the blocks of another file where the bytes of both are the same; the system
  /// compares them. @return how many bytes that are; 0 where the file system has no such thing
  uint64_t share_blocks(const std::string& with, uint64_t from, const std::string& copy,
                        uint64_t to, uint64_t bytes);

  /// Appends a line to the history; seen at once.
  void note(const nlohmann::json& line);
  /// What was made becomes NAME/`as`.
  void publish(const std::string& made, const std::string& as);
  /// The tag points to a version from now on; `why` is the history's word.
  void tag(const std::string& tag, uint64_t version, const char* why = "tag");
  /// NAME/`what` is gone, whole.
  void remove(const std::string& what);

 private:
  void sync_folder(const std::string& path);
  std::string fresh(const std::string& name);
  std::string root_, folder_, changes_;
  int lock_ = -1;
  int made_ = 0;
};

}  // namespace ingot::registry
