// SPDX-License-Identifier: Apache-2.0
// runtime/op/normalize.h - y = (x - mean) / sqrt(variance + epsilon) * scale + bias. Operands: x,
// [scale], [bias] -> y. layer, rms: over dimensions [axis, rank); scale and bias have those dims
// (rms has no mean). instance, group: x [N, ..., C], over all but N and C, or over those and the
// channels of a group; scale and bias are [C]. Two passes (mean, then squares of differences).
// Order     layer, rms: 16 virtual lanes (element i of the flattened dimensions in lane i % 16) and
//           the tree 8, 4, 2, 1. instance, group: for each channel 16 lanes (position i in lane i %
//           16) and the tree, then a chain over the channels of a group. mean = sum / count, inv =
//           1 / sqrt(sum of squares / count + epsilon), y = fma((x - mean) * inv, scale, bias);
//           layer, rms in f32, f16, bf16; instance, group in f32.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class NormKind : uint8_t { kLayer = 0, kRms = 1, kInstance = 2, kGroup = 3 };
struct NormalizeAttributes {
  NormKind kind = NormKind::kLayer;
  uint32_t axis = 0;
  float epsilon = 1e-5f;
  uint32_t groups = 1;
};
extern const OpContract kNormalizeContract;

}  // namespace ingot
