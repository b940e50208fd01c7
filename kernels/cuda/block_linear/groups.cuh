// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/groups.cuh - which rows a tile has, and whose weights.
#pragma once
#include "kernels/cuda/block_linear/block_params.h"
#include "kernels/cuda/device/gpu.h"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

struct BlockTile {
  int64_t first;
  int count;         // 0: none
  const uint8_t* w;  // null: of rows behind the last end, which are zero
};

/// Tile `at` of at most `most` rows. A group begins a tile of its own.
GPU_FN BlockTile block_tile(const BlockLinearParams& p, int64_t at, int most) {
  const auto part = [&](int64_t begin, int64_t end, int64_t tile, const uint8_t* w) {
    const int64_t first = begin + tile * most, left = end - first;
    return BlockTile{first, int(left < most ? left : most), w};
  };
  const BlockGroups& g = p.groups;
  if (!g.ends) return part(0, p.rows, at, p.w);
  int64_t begin = 0;
  GPU_ROLLED for (int64_t e = 0; e < g.experts; e++) {
    const int64_t end =
        g.are_i64 ? static_cast<const int64_t*>(g.ends)[e] : static_cast<const int32_t*>(g.ends)[e];
    if (end < begin || end > p.rows) {
      if (threadIdx.x == 0) *g.fault = g.fault_value;
      return {0, 0, nullptr};
    }
    const int64_t tiles = (end - begin + most - 1) / most;
    if (at < tiles) return part(begin, end, at, p.w + e * g.expert_bytes);
    at -= tiles, begin = end;
  }
  return at < (p.rows - begin + most - 1) / most ? part(begin, p.rows, at, nullptr)
                                                 : BlockTile{0, 0, nullptr};
}

/// Output o of a row: what is added to its sum.
GPU_FN void finish_output(const BlockLinearParams& p, int64_t row, int64_t o, float sum) {
  if (o >= p.outputs) return;
  if (p.bias) sum += p.bias[o];
  if (p.residual) sum += p.residual[row * p.residual_stride + o];
  p.y[row * p.y_stride + o] = sum;
}

}  // namespace ingot::cuda
