// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/weights.h - the tensors that come with a program, as constants of the graph.
#pragma once
#include <map>
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/graph/graph.h"

namespace ingot::pt2 {

class Weights {
 public:
  /// @throws host::Failure as read_checkpoint().
  explicit Weights(const std::string& path);
  /// A parameter or buffer by its name in the module; what is no part of the state is looked for
  /// among the constants. The same memory is the same value. @throws
  /// graph::ConversionError(kCorrupt) when there is none; Unreadable.
  graph::ValueId load(graph::Model& model, const std::string& name);
  struct Unreadable {
    std::string why;
  };
  const std::vector<std::string>& notes() const { return checkpoint_.notes; }

 private:
  checkpoint::Checkpoint checkpoint_;
  std::map<std::string, const checkpoint::Tensor*> state_, constants_;
  std::map<std::string, graph::ValueId> loaded_;
};

}  // namespace ingot::pt2
