// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weights_params.h - what kernels of weights of 8 and 4 bits with scales take.
// Strides in elements. Contract: runtime/op/linear.h.
#pragma once
#include <cstdint>

#include "kernels/cuda/device/fast_divide.h"
#include "kernels/cuda/gemm/epilogue_params.h"

namespace ingot::cuda {

/// Weights [outputs, k] in panels of 16 outputs, as they lie in the file.
struct PackedWeights {
  const uint8_t* numbers;  // panel_bytes apart: bytes [k][16], or words [k / 8][16] of eight k
  const float* scales;     // [blocks][16] a panel
  const int8_t* zeros;     // likewise, or null
  int64_t k, panel_bytes, blocks;
  FastDivisor block;   // k with one scale, a multiple of 8 where there are several blocks
  int32_t bits;        // 8 or 4
  int32_t is_aligned;  // all three to 16 bytes
};

/// A block has one panel and up to kRows rows; kStages k-tiles of both are on their way at a time.
/// A thread has one output of kEach rows.
template <int kEach>
struct WeightsShape {
  static constexpr int kThreads = 128, kRows = kThreads / 16 * kEach, kDepth = 64, kStages = 6;
  static constexpr int kBlocks = kDepth / 8;  // that a k-tile may touch
  // of a row of x: rows of one warp in different banks
  static constexpr int kPitch = kDepth + 4;
  // where parts of a stage begin, in bytes
  static constexpr int kScales = kDepth * 16, kZeros = kScales + kBlocks * 64,
                       kX = kZeros + kBlocks * 16, kStage = kX + kRows * kPitch * 4;
  static constexpr uint32_t kSharedBytes = kStages * kStage;
};
using WeightsOf8Rows = WeightsShape<1>;
using WeightsOf16Rows = WeightsShape<2>;

struct SkinnyWeightsParams {
  const float *x, *bias, *residual;  // bias or residual may be null
  float* y;
  int64_t rows, outputs;  // rows: 1 .. kRows
  int64_t x_stride, y_stride, residual_stride;
  PackedWeights w;
  EpilogueParams epilogue;
};

/// Some panels as f32 [panel][k][16], for products of many rows.
struct ExpandWeightsParams {
  float* to;
  int64_t count;       // panels * groups of k * 16
  FastDivisor groups;  // of eight k
  PackedWeights w;
};

}  // namespace ingot::cuda
