// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weights.cuh - weights of 8 and 4 bits with scales. A few rows read them once,
// as they lie in the file, and make numbers of them in registers: an output a thread, its one chain
// over k upward, while several k-tiles are on their way. Many rows read panels of f32 that were
// made before. Contract: runtime/op/linear.h.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/linear/weights_params.h"

namespace ingot::cuda {

constexpr int kWeightGroup = 8;  // k that are made numbers of at a time: half a block at most

/// Whole numbers below 2^23 are the low bits of 2^23 and more: taking it off leaves the number,
/// and with it whatever else was added, exactly.
constexpr uint32_t kTwo23Bits = 0x4b000000u;
constexpr float kTwo23 = 8388608.0f;

/// Numbers of one output: bits that were turned to count from 0, less what that and the zero point
/// added, times the scale.
struct WeightQuantParams {
  float scale, offset;
};
GPU_FN WeightQuantParams weight_quant_params(int bits, float scale, int zero) {
  return {scale, kTwo23 + float((bits == 8 ? 128 : 8) + zero)};
}
GPU_FN float weight_of(const WeightQuantParams& s, uint32_t from_0) {
  return (cpu::bits_float(kTwo23Bits | from_0) - s.offset) * s.scale;
}

/// Eight k of one output from `k` on, a multiple of 8. `panel` is in memory or in shared memory;
/// bytes beyond `count` k are not read.
GPU_FN void weights_of(int bits, bool is_aligned, const uint8_t* panel, int64_t k, int lane,
                       int count, const WeightQuantParams& s, float (&w)[kWeightGroup]) {
  if (bits == 8) {
    const uint8_t* const from = panel + k * 16 + lane;
    INGOT_UNROLL for (int i = 0; i < kWeightGroup; i++) w[i] =
        weight_of(s, uint32_t(i < count ? from[i * 16] : 0) ^ 0x80u);
    return;
  }
  const uint8_t* const from = panel + k / 8 * 64 + lane * 4;
  const uint32_t word = is_aligned ? *reinterpret_cast<const uint32_t*>(from)
                                   : uint32_t(from[0]) | uint32_t(from[1]) << 8 |
                                         uint32_t(from[2]) << 16 | uint32_t(from[3]) << 24;
  const uint32_t turned = word ^ 0x88888888u;
  INGOT_UNROLL for (int i = 0; i < kWeightGroup; i++) w[i] = weight_of(s, turned >> 4 * i & 15u);
}

/// 16 bytes to shared memory, at once where `from` is not aligned to them.
GPU_FN void copy_weights16(uint8_t* to, const uint8_t* from, bool is_aligned, bool valid) {
  if (is_aligned) return copy_async16(to, from, valid);
  GPU_ROLLED for (int i = 0; i < 16; i++) to[i] = valid ? from[i] : uint8_t(0);
}

/// Where a block reads its panel.
struct PanelOfWeights {
  const uint8_t *numbers, *scales, *zeros;
};
GPU_FN PanelOfWeights panel_of(const PackedWeights& w, int64_t panel) {
  return {w.numbers + panel * w.panel_bytes,
          reinterpret_cast<const uint8_t*>(w.scales + panel * w.blocks * 16),
          w.zeros ? reinterpret_cast<const uint8_t*>(w.zeros) + panel * w.blocks * 16 : nullptr};
}

/// Of no zeros too, where nothing is read: a place behind null, which C++ does not say anything of.
GPU_FN const uint8_t* behind(const uint8_t* p, int64_t bytes) {
#if defined(__CUDA_ARCH__)
  return p + bytes;
#else
  return reinterpret_cast<const uint8_t*>(reinterpret_cast<uintptr_t>(p) + uintptr_t(bytes));
#endif
}

/// The k-tile from first_k on to a stage. Nothing past the end of the sum is read.
template <class S>
GPU_FN void copy_weights(const SkinnyWeightsParams& p, const PanelOfWeights& panel,
                         int64_t first_k, uint8_t* stage) {
  const PackedWeights& w = p.w;
  const int t = int(threadIdx.x);
  const int count = w.k - first_k < S::kDepth ? int(w.k - first_k)
                                              : S::kDepth;  // may be negative: nothing is valid
  const int pieces = w.bits == 8 ? count : (count + 7) / 8 * 4;  // of 16 bytes
  const int64_t first_piece = w.bits == 8 ? first_k : first_k / 2;
  if (t < S::kDepth) {
    const bool valid = t < pieces;
    copy_weights16(stage + t * 16, panel.numbers + (valid ? (first_piece + t) * 16 : 0),
                   w.is_aligned, valid);
  } else if (t < S::kDepth + S::kBlocks * 5) {  // scales are four pieces a block, zeros one
    const int at = t - S::kDepth, of_scales = S::kBlocks * 4;
    const bool is_zeros = at >= of_scales;
    const int64_t first = count > 0 ? int64_t(divide(uint64_t(first_k), w.block)) : w.blocks;
    const int64_t block = first + (is_zeros ? at - of_scales : at / 4);
    const bool valid = block < w.blocks && (!is_zeros || panel.zeros);
    const uint8_t* const from =
        is_zeros ? behind(panel.zeros, block * 16) : panel.scales + block * 64 + at % 4 * 16;
    copy_weights16(stage + S::kScales + at * 16, valid ? from : panel.scales, w.is_aligned, valid);
  }
  float* const x = reinterpret_cast<float*>(stage + S::kX);
  INGOT_UNROLL for (int i = 0; i < S::kDepth * S::kRows; i += S::kThreads) {
    const int row = (i + t) / S::kDepth, k = (i + t) % S::kDepth;
    const bool valid = row < p.rows && k < count;
    copy_async4(x + row * S::kPitch + k, p.x + (valid ? row * p.x_stride + first_k + k : 0), valid);
  }
}

template <int kEach>
GPU_FN void skinny_weights(const SkinnyWeightsParams& p) {
  using S = WeightsShape<kEach>;
  constexpr int kApart = S::kThreads / 16;  // rows of a thread
  uint8_t* const shared = gpu_shared<uint8_t>();
  const int lane = int(threadIdx.x) % 16, row = int(threadIdx.x) / 16;
  const int64_t k_all = p.w.k;
  for (int64_t o = int64_t(blockIdx.x) * 16; o < p.outputs; o += int64_t(gridDim.x) * 16) {
    const PanelOfWeights panel = panel_of(p.w, o / 16);
    float sums[kEach];
    INGOT_UNROLL for (int r = 0; r < kEach; r++) sums[r] =
        p.bias && o + lane < p.outputs ? p.bias[o + lane] : 0.0f;
    INGOT_UNROLL for (int s = 0; s + 1 < S::kStages; s++) {
      copy_weights<S>(p, panel, int64_t(s) * S::kDepth, shared + s * S::kStage);
      commit_copies();
    }
    int now = 0;
    for (int64_t at = 0; at < k_all; at += S::kDepth) {
      wait_for_copies<S::kStages - 2>();
      __syncthreads();  // this stage is whole, and nobody reads the one before any more
      const int next = now == 0 ? S::kStages - 1 : now - 1;
      copy_weights<S>(p, panel, at + (S::kStages - 1) * S::kDepth, shared + next * S::kStage);
      commit_copies();
      if (row < p.rows) {
        const uint8_t* const stage = shared + now * S::kStage;
        const float* const x = reinterpret_cast<const float*>(stage + S::kX) + row * S::kPitch;
        const int count = k_all - at < S::kDepth ? int(k_all - at) : S::kDepth;
        int64_t block = int64_t(divide(uint64_t(at), p.w.block));
        int64_t end = (block + 1) * p.w.block.divisor - at;  // of the block, in the tile
        int here = 0;                                        // the block in the stage
        GPU_ROLLED for (int k = 0; k < count; k += kWeightGroup) {
          if (k == end) here++, end += p.w.block.divisor;
          const float scale = reinterpret_cast<const float*>(stage + S::kScales)[here * 16 + lane];
          const int8_t zero = reinterpret_cast<const int8_t*>(stage + S::kZeros)[here * 16 + lane];
          float w[kWeightGroup];
          weights_of(p.w.bits, true, stage, k, lane, kWeightGroup,
                     weight_quant_params(p.w.bits, scale, zero), w);
          INGOT_UNROLL for (int r = 0; r < kEach; r++) {
            const float* const own = x + r * kApart * S::kPitch + k;
            if (count - k >= kWeightGroup) {
              INGOT_UNROLL for (int i = 0; i < kWeightGroup; i += 4) {
                const Quad v = *reinterpret_cast<const Quad*>(own + i);
                INGOT_UNROLL for (int e = 0; e < 4; e++) sums[r] =
                    V::fma(v.v[e], w[i + e], sums[r]);
              }
            } else {
              INGOT_UNROLL for (int i = 0; i < kWeightGroup; i++) if (i < count - k) sums[r] =
                  V::fma(own[i], w[i], sums[r]);
            }
          }
        }
      }
      now = now + 1 == S::kStages ? 0 : now + 1;
    }
    wait_for_copies<0>();
    INGOT_UNROLL for (int r = 0; r < kEach; r++) {
      const int64_t m = row + r * kApart;
      if (m < p.rows && o + lane < p.outputs)
        finish_quad(p.epilogue, {{sums[r]}},
                    p.residual ? p.residual + m * p.residual_stride + o + lane : nullptr,
                    p.y + m * p.y_stride + o + lane, 1, false);
    }
    __syncthreads();
  }
}

INGOT_GPU_KERNEL(weights_by_8_rows, SkinnyWeightsParams, WeightsOf8Rows::kThreads) {
  skinny_weights<1>(p);
}
INGOT_GPU_KERNEL(weights_by_16_rows, SkinnyWeightsParams, WeightsOf16Rows::kThreads) {
  skinny_weights<2>(p);
}

INGOT_GPU_KERNEL(expand_weights, ExpandWeightsParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i / 16);
    const int lane = int(i % 16);
    const int64_t k = int64_t(take_remainder(&rest, p.groups)) * kWeightGroup,
                  panel = int64_t(rest);
    const PanelOfWeights from = panel_of(p.w, panel);
    const int64_t block = int64_t(divide(uint64_t(k), p.w.block)),
                  steps = (panel * p.w.blocks + block) * 16 + lane;
    const int count = p.w.k - k < kWeightGroup ? int(p.w.k - k) : kWeightGroup;
    float w[kWeightGroup];
    weights_of(p.w.bits, p.w.is_aligned, from.numbers, k, lane, count,
               weight_quant_params(p.w.bits, p.w.scales[steps],
                                   p.w.zeros ? p.w.zeros[steps] : 0),
                w);
    float* const to = p.to + (panel * p.w.k + k) * 16 + lane;
    INGOT_UNROLL for (int e = 0; e < kWeightGroup; e++) if (e < count) to[e * 16] = w[e];
  }
}

}  // namespace ingot::cuda
