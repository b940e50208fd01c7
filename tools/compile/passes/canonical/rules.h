// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/canonical/rules.h - one rule for each operator of tools/graph/operators.def,
// turning a node into core form; those of both forms need none. A rule changes its node in place,
// or kills it and adds others that write the same outputs. Images get a Transpose on either side;
// the layout passes take them away again.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

struct Canonical {
  Editor& editor;
  std::vector<graph::Unsupported>& refused;
  void refuse(const Node& node, const std::string& attribute, const std::string& why,
              const std::string& hint = "");
};

using Rule = void (*)(Canonical&, Node&);
using Rules = std::map<graph::Operator, Rule>;

void add_convolution_rules(Rules& rules);  // Conv, ConvTranspose
void add_pool_rules(Rules& rules);         // MaxPool, AveragePool, LpPool
void add_product_rules(Rules& rules);      // MatMul, Gemm, GroupedLinear
void add_elementwise_rules(
    // everything of one element at a time, Cast, Where, Expand, BatchNormalization
    Rules& rules);
void add_reduce_rules(Rules& rules);  // Reduce*, ArgMax, ArgMin, Softmax
// InstanceNormalization, GroupNormalization, LayerNormalization, RMSNormalization
void add_norm_rules(Rules& rules);
void add_recurrent_rules(Rules& rules);  // LSTM, GRU, RNN
// Reshape, Split, Slice, Pad, Resize, gathers, scatters, sorting
void add_movement_rules(Rules& rules);

/// Takes every node of the graph (not of its branches) to core form. Nodes without a rule are
/// refused.
uint32_t canonicalize(Editor& editor, std::vector<graph::Unsupported>& refused);

}  // namespace ingot::passes
