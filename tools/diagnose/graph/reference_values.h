// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/graph/reference_values.h - what is known about values: those of the body of a loop
// once for each iteration that is kept.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "tools/diagnose/reference/evaluator.h"
#include "tools/graph/graph.h"

namespace ingot::compare {

using graph::ValueId;
using reference::Tensor;
/// Iterations of the loops around, the outermost first; empty outside of loops.
using Iterations = std::vector<int64_t>;

/// Values have one id in the whole model, so loops side by side share the frames of their
/// iterations.
class ReferenceValues {
 public:
  /// In the iterations that were entered, else in those around them; null when nobody knows.
  const Tensor* find(ValueId id) const { return find(id, at_); }
  const Tensor* find(ValueId id, Iterations at) const;
  /// In these iterations alone.
  const Tensor* find_here(ValueId id) const;
  void set(ValueId id, Tensor tensor);

  void enter(int64_t iteration) { at_.push_back(iteration); }
  void leave() { at_.pop_back(); }
  const Iterations& at() const { return at_; }
  /// Drops what is known about one iteration of the loop that was entered around it, inner loops
  /// included.
  void forget(int64_t iteration);
  void forget_all_but(const std::set<ValueId>& used);

  /// Iterations at this place in which `id` is known, ascending.
  std::vector<int64_t> kept(ValueId id) const;
  bool is_kept(const Iterations& at) const { return at.empty() || frames_.count(at); }
  /// Elements in all iterations of all loops, without what lies outside of them.
  int64_t elements_in_loops() const { return elements_; }
  /// Every id that is known somewhere.
  std::set<ValueId> ids() const;

 private:
  std::map<Iterations, std::map<ValueId, Tensor>> frames_;
  Iterations at_;
  int64_t elements_ = 0;
};

}  // namespace ingot::compare
