// SPDX-License-Identifier: Apache-2.0
// tools/session/source_tensors.h - values of a session under the names of the source's tensors, in
// the source's order of dimensions.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

class SourceTensors {
 public:
  /// @throws Failure kCorrupt for damaged metadata.
  explicit SourceTensors(const Engine& engine);
  /// Names that take() knows: of values in the file, and of the source's tensors that they hold.
  const std::vector<std::string>& names() const { return names_; }
  /// Those of them that show every value once: as the source has it, where it does.
  const std::vector<std::string>& shown() const { return shown_; }
  /// The tensor of the source with that name, else the value of the file as it lies in memory.
  /// False, and `why` says why not, where neither can be had. @pre a session that keeps values
  bool take(Engine* engine, const std::string& name, host::Array* out, std::string* why) const;

 private:
  /// Dimension k of a value is dimension order[k] of the source's tensor; -1: one that was added.
  struct Held {
    uint32_t value;
    size_t rank;
    std::vector<int64_t> order;
  };
  void read_entry(const std::string& key, const std::string& text, uint32_t values);
  std::map<std::string, uint32_t> by_name_;
  std::map<std::string, Held> reordered_;  // by name of the source
  std::vector<std::string> names_, shown_;
};

}  // namespace ingot::cli
