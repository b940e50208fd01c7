// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_positions.h - where the maxima of a pool lie.
#pragma once
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// Of as many entries as there are spatial dimensions, pads of twice as many: all begins, then all
/// ends.
struct PoolWindow {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

/// Ends a MaxPool whose second output is wanted. `out`: the dims of both.
void pool_with_positions(NodeContext& context, const PoolWindow& window, const Dims& out);
void max_unpool(NodeContext& context);

}  // namespace ingot::graph
