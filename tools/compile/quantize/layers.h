// SPDX-License-Identifier: Apache-2.0
// tools/compile/quantize/layers.h - what of a network in floating point is computed with bytes:
// products with constant weights, and what stands between them and works on bytes as well.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::quantize {

using graph::Constant;
using graph::kAbsent;
using graph::Model;
using graph::Node;
using graph::ValueId;

/// A product with constant weights, with the bias and the limits that follow it.
struct Layer {
  std::string name;  // of the source node
  graph::Operator op = graph::Operator::kNone;
  size_t node = 0;  // in Graph::nodes; `tail` the nodes behind it that belong to it
  std::vector<size_t> tail;
  ValueId input = kAbsent, output = kAbsent;  // tensors of bytes; output of the last in `tail`
  ValueId weights = kAbsent, bias = kAbsent;  // bias: of the node itself, not of an Add in the tail
  int64_t axis = 0;                           // of the output channels in the weights
  int64_t groups = 1;
  int64_t outputs = 0;  // how many channels
  // what a linear layer makes is read as no bytes: it stays in floating point
  bool gives_floats = false;
};

/// Every layer and every tensor of bytes, by ids and places of the prepared model.
struct Sites {
  std::vector<Layer> layers;
  std::vector<size_t> steps;     // other nodes that work on bytes
  std::vector<ValueId> tensors;  // in the order of the graph
  // tensors whose scale is that of another: of what only moves
  std::map<ValueId, ValueId> moved;
  /// The tensor whose scale `id` has.
  ValueId scaled_as(ValueId id) const;
  std::vector<Layer> kept;  // as Keep said
};

/// Rewrites that make layers whole: spelled-out activations and norms become one node, and
/// BatchNormalization and scales go into the weights before them. The same for every call on the
/// same model: ids and places of nodes are those of any other.
void prepare(Model& model);

/// Layers that stay in floating point.
struct Keep {
  std::vector<std::string> patterns;  // over names; * stands for anything
  std::set<size_t> nodes;             // Layer::node
};

/// @pre prepare(). Patterns of `keep` that matched are put into `matched`.
Sites find_sites(const Model& model, const Keep& keep, std::set<std::string>* matched);

/// `*` stands for any number of characters.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace ingot::quantize
