// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/roots.h - LoweredProgram::root() for many values: chains of aliases are as
// long as the model, so they are walked once.
#pragma once
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Stays right while values become aliases; not when an alias is taken back or turned around.
class Roots {
 public:
  explicit Roots(const LoweredProgram& lowered) : lowered_(lowered), up_(lowered.values.size()) {
    for (size_t i = 0; i < up_.size(); i++) up_[i] = int32_t(i);
  }
  int32_t of(int32_t id) {
    int32_t root = id;
    while (up_[size_t(root)] != root || lowered_.at(root).alias != AliasKind::kNone)
      root = up_[size_t(root)] != root ? up_[size_t(root)] : lowered_.at(root).alias_of;
    while (id != root) {
      const int32_t above = up_[size_t(id)] != id ? up_[size_t(id)] : lowered_.at(id).alias_of;
      up_[size_t(id)] = root;
      id = above;
    }
    return root;
  }

 private:
  const LoweredProgram& lowered_;
  std::vector<int32_t> up_;  // by value: an ancestor, or itself when none is known
};

}  // namespace ingot::convert
