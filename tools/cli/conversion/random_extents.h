// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/random_extents.h - a converted file tried at extents of its dynamic
// dimensions that nobody chose: what is converted, runs.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace ingot::cli {

struct RandomExtents {
  struct One {
    std::map<std::string, int64_t> extents;
    uint64_t memory = 0;  // bytes of a session, without the weights that are mapped
  };
  std::vector<One> sound;     // sessions can be made with these
  size_t refused = 0;         // of those that were drawn
  std::string first_refusal;  // "W=211"; empty where none was refused
};

/// `count` bindings within the file's bounds, between half and twice of `typical` (of the lowest
/// where it does not have them), the same for every machine; none of a file without open
/// dimensions. Makes no session, only asks what it would take. @throws Failure where the file
/// cannot be opened.
RandomExtents try_random_extents(const std::string& path,
                                 const std::map<std::string, int64_t>& typical, size_t count);

/// "N=3, W=211".
std::string extents_text(const std::map<std::string, int64_t>& extents);

}  // namespace ingot::cli
