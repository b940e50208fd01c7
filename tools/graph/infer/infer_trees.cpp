// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_trees.cpp - ensembles of decision trees, which importers emit as the
// runtime has them (runtime/op/tree_ensemble.h).
#include "runtime/op/tree_ensemble.h"
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void tree_ensemble(NodeContext& context) {
  const Dims x = context.dims(0), nodes = context.dims(1), weights = context.dims(2);
  const DType dtype = context.dtype(0);
  if (dtype != DType::kF32 && dtype != DType::kF64)
    context.corrupt(std::string("its input is ") + dtype_text(dtype) + ", expected f32 or f64");
  if (context.dtype(1) != DType::kI32 || context.dtype(2) != dtype || nodes.size() != 2 ||
      weights.size() != 2 || nodes[1] != Dim(tree_node_words(dtype)))
    context.corrupt("its nodes are " + text(nodes) + ", its weights " + text(weights));
  if (x.size() == 1)  // one row
    return context.finish(
        op::TreeEnsemble,
        {context.reshape(context.in(0), {Dim(1), x[0]}), context.in(1), context.in(2)},
        context.node.attributes);
  const int64_t features = context.node.integer(attr::features, 1);
  if (x.size() != 2 || (x[1].is_static() && x[1].value().value_or(features) < features))
    context.corrupt("its input has shape " + text(x) + ", and its trees read " +
                    std::to_string(features) + " features");
  context.set(0, dtype, {x[0], weights[1]});
}

}  // namespace

void add_tree_rules(InferTable& table) { table[op::TreeEnsemble] = tree_ensemble; }

}  // namespace ingot::graph
