// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/float_blocks.cuh - products with weights of 16 bits: an output of kEach
// rows a thread, one chain of fma over k upward; weights and rows come through shared memory.
#pragma once
#include "kernels/cuda/block_linear/codes.cuh"
#include "kernels/cuda/block_linear/groups.cuh"
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

/// A k-tile of a panel and of the tile's rows to a stage. Nothing behind the last k is read.
template <class S>
GPU_FN void copy_floats(const BlockLinearParams& p, const BlockTile& tile, const uint8_t* panel,
                        int64_t first_k, int64_t all, uint8_t* stage) {
  constexpr int kRow = block_weights::kOutputs * 2;  // bytes of a k
  const int t = int(threadIdx.x);
  const int64_t left = all - first_k;
  const int count = left < 0 ? 0 : left < S::kDepth ? int(left) : S::kDepth;
  GPU_ROLLED for (int at = t * 16; at < S::kDepth * kRow; at += S::kThreads * 16) {
    const bool valid = at < count * kRow;
    const uint8_t* const from = panel + (valid ? first_k * kRow + at : 0);
    if (p.w_aligned >= 16)
      copy_async16(stage + at, from, valid);
    else
      GPU_ROLLED for (int i = 0; i < 16; i++) stage[at + i] = valid ? from[i] : uint8_t(0);
  }
  float* const x = reinterpret_cast<float*>(stage + S::kX);
  const float* const rows = reinterpret_cast<const float*>(p.x);
  GPU_ROLLED for (int i = t; i < S::kRows * S::kDepth; i += S::kThreads) {
    const int row = i / S::kDepth, k = i % S::kDepth;
    const bool valid = row < tile.count && k < count;
    copy_async4(x + i, rows + (valid ? (tile.first + row) * p.x_stride + first_k + k : 0), valid);
  }
}

template <class S>
GPU_FN void float_products(const BlockLinearParams& p) {
  constexpr int kStep = 4;
  uint8_t* const shared = gpu_shared<uint8_t>();
  const int lane = int(threadIdx.x) % 32, first_row = int(threadIdx.x) / 32 * S::kEach;
  for (int64_t panel = blockIdx.y; panel < p.panels; panel += gridDim.y)
    for (int64_t at = blockIdx.x; at < p.tiles; at += gridDim.x) {
      const BlockTile tile = block_tile(p, at, S::kRows);
      if (tile.count == 0) break;  // and no later one has rows
      const int64_t all = tile.w ? p.units * kCodesK : 0;
      const uint8_t* const from = tile.w ? tile.w + panel * p.panel_bytes : p.w;
      float sums[S::kEach] = {};
      GPU_ROLLED for (int s = 0; s + 1 < S::kStages; s++) {
        copy_floats<S>(p, tile, from, int64_t(s) * S::kDepth, all, shared + s * S::kStage);
        commit_copies();
      }
      int now = 0;
      GPU_ROLLED for (int64_t first_k = 0; first_k < all; first_k += S::kDepth) {
        wait_for_copies<S::kStages - 2>();
        __syncthreads();  // this stage is whole, and nobody reads the one before any more
        const int next = now == 0 ? S::kStages - 1 : now - 1;
        copy_floats<S>(p, tile, from, first_k + (S::kStages - 1) * S::kDepth, all,
                       shared + next * S::kStage);
        commit_copies();
        const uint16_t* const w = reinterpret_cast<const uint16_t*>(shared + now * S::kStage);
        const float* const x = reinterpret_cast<const float*>(shared + now * S::kStage + S::kX);
        const int count = all - first_k < S::kDepth ? int(all - first_k) : S::kDepth;
        if (first_row < tile.count) {
          GPU_UNROLL_BY(2)
          for (int k = 0; k < count; k += kStep) {
            float own[kStep];
            INGOT_UNROLL for (int i = 0; i < kStep; i++) {
              const uint16_t bits = w[(k + i) * block_weights::kOutputs + lane];
              own[i] = p.type == BlockType::kBF16 ? cpu::bf16_to_f32(bits) : widen_f16(bits);
            }
            INGOT_UNROLL for (int r = 0; r < S::kEach; r++) {
              const FourFloats four =
                  *reinterpret_cast<const FourFloats*>(x + (first_row + r) * S::kDepth + k);
              INGOT_UNROLL for (int i = 0; i < kStep; i++) sums[r] =
                  V::fma(four.x[i], own[i], sums[r]);
            }
          }
        }
        now = now + 1 == S::kStages ? 0 : now + 1;
      }
      wait_for_copies<0>();
      INGOT_UNROLL for (int r = 0; r < S::kEach; r++) if (first_row + r < tile.count) finish_output(
          p, tile.first + first_row + r, panel * block_weights::kOutputs + lane, sums[r]);
      __syncthreads();
    }
}

INGOT_GPU_KERNEL(float_blocks_few, BlockLinearParams, FloatBlocksOfFew::kThreads) {
  float_products<FloatBlocksOfFew>(p);
}
INGOT_GPU_KERNEL(float_blocks_many, BlockLinearParams, FloatBlocksOfMany::kThreads) {
  float_products<FloatBlocksOfMany>(p);
}

}  // namespace ingot::cuda
