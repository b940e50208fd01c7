// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/tile_shape.h - how a product is cut into blocks and threads; kernels and
// plans read the same numbers.
#pragma once
#include <cstdint>

namespace ingot::cuda {

/// A block computes `kPixels` x `kChannels` outputs, each thread `kRows` x `kCols` of them, from
/// k-tiles of kDepth summands that lie twice in shared memory:
///   a [pixel][k], pitch kDepth + 4: quads along k of eight neighbouring pixels lie in different
///   banks
///   b [k][channel], pitch kChannels + 4: eight k of one channel do
template <int pixels, int channels, int rows, int cols, int depth, int blocks>
struct TileShape {
  static constexpr int kPixels = pixels, kChannels = channels, kRows = rows, kCols = cols,
                       kDepth = depth;
  static constexpr int kBlocks = blocks;  // that share a multiprocessor: what registers may be used
  static constexpr int kAcross = channels / cols, kThreads = pixels / rows * kAcross;
  static constexpr int kPitchA = depth + 4, kPitchB = channels + 4;
  static constexpr int kStageA = pixels * kPitchA, kStage = kStageA + depth * kPitchB;  // floats
  // the sums on their way to memory, where the k-tiles were
  static constexpr int kSums = pixels * channels;
  static constexpr uint32_t kSharedBytes = uint32_t(2 * kStage > kSums ? 2 * kStage : kSums) * 4;
  static_assert(cols % 4 == 0 && depth % 16 == 0 && kThreads % 32 == 0 && kSharedBytes <= 48 << 10,
                "");
};

using LargeTile = TileShape<128, 64, 8, 8, 16, 2>;   // 128 threads
using SquareTile = TileShape<64, 64, 8, 4, 16, 3>;   // 128
using NarrowTile = TileShape<128, 32, 8, 4, 16, 3>;  // 128: few channels
using ThinTile = TileShape<128, 16, 4, 4, 16, 4>;    // 128: one panel
using SmallTile = TileShape<32, 32, 4, 4, 32, 6>;    // 64: few outputs in all

}  // namespace ingot::cuda
