// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/view_tree.h - the aliases of a program while they are made: attach a tree of
// views to a value, or find that it cannot be.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/compile/program/layout.h"
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/usage.h"

namespace ingot::convert {

class ViewTree {
 public:
  explicit ViewTree(LoweredProgram* lowered);

  /// Makes `child`, a root with all that views it, a view of `parent`. "" when done; else why not,
  /// and nothing changed.
  std::string attach(int32_t child, int32_t parent, const ViewOf& relation);
  /// Turns the edge from `view` to the root above it around when the view is all of that root, so
  /// that `view` is the root. False when there is nothing to turn or the view is a part only.
  bool make_root(int32_t view);

  /// Sets the rows of a root apart (0: dense) with all that views it. False where an instruction
  /// does not take that, and nothing changed.
  bool space(int32_t root, const SymbolicDim& row_stride);

  bool is_alias(int32_t value) const { return lowered_->at(value).alias != AliasKind::kNone; }
  const ViewOf& relation(int32_t value) const { return relations_[size_t(value)]; }
  const std::vector<int32_t>& children(int32_t value) const { return children_[size_t(value)]; }
  /// The instruction at `where` is gone: its result is a view. Its operands are no longer read or
  /// written there.
  void forget(const Use& where);
  const Usage& usage() const { return usage_; }
  /// A value made since construction.
  void grow();
  void add_reader(int32_t value, const Use& use) { usage_.readers[size_t(value)].push_back(use); }
  void add_writer(int32_t value, const Use& use) { usage_.writers[size_t(value)].push_back(use); }

 private:
  struct Saved {
    int32_t value;
    LoweredValue before;
  };
  bool place(int32_t value, std::vector<Saved>* saved);
  /// LoweredProgram::root() with the chains that were walked before left out.
  int32_t root_of(int32_t value);
  size_t tree_size(int32_t value, size_t most) const;
  std::string why_refused(int32_t value);
  std::string why_unresolvable(int32_t value);
  /// Whether the strides below `child` go with those that a tree has; adds them when they do.
  bool strides_nest(int32_t root, int32_t child);
  static bool nest(const std::set<int64_t>& strides);
  void gather_strides(int32_t value, const Bindings& bindings, std::set<int64_t>* strides) const;
  std::string why_use_refused(int32_t value, const Use& use, bool writes);

  LoweredProgram* lowered_;
  Usage usage_;
  std::vector<std::vector<int32_t>> children_;
  std::vector<ViewOf> relations_;
  std::vector<Bindings> trials_;  // the typical one first
  // by root and trial: of all views in it; empty: not known yet
  std::vector<std::vector<std::set<int64_t>>> strides_;
  // by value: an ancestor, or itself when none is known
  std::vector<int32_t> above_;
};

}  // namespace ingot::convert
