// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/depthwise_rows.cuh - k-tiles of a product whose rows are what a depthwise
// convolution gives: computed where they are needed, straight into shared memory.
#pragma once
#include "kernels/cuda/conv2d/depthwise.cuh"

namespace ingot::cuda {

/// A thread has a quad of channels of four neighbouring pixels, in each k-tile. See
/// DepthwisePointwiseParams.
template <class T>
struct DepthwiseRows {
  static constexpr int kQuads = T::kDepth / 4, kGroup = 4;
  static_assert(T::kPixels / kGroup * kQuads == T::kThreads, "");
  const DepthwiseParams& p;
  DepthwiseItem item;
  bool is_live;

  INGOT_INLINE DepthwiseRows(const DepthwiseParams& params, int64_t first_pixel, int64_t pixels)
      : p(params) {
    const int64_t pixel = first_pixel + int(threadIdx.x) / kQuads * kGroup;
    const int64_t row = quotient(pixel, p.ow), n = quotient(row, p.oh);
    item = {n, row - n * p.oh, pixel - row * p.ow, int(threadIdx.x) % kQuads * 4, 4};
    is_live = pixel < pixels;
  }
  INGOT_INLINE void copy(float* a) {
    Quad sums[kGroup] = {};
    if (is_live && item.c < p.c) {
      if (p.stride_w == 1)
        depthwise_sums<3, 1, kGroup>(p, item, sums);
      else
        depthwise_sums<3, 2, kGroup>(p, item, sums);
    }
    float* to = a + int(threadIdx.x) / kQuads * kGroup * T::kPitchA + int(threadIdx.x) % kQuads * 4;
    INGOT_UNROLL for (int r = 0; r < kGroup; r++) {
      *reinterpret_cast<Quad*>(to + r * T::kPitchA) = sums[r];
    }
    GPU_ROLLED  // one copy of the activations
    for (int r = 0; r < kGroup; r++, to += T::kPitchA) {
      Quad* const own = reinterpret_cast<Quad*>(to);
      *own = activate_quad(p.epilogue, *own);
    }
    item.c += T::kDepth;
  }
};

}  // namespace ingot::cuda
