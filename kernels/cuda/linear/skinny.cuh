// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/skinny.cuh - a few rows times panels, where reading the weights is all that
// takes time: an output a thread, its one chain over k upward, while several k-tiles of the panel
// are on their way.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/linear/skinny_params.h"

namespace ingot::cuda {

/// How many k the k-tile from first_k on has: nothing past the end of the sum is read. May be
/// negative: nothing is valid.
GPU_FN int skinny_depth(const SkinnyParams& p, int64_t first_k) {
  return p.k - first_k < SkinnyShape::kDepth ? int(p.k - first_k) : SkinnyShape::kDepth;
}
/// The k-tile from first_k on to a stage: of the panel, of x.
GPU_FN void copy_skinny_panel(const SkinnyParams& p, const float* panel, int64_t first_k,
                              float* stage) {
  using S = SkinnyShape;
  const int t = int(threadIdx.x), count = skinny_depth(p, first_k);
  INGOT_UNROLL for (int i = 0; i < S::kDepth * 4; i += S::kThreads) {
    const bool valid = (i + t) / 4 < count;
    copy_async16(stage + (i + t) * 4, panel + (valid ? first_k * 16 + (i + t) * 4 : 0), valid);
  }
}
GPU_FN void copy_skinny_rows(const SkinnyParams& p, int64_t first_k, float* stage) {
  using S = SkinnyShape;
  const int t = int(threadIdx.x), count = skinny_depth(p, first_k);
  float* x = stage + S::kDepth * 16;
  INGOT_UNROLL for (int i = 0; i < S::kDepth * S::kRows; i += S::kThreads) {
    const int row = (i + t) / S::kDepth, k = (i + t) % S::kDepth;
    const bool valid = row < p.rows && k < count;
    copy_async4(x + row * S::kPitch + k, p.x + (valid ? row * p.x_stride + first_k + k : 0), valid);
  }
}

INGOT_GPU_KERNEL_EARLY(skinny, SkinnyParams, SkinnyShape::kThreads) {
  using S = SkinnyShape;
  float* shared = gpu_shared<float>();
  const int lane = int(threadIdx.x) % 16, row = int(threadIdx.x) / 16;
  if (!p.is_early) wait_for_launches();
  for (int64_t o = int64_t(blockIdx.x) * 16; o < p.outputs; o += int64_t(gridDim.x) * 16) {
    const float* panel = p.w + o * p.k;
    float sum = p.bias && o + lane < p.outputs ? p.bias[o + lane] : 0.0f;
    INGOT_UNROLL for (int s = 0; s + 1 < S::kStages; s++)
        copy_skinny_panel(p, panel, int64_t(s) * S::kDepth, shared + s * S::kStage);
    wait_for_launches();
    INGOT_UNROLL for (int s = 0; s + 1 < S::kStages; s++) {
      copy_skinny_rows(p, int64_t(s) * S::kDepth, shared + s * S::kStage);
      commit_copies();
    }
    int now = 0;
    for (int64_t at = 0; at < p.k; at += S::kDepth) {
      wait_for_copies<S::kStages - 2>();
      __syncthreads();  // this stage is whole, and nobody reads the one before any more
      const int next = now == 0 ? S::kStages - 1 : now - 1;
      copy_skinny_panel(p, panel, at + (S::kStages - 1) * S::kDepth, shared + next * S::kStage);
      copy_skinny_rows(p, at + (S::kStages - 1) * S::kDepth, shared + next * S::kStage);
      commit_copies();
      if (row < p.rows) {
        const float *w = shared + now * S::kStage + lane,
                    *x = shared + now * S::kStage + S::kDepth * 16 + row * S::kPitch;
        if (p.k - at >= S::kDepth) {
          GPU_UNROLL_BY(4)
          for (int k = 0; k < S::kDepth; k += 4) {
            const Quad v = *reinterpret_cast<const Quad*>(x + k);
            INGOT_UNROLL for (int i = 0; i < 4; i++) sum = V::fma(v.v[i], w[(k + i) * 16], sum);
          }
        } else {
          for (int k = 0; k < int(p.k - at); k++) sum = V::fma(x[k], w[k * 16], sum);
        }
      }
      now = now + 1 == S::kStages ? 0 : now + 1;
    }
    wait_for_copies<0>();
    if (row < p.rows && o + lane < p.outputs)
      finish_quad(p.epilogue, {{sum}},
                  p.residual ? p.residual + row * p.residual_stride + o + lane : nullptr,
                  p.y + row * p.y_stride + o + lane, 1, false);
    __syncthreads();
  }
  wait_for_launches();  // blocks without a panel
}

}  // namespace ingot::cuda
