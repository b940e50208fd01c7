// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_volume.h - convolutions and pools over three dimensions, rewritten into
// those over two.
#pragma once
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// An entry for each dimension (three, by default); pads: begins, then ends.
struct VolumeWindow {
  std::vector<int64_t> kernel, strides, dilations, pads;
};

/// Ends a Conv of rank 5 with constant weights. `out`: its dims.
void convolve_volume(NodeContext& context, const VolumeWindow& window, const Dims& out,
                     int64_t group);
/// Ends a ConvTranspose of any rank whose output has the dims `out`. @throws Refusal where its pads
/// cut more than the window adds.
void spell_transposed(NodeContext& context, const VolumeWindow& window, const Dims& out,
                      int64_t group);
/// Ends a MaxPool, AveragePool or LpPool of rank 5: each is the same over the image, then over
/// the depth.
void pool_volume(NodeContext& context, const VolumeWindow& window, const Dims& out);

}  // namespace ingot::graph
