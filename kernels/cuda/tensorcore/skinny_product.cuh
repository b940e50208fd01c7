// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/skinny_product.cuh - a few rows of x times w: every word of w is read
// once and multiplied in f32, so that nothing but reading w takes time. A block has 16 outputs and
// one part of k; eight neighbouring rows of k are 512 bytes of a panel, one load of a warp.
#pragma once
#include "kernels/cuda/tensorcore/finish.cuh"
#include "kernels/cuda/tensorcore/product.cuh"

namespace ingot::cuda {

/// What a word of w holds: an f32, or neighbours of k, two f16 or four s8; multiplied by f32s of x.
struct WholeWords {
  static constexpr int kEach = 1;
  GPU_FN float at(uint32_t word, int) { return float_of(word); }
};
struct HalfWords {
  static constexpr int kEach = 2;
  GPU_FN float at(uint32_t word, int i) { return unpack(F16{}, word, i); }
};
struct S8Weights {
  static constexpr int kEach = 4;
  GPU_FN float at(uint32_t word, int i) { return float(int8_t(word >> 8 * i)); }
};

template <class Words, int kRows>
GPU_FN void skinny_product(const ProductParams& p) {
  // rows of k that a block takes at a time
  constexpr int kE = Words::kEach, kApart = kProductThreads / 4;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32,
            o = int(blockIdx.x) * 16 + lane % 4 * 4;
  const int64_t batch = int64_t(p.batch_first) + blockIdx.z;
  const int begin = int(blockIdx.y) * p.split_steps * 16, wanted = begin + p.split_steps * 16,
            end = wanted < p.k ? wanted : p.k;
  const Operands from = operands_of(p, uint32_t(batch));
  const float* x = from.x;
  const float* w = from.w + int64_t(blockIdx.x) * p.panel_stride + lane % 4 * 4;
  float sums[kRows][4] = {};
  if (kStartsEarly && p.is_early && o < p.readable && lane % 4 == 0)
    GPU_ROLLED for (int k = begin + warp * 8 + lane / 4; k < end; k += kApart)
        prefetch_constant(w + k * p.k_stride);
  wait_for_launches();
  if (o < p.readable) {
    GPU_UNROLL_BY(4)
    for (int k = begin + warp * 8 + lane / 4; k < end; k += kApart) {
      const Four words = *reinterpret_cast<const Four*>(w + k * p.k_stride);
      INGOT_UNROLL for (int r = 0; r < kRows; r++) {
        if (r >= p.m) break;
        INGOT_UNROLL for (int e = 0; e < kE; e++) {
          const float factor = x[r * p.pixel_stride + int64_t(k) * kE + e];
          INGOT_UNROLL for (int i = 0; i < 4; i++) sums[r][i] =
              V::fma(factor, Words::at(word_of(words.x[i]), e), sums[r][i]);
        }
      }
    }
  }
  GPU_SHARED_ARRAY(float, all, [4][kRows][16]);
  INGOT_UNROLL for (int r = 0; r < kRows; r++) INGOT_UNROLL for (int i = 0; i < 4; i++) {
    float s = sums[r][i];
    INGOT_UNROLL for (int apart = 4; apart < 32; apart *= 2) s += __shfl_xor_sync(~0u, s, apart);
    if (lane < 4) all[warp][r][lane * 4 + i] = s;
  }
  __syncthreads();
  const int r = int(threadIdx.x) / 4, i = int(threadIdx.x) % 4 * 4,
            first = int(blockIdx.x) * 16 + i;
  const bool has_four = r < kRows && r < p.m && first < p.o;
  Four v = {};
  if (has_four)
    for (int n = 0; n < 4; n++)
      v.x[n] = (all[0][r][i + n] + all[1][r][i + n]) + (all[2][r][i + n] + all[3][r][i + n]);
  if (p.partial) {
    if (has_four) *partial_of(p, batch, int(blockIdx.y), r, first) = v;
    if (!adds_parts(p, all)) return;
    if (has_four) v = add_parts_of(p, batch, r, first);
  }
  if (has_four) finish_four(p, batch, r, first, v);
}

}  // namespace ingot::cuda
