// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/tree_ensemble.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_tree_attributes(const TreeEnsembleAttributes& t, Violation* v) {
  if (uint8_t(t.aggregate) > uint8_t(TreeAggregate::kMax))
    return rules::refuse(v, "tree_ensemble.aggregate is known", Violation::kAttribute, 2,
                         int64_t(t.aggregate));
  if (t.trees == 0) return rules::refuse(v, "tree_ensemble has trees", Violation::kAttribute, 1, 0);
  if (t.features == 0 || t.features >= kMissingGoesOn)
    return rules::refuse(v, "tree_ensemble.features is 1 .. 2^31 - 1", Violation::kAttribute, 1,
                         t.features);
  if (t.depth > kMaxTreeDepth)
    return rules::refuse(v, "tree_ensemble.depth is limited", Violation::kAttribute, kMaxTreeDepth,
                         t.depth);
  return true;
}

bool check_tree_ensemble(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kTreeEnsembleContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &nodes = a.inputs[1], &weights = a.inputs[2],
                   &y = a.outputs[0];
  const TreeEnsembleAttributes& t = a.as<TreeEnsembleAttributes>();
  if (!check_tree_attributes(t, v)) return false;
  if (x.dtype != DType::kF32 && x.dtype != DType::kF64)
    return rules::refuse(v, "tree_ensemble takes f32 and f64", 0, int64_t(DType::kF32),
                         int64_t(x.dtype));
  if (!rules::check_same_dtype(x, weights, 2, v) ||
      !rules::check_same_dtype(x, y, rules::output(0), v))
    return false;
  if (nodes.dtype != DType::kI32)
    return rules::refuse(v, "nodes of trees are i32", 1, int64_t(DType::kI32),
                         int64_t(nodes.dtype));
  for (int i = 0; i < 3; i++)
    if (a.inputs[i].rank != 2)
      return rules::refuse(v, "tree_ensemble takes rows", i, 2, a.inputs[i].rank);
  if (y.rank != 2) return rules::refuse(v, "tree_ensemble gives rows", rules::output(0), 2, y.rank);
  if (nodes.dims[1] != tree_node_words(x.dtype))
    return rules::refuse(v, "a node is three words, of f64 four", 1, tree_node_words(x.dtype),
                         nodes.dims[1]);
  if (nodes.dims[0] <= int64_t(t.trees) || nodes.dims[0] > kMaxTreeNodes)
    return rules::refuse(v, "nodes are more than trees, and at most 2^28", 1, int64_t(t.trees) + 1,
                         nodes.dims[0]);
  if (x.dims[1] < int64_t(t.features))
    return rules::refuse(v, "x has the features that its trees read", 0, t.features, x.dims[1]);
  if (weights.dims[0] < 1) return rules::refuse(v, "trees have leaves", 2, 1, weights.dims[0]);
  if (y.dims[0] != x.dims[0])
    return rules::refuse(v, "tree_ensemble keeps the rows", rules::output(0), x.dims[0], y.dims[0]);
  if (y.dims[1] != weights.dims[1])
    return rules::refuse(v, "y has the targets", rules::output(0), weights.dims[1], y.dims[1]);
  return true;
}

}  // namespace

const OpContract kTreeEnsembleContract = {OpCode::kTreeEnsemble, 1,       3,       3, 1, 1,
                                          check_tree_ensemble,   nullptr, nullptr, 1, 1};

}  // namespace ingot
