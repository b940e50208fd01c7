// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_resampling.h - the forms of Resize that are products with matrices.
#pragma once
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// tf_crop_and_resize, or antialias where something shrinks. scales: 0 is output / input.
bool needs_resampling(NodeContext& context, const Dims& out, const std::vector<double>& scales);
/// Ends the Resize.
void resample(NodeContext& context, const Dims& out, const std::vector<double>& scales);

}  // namespace ingot::graph
