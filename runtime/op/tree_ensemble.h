// SPDX-License-Identifier: Apache-2.0
// runtime/op/tree_ensemble.h - TreeEnsemble: x [N, F], nodes [n, words] (i32), weights [leaves,
// targets] -> y [N, targets]. x, weights and y are f32 or f64, one type T. A row of `nodes`:
//
//   f32  | feature | child | threshold         |   12 bytes
//   f64  | feature | child | threshold (2 words, little-endian) |   16 bytes
//
// One step leads from a node to node `child` where its comparison fails, and to the node behind
// that where it holds:
//   x[row][feature] <= threshold, or x is NaN and bit 31 of `feature` is set (only with `missing`)
// A leaf has the threshold NaN and itself as its child; its `feature` is its row of weights. Trees
// may share nodes. Rows 0 .. trees - 1 of `nodes` are the roots.
//
// Of each row, from each root in order, `depth` steps; the weights of the leaf are added to y (sum,
// from zero, one chain in T over the trees) or y keeps the smaller or larger of the two (min, max;
// the second where either is NaN, from the first tree's).
//
// A word of `nodes` is an unsigned number (a feature of 31 bits with `missing`). A feature of at
// least `features`, a child of at least n - 1 and a row of weights of at least `leaves` count as 0.
// So no constant reads outside its operands, and `depth` bounds every walk, whatever the words say.
// The last node is no leaf therefore: it is a second child, or none's.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class TreeAggregate : uint8_t { kSum = 0, kMin = 1, kMax = 2 };
struct TreeEnsembleAttributes {
  uint32_t trees = 0;     // roots, at least 1
  uint32_t features = 0;  // columns of x that nodes read, at least 1
  uint32_t depth = 0;     // steps of a walk, at most kMaxTreeDepth
  TreeAggregate aggregate = TreeAggregate::kSum;
  bool missing = false;  // bit 31 of a feature has its meaning, and is no part of the number
};
constexpr uint32_t kMaxTreeDepth = 8192;
constexpr int64_t kMaxTreeNodes = int64_t(1) << 28;
constexpr uint32_t kMissingGoesOn = 0x80000000u;  // of a feature: NaN passes the comparison

/// Words of a node.
constexpr int tree_node_words(DType dtype) { return dtype == DType::kF64 ? 4 : 3; }

extern const OpContract kTreeEnsembleContract;

}  // namespace ingot
