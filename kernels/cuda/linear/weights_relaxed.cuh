// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weights_relaxed.cuh - a few rows times weights of 8 and 4 bits where bits
// need not be the CPU's: a block has 16 outputs, its threads share k, and every number is read once
// and becomes an f32 once for all rows. Sums are added in one order, so every run has the same
// bits.
#pragma once
#include "kernels/cuda/linear/weights.cuh"

namespace ingot::cuda {

constexpr int kRelaxedThreads = 256, kRelaxedWarps = kRelaxedThreads / 32;

/// How four neighbouring outputs from `o` on become numbers, in a block of k.
struct FourWeightQuantParams {
  WeightQuantParams of[4];
};
GPU_FN FourWeightQuantParams steps_at(const PackedWeights& w, int64_t panel, int64_t k, int o) {
  const int64_t at = (panel * w.blocks + int64_t(divide(uint64_t(k), w.block))) * 16 + o;
  const Quad scales = *reinterpret_cast<const Quad*>(w.scales + at);
  const uint32_t zeros = w.zeros ? *reinterpret_cast<const uint32_t*>(w.zeros + at) : 0;
  FourWeightQuantParams s;
  INGOT_UNROLL for (int i = 0; i < 4; i++) s.of[i] =
      weight_quant_params(w.bits, scales.v[i], int8_t(uint8_t(zeros >> 8 * i)));
  return s;
}

/// Sums of a thread: of rows, for four neighbouring outputs.
template <int kRows>
struct RelaxedSums {
  float of[kRows][4] = {};
  /// One k of all rows. x: of row 0.
  GPU_MEMBER void add(const SkinnyWeightsParams& p, const float* x, const float (&w)[4]) {
    INGOT_UNROLL for (int r = 0; r < kRows; r++) {
      if (r >= p.rows) break;
      const float factor = x[r * p.x_stride];
      INGOT_UNROLL for (int i = 0; i < 4; i++) of[r][i] = V::fma(factor, w[i], of[r][i]);
    }
  }
};

/// A word has one k of four outputs. Threads `first` of `apart`.
template <int kRows>
GPU_FN void add_bytes(const SkinnyWeightsParams& p, int64_t panel, int o, int first, int apart,
                      RelaxedSums<kRows>* sums) {
  constexpr int kAhead = kRows == 1 ? 4 : kRows == 4 ? 2 : 1;
  const PackedWeights& w = p.w;
  const uint8_t* const numbers = w.numbers + panel * w.panel_bytes + o;
  FourWeightQuantParams steps = steps_at(w, panel, 0, o);
  GPU_ROLLED for (int64_t at = first; at < w.k; at += apart * kAhead) {
    uint32_t words[kAhead];
    INGOT_UNROLL for (int n = 0; n < kAhead; n++) {
      const int64_t k = at + n * apart;
      words[n] = k < w.k ? *reinterpret_cast<const uint32_t*>(numbers + k * 16) : 0;
    }
    INGOT_UNROLL for (int n = 0; n < kAhead; n++) {
      const int64_t k = at + n * apart;
      if (k >= w.k) break;
      if (w.blocks > 1) steps = steps_at(w, panel, k, o);
      float four[4];
      INGOT_UNROLL for (int i = 0; i < 4; i++) four[i] =
          weight_of(steps.of[i], (words[n] ^ 0x80808080u) >> 8 * i & 255u);
      sums->add(p, p.x + k, four);
    }
  }
}

struct alignas(16) FourWords {
  uint32_t of[4];
};
/// A word has eight k of one output.
template <int kRows>
GPU_FN void add_nibbles(const SkinnyWeightsParams& p, int64_t panel, int o, int first, int apart,
                        RelaxedSums<kRows>* sums) {
  const PackedWeights& w = p.w;
  const uint8_t* const numbers = w.numbers + panel * w.panel_bytes + o * 4;
  GPU_ROLLED for (int64_t k = int64_t(first) * 8; k < w.k; k += int64_t(apart) * 8) {
    const FourWords words = *reinterpret_cast<const FourWords*>(numbers + k * 8);
    const FourWeightQuantParams steps = steps_at(w, panel, k, o);
    INGOT_UNROLL for (int e = 0; e < 8; e++) {
      if (k + e >= w.k) break;
      float four[4];
      INGOT_UNROLL for (int i = 0; i < 4; i++) four[i] =
          weight_of(steps.of[i], (words.of[i] ^ 0x88888888u) >> 4 * e & 15u);
      sums->add(p, p.x + k + e, four);
    }
  }
}

/// A block a panel: with a loop over panels, what lives over the call of an activation would spill.
template <int kRows>
GPU_FN void relaxed_skinny_weights(const SkinnyWeightsParams& p) {
  GPU_SHARED_ARRAY(float, all, [kRelaxedWarps][kRows][16]);
  const int t = int(threadIdx.x), lane = t % 32, warp = t / 32, o = lane % 4 * 4;
  const int64_t panel = blockIdx.x;
  RelaxedSums<kRows> sums;
  if (p.w.bits == 8)
    add_bytes<kRows>(p, panel, o, t / 4, kRelaxedThreads / 4, &sums);
  else
    add_nibbles<kRows>(p, panel, o, t / 4, kRelaxedThreads / 4, &sums);
  INGOT_UNROLL for (int r = 0; r < kRows; r++) INGOT_UNROLL for (int i = 0; i < 4; i++) {
    float s = sums.of[r][i];
    INGOT_UNROLL for (int apart = 4; apart < 32; apart *= 2) s += __shfl_xor_sync(~0u, s, apart);
    if (lane < 4) all[warp][r][o + i] = s;
  }
  __syncthreads();
  const int r = t / 16, own = t % 16;
  const int64_t output = panel * 16 + own;
  if (r >= kRows || r >= p.rows || output >= p.outputs) return;
  float s = 0;
  INGOT_UNROLL for (int i = 0; i < kRelaxedWarps; i++) s += all[i][r][own];
  if (p.bias) s += p.bias[output];
  finish_quad(p.epilogue, {{s}}, p.residual ? p.residual + r * p.residual_stride + output : nullptr,
              p.y + r * p.y_stride + output, 1, false);
}

INGOT_GPU_KERNEL(relaxed_weights_by_1_row, SkinnyWeightsParams, kRelaxedThreads) {
  relaxed_skinny_weights<1>(p);
}
INGOT_GPU_KERNEL(relaxed_weights_by_4_rows, SkinnyWeightsParams, kRelaxedThreads) {
  relaxed_skinny_weights<4>(p);
}
INGOT_GPU_KERNEL(relaxed_weights_by_16_rows, SkinnyWeightsParams, kRelaxedThreads) {
  relaxed_skinny_weights<16>(p);
}

}  // namespace ingot::cuda
