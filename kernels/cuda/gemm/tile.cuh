// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/tile.cuh - the register tile behind every exact product: one chain of fma per
// output over k upward.
//
// k-tiles alternate between two stages of shared memory; while one is multiplied the next is on its
// way. The last k-tile ends where the sum ends: a summand of zero more would turn -0 into +0.
#pragma once
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/tile_shape.h"

namespace ingot::cuda {

/// Which outputs a thread has: rows row() + i * kRowStep, channels channel(h) .. + 3 for quad h.
/// Neighbouring threads are neighbouring quads of channels.
template <class T>
struct TileThread {
  static constexpr int kRowStep = T::kPixels / T::kRows, kQuads = T::kCols / 4;
  int across, row;
  GPU_FN TileThread make() {
    return {int(threadIdx.x) % T::kAcross, int(threadIdx.x) / T::kAcross};
  }
  INGOT_INLINE int channel(int quad) const { return (quad * T::kAcross + across) * 4; }
};

template <class T>
struct TileSums {
  float v[T::kRows][T::kCols];
};

/// One k of the tile.
template <class T>
GPU_FN void multiply_step(const float (&a)[T::kRows], const float* b, TileSums<T>& sums) {
  Quad w[TileThread<T>::kQuads];
  INGOT_UNROLL for (int h = 0; h < TileThread<T>::kQuads; h++) w[h] =
      *reinterpret_cast<const Quad*>(b + h * T::kAcross * 4);
  INGOT_UNROLL for (int i = 0; i < T::kRows; i++) INGOT_UNROLL for (int j = 0; j < T::kCols; j++)
      sums.v[i][j] = V::fma(a[i], w[j / 4].v[j % 4], sums.v[i][j]);
}

/// `count` k of a stage.
template <class T>
GPU_FN void multiply_stage(const float* stage, int count, const TileThread<T>& own,
                           TileSums<T>& sums) {
  const float* a = stage + own.row * T::kPitchA;
  const float* b = stage + T::kStageA + own.across * 4;
  if (count == T::kDepth) {
    GPU_UNROLL_BY(2)
    for (int k = 0; k < T::kDepth; k += 4) {
      Quad column[T::kRows];
      INGOT_UNROLL for (int i = 0; i < T::kRows; i++) column[i] =
          *reinterpret_cast<const Quad*>(a + i * TileThread<T>::kRowStep * T::kPitchA + k);
      INGOT_UNROLL for (int s = 0; s < 4; s++) {
        float x[T::kRows];
        INGOT_UNROLL for (int i = 0; i < T::kRows; i++) x[i] = column[i].v[s];
        multiply_step<T>(x, b + (k + s) * T::kPitchB, sums);
      }
    }
    return;
  }
  GPU_ROLLED
  for (int k = 0; k < count; k++) {
    float x[T::kRows];
    INGOT_UNROLL for (int i = 0; i < T::kRows; i++) x[i] =
        a[i * TileThread<T>::kRowStep * T::kPitchA + k];
    multiply_step<T>(x, b + k * T::kPitchB, sums);
  }
}

/// Adds `k` summands. a.copy(shared) and b.copy(shared, first k, how many) send the next k-tile on
/// its way, all threads together. What launches in front of this one write is a's alone, where they
/// have not been waited for.
template <class T, class A, class B>
GPU_FN void accumulate(A& a, const B& b, int64_t k, float* shared, const TileThread<T>& own,
                       TileSums<T>& sums) {
  if (k <= 0) return;
  const auto rest = [&](int64_t from) { return k - from < T::kDepth ? int(k - from) : T::kDepth; };
  b.copy(shared + T::kStageA, 0, rest(0));
  wait_for_launches();
  a.copy(shared);
  commit_copies();
  int now = 0;
  for (int64_t at = 0; at < k; at += T::kDepth, now ^= 1) {
    wait_for_copies<0>();
    __syncthreads();  // this stage is whole, and nobody multiplies the other one any more
    if (at + T::kDepth < k) {
      float* next = shared + (now ^ 1) * T::kStage;
      a.copy(next);
      b.copy(next + T::kStageA, at + T::kDepth, rest(at + T::kDepth));
      commit_copies();
    }
    multiply_stage<T>(shared + now * T::kStage, rest(at), own, sums);
  }
}

/// Sums of a block to memory, quad by quad through shared memory, so that the loop is not unrolled:
/// put(row of the tile, channel of the tile, sums). The block's stages are free again when it
/// returns.
template <class T, class Put>
GPU_FN void finish_tile(const TileSums<T>& sums, float* shared, const TileThread<T>& own, Put put) {
  Quad* slots = reinterpret_cast<Quad*>(shared) + threadIdx.x;
  __syncthreads();
  INGOT_UNROLL for (int i = 0; i < T::kRows; i++)
      INGOT_UNROLL for (int h = 0; h < TileThread<T>::kQuads; h++) {
    const float(&v)[T::kCols] = sums.v[i];
    slots[(i * TileThread<T>::kQuads + h) * T::kThreads] = {
        {v[h * 4], v[h * 4 + 1], v[h * 4 + 2], v[h * 4 + 3]}};
  }
  GPU_ROLLED
  for (int q = 0; q < T::kRows * TileThread<T>::kQuads; q++)
    put(own.row + q / TileThread<T>::kQuads * TileThread<T>::kRowStep,
        own.channel(q % TileThread<T>::kQuads), slots[q * T::kThreads]);
  __syncthreads();
}

}  // namespace ingot::cuda
