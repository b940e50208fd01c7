// SPDX-License-Identifier: Apache-2.0
// tools/import/flux/fields.h - the fields of layers, and which of them were read: what nobody read
// and says something is refused, unless it stands in no_effect.h.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/julia/julia_value.h"
#include "tools/graph/graph.h"

namespace ingot::flux {

class Fields {
 public:
  /// `tree` must outlive this.
  explicit Fields(const checkpoint::JuliaTree& tree) : tree_(tree) {}
  /// A layer of that name is looked at now.
  void begin(checkpoint::JuliaId layer, const std::string& name);
  /// JuliaTree::field(), noted.
  checkpoint::JuliaId read(checkpoint::JuliaId of, const char* name, size_t position);
  /// Nothing, false, or a bias of Flux.Zeros.
  bool says_nothing(checkpoint::JuliaId id) const;
  void refuse_unread(std::vector<graph::Unsupported>* to) const;

 private:
  const checkpoint::JuliaTree& tree_;
  std::map<checkpoint::JuliaId, std::set<size_t>> read_;  // by place
  std::map<checkpoint::JuliaId, std::string> names_;      // of layers and what they hold
  std::string name_;
};

}  // namespace ingot::flux
