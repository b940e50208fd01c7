// SPDX-License-Identifier: Apache-2.0
// tools/graph/weight_sites.h - where a source reads its weights: what an overlay has to know of a
// program, before the program is translated.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// A node of the source that reads initializers.
struct WeightReader {
  Operator op = Operator::kNone;
  std::string node;  // "/layer1/conv/Conv"
  // "layer1.conv", as far as the exporter kept it; "" where it did not
  std::string module;
  std::vector<ValueId> operands;  // kAbsent where an operand is absent or computed
  ValueId added = kAbsent;        // of a MatMul: the initializer that the Add right behind it adds
  int64_t group = 1, hidden = 0;
  bool flipped = false;  // a Gemm that transposes its weight: rows are outputs
  std::string direction;
};

struct WeightSites {
  std::vector<ValueId> initializers;
  std::vector<WeightReader> readers;  // in the source's order; empty where a source has names alone
  // of an initializer that several nodes read each has its own; to the one that has the name
  std::map<ValueId, ValueId> copies;
  // biases that the source does not have, as an exporter leaves out those that are zero
  std::set<ValueId> zeros;
};

/// May put other constants of the same type and shape in the place of those.
using ReplaceWeights = std::function<void(Model&, const WeightSites&)>;

}  // namespace ingot::graph
