// SPDX-License-Identifier: Apache-2.0
// tools/registry/registry.h - a folder of models in Triton's layout, NAME/VERSION/model.ingot, with
// tags that move and versions that do not.
//
//   ROOT/NAME/3/model.ingot      the file, read only; the same bytes in two versions are one inode,
//                                weights of two files the same blocks where the file system can
//   ROOT/NAME/3/record.json      its SHA-256, where it came from, notes, metrics
//   ROOT/NAME/tags/prod          a symbolic link to ../3, so that a path opens what a tag means
//   ROOT/NAME/pins/3             version 3 is not removed while this is there
//   ROOT/NAME/history.jsonl      what was done, a line each; what rollback() goes back by
//   ROOT/.changes                what is being made; whatever lies there nobody has seen yet
//
// Every change is made durable under .changes and becomes visible by one rename, so that a reader
// needs no lock, and a process that is killed leaves the state before or the state after.
// Threads  none of its own; writers of any number of processes take turns by a lock on ROOT.
// Errors   Failure kUsage: a name that cannot be one; kMismatch: what is named is not there, or
//          something still refers to it; kCorrupt: a record or file that is not what it was;
//          kUnavailable: the system's reason.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/sha256.h"

namespace ingot::registry {

/// Bytes of a file that another version may have too: its weights.
struct Part {
  std::string sha256;
  uint64_t offset = 0, bytes = 0;
};

/// What is kept beside a file.
struct Record {
  std::string sha256;  // of the file, in hexadecimal
  uint64_t bytes = 0;
  std::vector<Part> parts;
  std::string added;                                        // UTC, "2026-11-23T04:05:06Z"
  std::string file;                                         // the path that it was added from
  std::vector<std::pair<std::string, std::string>> source;  // of its metadata: format, producer ...
  std::string note;
  std::map<std::string, std::string> metrics;
};

struct Version {
  uint64_t number = 0;
  Record record;
  /// Why the record cannot be read, which is empty then: a folder that was made by hand has none.
  /// Such a version can be opened and removed; no tag is pointed to it.
  std::string fault;
  std::vector<std::string> tags;  // that point to it
  bool pinned = false;
};

/// The file that "registry:NAME@TAG" means in the folder that INGOT_REGISTRY names, as the runtime
/// opens it too.
std::string path_of_reference(const std::string& text);

/// "NAME@TAG" or "NAME@3", taken apart. @throws Failure kUsage
struct Reference {
  std::string name;
  std::string tag;       // empty where a version is named
  uint64_t version = 0;  // 0 where a tag is
};
Reference parse_reference(const std::string& text);

class Registry {
 public:
  /// @pre `root` is a folder, or nothing yet: add() makes it.
  explicit Registry(std::string root) : root_(std::move(root)) {}

  std::vector<std::string> names() const;
  /// By number, also those whose records cannot be read. @throws Failure kMismatch where there is
  /// no such model
  std::vector<Version> versions(const std::string& name) const;
  /// The version that a reference means.
  Version find(const Reference& what) const;
  std::string path_of(const std::string& name, uint64_t version) const;

  /// Adds the file as the next version and tags it. `shared`: how many of its bytes are on the disk
  /// once for it and for other versions. @return its number
  uint64_t add(const std::string& name, const std::string& file, Record record,
               const std::vector<std::string>& tags, uint64_t* shared);
  /// Points the tag to a version. @return the version that it pointed to, or 0
  uint64_t set_tag(const std::string& name, const std::string& tag, uint64_t version);
  void remove_tag(const std::string& name, const std::string& tag);
  /// Points the tag to the version that it had before this one. @return that version
  uint64_t roll_back(const std::string& name, const std::string& tag);
  void pin(const std::string& name, uint64_t version, bool pinned);
  /// Refuses while a tag or a pin refers to it, and names them.
  void remove(const std::string& name, uint64_t version);

  /// Every line is a fault: a file whose bytes changed, a link to nothing. Reads every byte.
  std::vector<std::string> faults() const;
  /// Things that a change left when it was killed, which the next change removes.
  std::vector<std::string> left_over() const;

 private:
  class Change;
  template <class Use>
  void each_version(Use use) const;
  uint64_t share(Change& change, const Record& record, const std::string& copy) const;
  std::string root_;
};

}  // namespace ingot::registry
