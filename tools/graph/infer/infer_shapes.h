// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_shapes.h - dtype and symbolic dims of every value, and the normal form of
// every operator (README.md).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/graph/comparison.h"
#include "tools/graph/graph.h"

namespace ingot::graph {

/// Walks the nodes in order, subgraphs included: infers their outputs, turns shape-like inputs into
/// attributes and dims, rewrites operators that are others in disguise, replaces what is constant
/// by constants and an If whose condition is constant by its branch. Shape arithmetic is followed
/// symbolically, so a Reshape by computed numbers has dims like [B, W//8, 6625]. @throws
/// ConversionError(kCorrupt) when the graph contradicts itself (a dtype, a shape, an axis out of
/// range). What cannot be inferred because it depends on data, and unknown operators, are added to
/// `unsupported`, all of them.
void infer_shapes(Model& model, std::vector<Unsupported>* unsupported);

/// An If that chooses by dims which their bounds leave open, between branches that cannot both
/// stay: their outputs differ in shape, or one cannot run. Bounds on a symbol decide it. A branch
/// of an If that the run decides.
struct BranchPlace {
  uint32_t source = 0;  // the If: index into Model::source_nodes
  bool of_then = false;
};
struct Undecided {
  std::string node;
  Comparison condition;
  std::optional<BranchPlace> inside;  // the innermost such branch around it
};
/// A branch that is converted for some extents of a dimension; a run with others that takes it ends
/// with an error. Ignored where what the branch reads cannot be cut to these extents.
struct BranchGuard {
  BranchPlace place;
  DecidingBounds bounds;
};
/// A symbol that a node of the outermost graph can take for no other extent: [n, k] by [line, 3] is
/// a product where `line` is `k`.
struct ForcedEqual {
  std::string symbol;
  Dim to;
  std::string node;
};
/// The same, but stops at the first If of that kind and gives it; the model is then half done and
/// good for nothing. `forced` gets what is equal in every run, also where this throws.
std::optional<Undecided> infer_shapes_or_ask(Model& model, std::vector<Unsupported>* unsupported,
                                             const std::vector<BranchGuard>& guards = {},
                                             std::vector<ForcedEqual>* forced = nullptr);

/// The same; @throws ConversionError(kUnsupported) when anything is unsupported.
void infer_shapes(Model& model);

/// Shape nodes that still feed computation would need dims as data at run time: they become
/// reductions of expanded ones.
void lower_runtime_shapes(Model& model);

}  // namespace ingot::graph
