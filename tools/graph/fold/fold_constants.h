// SPDX-License-Identifier: Apache-2.0
// tools/graph/fold/fold_constants.h - what needs no input is computed now.
#pragma once
#include "tools/graph/graph.h"

namespace ingot::graph {

/// Evaluates nodes in normal form whose inputs are all constant, replaces an If of constant
/// condition by its branch, merges equal constants and removes nodes that nothing reads. Every
/// value that is read keeps its id or becomes a constant. Returns how many nodes went.
size_t fold_constants(Model& model);

/// Elements of a folded node beyond those of its inputs: Expand and Tile can make many of one.
constexpr int64_t kMaxGrowth = int64_t(1) << 20;

/// Computes one node when it can: its outputs become constants and the node is to be dropped. @pre
/// its outputs have dtype and dims.
bool fold_node(Model& model, const Node& node);

/// Removes nodes whose outputs nobody reads, in subgraphs too. Returns how many.
size_t remove_dead_nodes(Model& model);

}  // namespace ingot::graph
