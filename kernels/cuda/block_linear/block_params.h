// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_params.h - what kernels of weights in blocks take. Contract:
// runtime/op/block_linear.h. Strides in elements, but of bytes those of rows of BlockQuantize.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/block_linear.h"

namespace ingot::cuda {

constexpr int kBlockThreads = 256, kBlockRows = 8;  // rows of a tile: one a warp
static_assert(kBlockThreads / 32 == kBlockRows, "a warp adds up a row");

/// Rows of each expert: those in front of its end. Null: all rows have the same weights.
struct BlockGroups {
  const void* ends;
  int64_t experts, expert_bytes;
  bool are_i64;
  uint32_t fault_value;
  uint32_t* fault;
};

/// A block computes 32 outputs, a panel, of a tile of rows.
struct BlockLinearParams {
  const uint8_t *w, *x;
  const float *bias, *residual;  // or null
  float* y;
  int64_t rows, outputs, units;  // units of a row
  int64_t panels, tiles, panel_bytes;
  int64_t x_stride, y_stride, residual_stride;
  BlockGroups groups;
  int32_t w_aligned, x_aligned;  // to how many bytes: 1, 4 or 16
  BlockType type;
};

// Instructions of a warp for 32 k of a panel: to load and decode; of each row its loads, its eight
// products of four bytes, and its part of the sum.
constexpr double kDecodeIssue = 48, kCodeRowIssue = 20;

/// On tensor cores: a block has kRows rows of kPanels panels, a warp a half of the rows, kParts
/// times 16, of one panel; kK of k are in shared memory.
struct BlockTiles {
  static constexpr int kRows = 64, kPanels = 4, kHalves = 2, kParts = 2, kK = 256;
};
static_assert(BlockTiles::kHalves * BlockTiles::kPanels * 32 == kBlockThreads);
static_assert(BlockTiles::kHalves * BlockTiles::kParts * 16 == BlockTiles::kRows);

/// Of 16 bits: 32 outputs and kEach rows of each warp, kStages k-tiles on their way at a time.
template <int each>
struct FloatBlocks {
  static constexpr int kEach = each, kThreads = 128, kRows = kThreads / 32 * kEach, kDepth = 64,
                       kStages = each == 1 ? 6 : 4;
  static constexpr int kX = kDepth * block_weights::kOutputs * 2;  // behind the weights of a stage
  static constexpr int kStage = kX + kRows * kDepth * 4;
  static constexpr uint32_t kSharedBytes = kStages * kStage;
};
using FloatBlocksOfFew = FloatBlocks<1>;
using FloatBlocksOfMany = FloatBlocks<4>;

struct BlockQuantizeParams {
  const float* x;
  uint8_t* y;
  int64_t rows, units, x_stride, y_stride;
  int32_t unit, sub, zero;
  bool has_min, is_aligned;  // y to 4 bytes
};

struct BlockGatherParams {
  const uint8_t* w;
  const void* indices;
  float* y;
  int64_t count, outputs, units, y_stride;  // count: pieces of 32 k of all rows
  FastDivisor pieces;                       // of a row
  BlockType type;
  bool is_aligned, are_i64;
  uint32_t fault_value;
  uint32_t* fault;
};

}  // namespace ingot::cuda
