// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/tree_ensemble.cpp - TreeEnsemble: one row, one tree, one step after the other.
#include "runtime/op/tree_ensemble.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

struct Node {
  uint32_t feature, child;
  double threshold;
};
Node node_at(const TensorView& nodes, uint32_t place, bool wide) {
  const int32_t* const words = nodes.as<const int32_t>() + int64_t(place) * nodes.dims[1];
  Node node = {uint32_t(words[0]), uint32_t(words[1]), 0};
  if (wide) {
    std::memcpy(&node.threshold, words + 2, sizeof node.threshold);
  } else {
    float threshold;
    std::memcpy(&threshold, words + 2, sizeof threshold);
    node.threshold = threshold;
  }
  return node;
}
/// The number, or 0 where there are not so many.
uint32_t limit(uint32_t at, int64_t count) { return int64_t(at) < count ? at : 0; }

}  // namespace

Status tree_ensemble(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &nodes = a.inputs[1], &weights = a.inputs[2],
                   &y = a.outputs[0];
  const TreeEnsembleAttributes& t = a.as<TreeEnsembleAttributes>();
  const bool wide = x.dtype == DType::kF64;
  const uint32_t mask = t.missing ? ~kMissingGoesOn : ~0u;
  for_each_index(y, [&](const int64_t* index) {
    double result = 0;
    for (uint32_t tree = 0; tree < t.trees; tree++) {
      Node node = node_at(nodes, tree, wide);
      for (uint32_t step = 0; step < t.depth; step++) {
        const int64_t from[] = {index[0], limit(node.feature & mask, t.features)};
        const double value = read(x, offset_of(x, from));
        const bool goes_on = value <= node.threshold ||
                             (t.missing && std::isnan(value) && (node.feature & kMissingGoesOn));
        node = node_at(nodes, limit(node.child, nodes.dims[0] - 1) + goes_on, wide);
      }
      const int64_t leaf[] = {limit(node.feature & mask, weights.dims[0]), index[1]};
      const double weight = read(weights, offset_of(weights, leaf));
      if (t.aggregate == TreeAggregate::kSum)
        result += weight;
      else if (tree == 0)
        result = weight;
      else if (t.aggregate == TreeAggregate::kMin)
        result = result < weight ? result : weight;
      else
        result = result > weight ? result : weight;
    }
    write(y, offset_of(y, index), result);
  });
  return {};
}

}  // namespace ingot::cpu::oracle
