// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/incremental_inference.h - a graph that grows node by node, each in normal form
// as soon as it is added: for importers of sources that decide by types and shapes while they are
// read.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "tools/graph/graph.h"
#include "tools/graph/symbolic.h"

namespace ingot::graph {

class Inference;

/// Adds to model.graph, or to the branch that is open.
class IncrementalInference {
 public:
  /// What is refused is added to `unsupported`; both must outlive this.
  IncrementalInference(Model& model, std::vector<Unsupported>* unsupported);
  ~IncrementalInference();
  IncrementalInference(const IncrementalInference&) = delete;
  IncrementalInference& operator=(const IncrementalInference&) = delete;

  /// ONNX semantics; attributes and shape-like inputs as infer_shapes() takes them. The outputs
  /// have dtype and dims afterwards, unless the node was refused or reads something that was.
  /// @throws ConversionError(kCorrupt) where the node contradicts its operands.
  void add(Node node);
  /// The value that stands for `id` since it was added: itself, or what it turned out to be.
  ValueId resolve(ValueId id) const;
  bool known(ValueId id) const;
  /// What a small tensor of shape arithmetic holds, as far as it is known.
  std::optional<Contents> contents(ValueId id) const;
  /// Says what a small tensor holds, where the caller knows it.
  void state(ValueId id, Contents contents);
  /// Until leave(), nodes go to `to`: a branch of an If or the body of a Loop, which is added with
  /// its node. Nests.
  void enter(std::vector<Node>* to);
  void leave();

 private:
  Model& model_;
  std::unique_ptr<Inference> inference_;
  std::vector<std::vector<Node>*> open_;
};

}  // namespace ingot::graph
