// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/dynamic_params.h - what DynamicQuantize takes. Strides in elements.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/dynamic_quantize.h"

namespace ingot::cuda {

/// What a launch does of a group: all, or where several blocks share one its parts' ranges, then
/// its bytes.
enum class DynamicPhase : int32_t { kAll = 0, kRanges = 1, kBytes = 2 };

constexpr int kDynamicThreads = 256;
constexpr int64_t kWarpElements = 512;  // of a group that one warp has to itself, at most

struct DynamicQuantizeParams {
  const float* x;
  uint8_t* y;
  float* steps;              // [groups][2]: scale, zero point
  float* ranges;             // [groups][parts][2]: low, high; of several parts
  int64_t groups, elements;  // elements of a group
  int64_t parts, part;       // of a group; elements of a part
  FastDivisor length;        // of a run of neighbours
  int64_t x_row, y_row;      // from a run to the next
  DynamicRange range;
  DynamicPhase phase;
  int32_t by_warps;  // a warp a group, else a block a part
};

}  // namespace ingot::cuda
