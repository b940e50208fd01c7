// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/matmul/matmul.cuh - products of two activations. Contract: runtime/op/matmul.h.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/matmul/matmul_params.h"

namespace ingot::cuda {

/// Rows of a matrix a [m][k] (kVector: quads along k), or of its transpose, element by element:
/// eight rows by four k, in no two banks the same.
template <class T, bool kVector>
struct MatrixRows {
  static constexpr int kQuads = T::kDepth / 4;
  static constexpr int kStep = kVector ? T::kThreads / kQuads : T::kThreads / 4;
  const float* from;  // what this thread copies first of the next k-tile
  int64_t along_row, along_k;
  int row, k, rows,
      left;  // its first row and k; rows of the block from there on, k of the matrix from there on
  INGOT_INLINE MatrixRows(const float* a, int64_t row_stride, int64_t k_stride, int64_t rows_left,
                          int depth)
      : along_row(row_stride), along_k(k_stride) {
    const int t = int(threadIdx.x);
    row = kVector ? t / kQuads : t % 8 + t / 32 * 8;
    k = kVector ? t % kQuads * 4 : t / 8 % 4;
    rows = (rows_left < T::kPixels ? int(rows_left) : T::kPixels) - row, left = depth - k;
    from = a + row * along_row + k * along_k;
  }
  INGOT_INLINE void copy(float* a) {
    constexpr int kTimes = kVector ? 1 : T::kDepth / 4;
    GPU_UNROLL_BY(2)
    for (int s = 0; s < kTimes; s++) INGOT_UNROLL for (int i = 0; i < T::kPixels; i += kStep) {
        const bool valid = i < rows && s * 4 < left;
        const float* at = from + (valid ? i * along_row + s * 4 * along_k : 0);
        float* to = a + (row + i) * T::kPitchA + k + s * 4;
        if constexpr (kVector)
          copy_async16(to, at, valid);
        else
          copy_async4(to, at, valid);
      }
    from += T::kDepth * along_k, left -= T::kDepth;
  }
};

/// Columns of a matrix b [k][n], or of its transpose, whichever neighbours lie together.
template <class T>
struct MatrixColumns {
  const float* b;  // the first column of the block
  int64_t along_k, along_n;
  int columns;  // of the block that exist
  bool vector;
  INGOT_INLINE void copy(float* to, int64_t first_k, int count) const {
    const float* from = b + first_k * along_k;
    const int t = int(threadIdx.x);
    if (vector) {
      constexpr int kRow = T::kChannels / 4, kQuads = T::kDepth * kRow;
      INGOT_UNROLL for (int i = 0; i < kQuads; i += T::kThreads) {
        const int row = (i + t) / kRow, column = (i + t) % kRow * 4;
        const bool valid = row < count && column < columns;
        copy_async16(to + row * T::kPitchB + column, from + (valid ? row * along_k + column : 0),
                     valid);
      }
      return;
    }
    // Eight neighbours in memory by four of the other kind: full sectors, and no two in one bank.
    const bool transposed = along_k == 1;
    const int minor = t % 8, major = t / 8 % 4;
    GPU_UNROLL_BY(2)
    for (int i = 0; i < T::kDepth * T::kChannels; i += T::kThreads) {
      const int block = (i + t) / 32;
      const int row =
          transposed ? block % (T::kDepth / 8) * 8 + minor : block / (T::kChannels / 8) * 4 + major;
      const int column =
          transposed ? block / (T::kDepth / 8) * 4 + major : block % (T::kChannels / 8) * 8 + minor;
      const bool valid = row < count && column < columns;
      copy_async4(to + row * T::kPitchB + column,
                  from + (valid ? row * along_k + column * along_n : 0), valid);
    }
  }
};

template <class T, bool kVector>
GPU_FN void matmul_tiles(const MatMulParams& p) {
  float* shared = gpu_shared<float>();
  const ConvParams& rows = p.rows;
  const TileThread<T> own = TileThread<T>::make();
  const int across = int((rows.outputs + T::kChannels - 1) / T::kChannels);
  const int tiles = int((rows.pixels + T::kPixels - 1) / T::kPixels) * across;
  for (int64_t batch = blockIdx.z; batch < p.batches; batch += gridDim.z) {
    const float *x = rows.x, *y = p.b;
    int64_t rest = batch;
    GPU_ROLLED
    for (int d = p.batch_rank - 1; d >= 0; d--) {
      const int64_t outer = quotient(rest, p.dims[d]), at = rest - outer * p.dims[d];
      x += at * p.a_strides[d], y += at * p.b_strides[d];
      rest = outer;
    }
    for (int tile = int(blockIdx.x); tile < tiles; tile += int(gridDim.x)) {
      const int64_t pixel = int64_t(tile / across) * T::kPixels,
                    channel = int64_t(tile % across) * T::kChannels;
      const int64_t left = rows.outputs - channel;
      TileSums<T> sums = {};
      MatrixRows<T, kVector> a(x + pixel * rows.image_stride, rows.image_stride,
                               rows.channel_stride, rows.pixels - pixel, int(rows.k));
      const MatrixColumns<T> b = {y + channel * p.b_n, p.b_k, p.b_n,
                                  left < T::kChannels ? int(left) : T::kChannels, p.vector_b};
      accumulate<T>(a, b, rows.k, shared, own, sums);
      finish_tile<T>(sums, shared, own, [&](int r, int c, const Quad& sum) {
        if (pixel + r >= rows.pixels || channel + c >= rows.outputs) return;
        Quad q = sum;
        if (p.alpha != 1.0f) {
          INGOT_UNROLL for (int i = 0; i < 4; i++) q.v[i] = q.v[i] * p.alpha;
        }
        store_quad(rows.y + batch * p.y_batch + (pixel + r) * rows.y_stride + channel + c, q,
                   rows.outputs - channel - c, rows.vector_y);
      });
    }
  }
}

INGOT_GPU_KERNEL_BLOCKS(matmul_large, MatMulParams, LargeTile::kThreads, LargeTile::kBlocks) {
  matmul_tiles<LargeTile, true>(p);
}
INGOT_GPU_KERNEL_BLOCKS(matmul_square, MatMulParams, SquareTile::kThreads, SquareTile::kBlocks) {
  matmul_tiles<SquareTile, true>(p);
}
INGOT_GPU_KERNEL_BLOCKS(matmul_small, MatMulParams, SmallTile::kThreads, SmallTile::kBlocks) {
  matmul_tiles<SmallTile, true>(p);
}
INGOT_GPU_KERNEL_BLOCKS(matmul_square_any, MatMulParams, SquareTile::kThreads,
                        SquareTile::kBlocks) {
  matmul_tiles<SquareTile, false>(p);
}
INGOT_GPU_KERNEL_BLOCKS(matmul_small_any, MatMulParams, SmallTile::kThreads, SmallTile::kBlocks) {
  matmul_tiles<SmallTile, false>(p);
}

/// One output a thread, for extents past 2^30.
INGOT_GPU_KERNEL(matmul_each, MatMulParams, 128) {
  const ConvParams& rows = p.rows;
  const int64_t count = p.batches * rows.pixels * rows.outputs;
  for (int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const int64_t row = quotient(i, rows.outputs), n = i - row * rows.outputs,
                  batch = quotient(row, rows.pixels), m = row - batch * rows.pixels;
    const float *a = rows.x + m * rows.image_stride, *b = p.b + n * p.b_n;
    int64_t rest = batch;
    for (int d = p.batch_rank - 1; d >= 0; d--) {
      const int64_t outer = quotient(rest, p.dims[d]), at = rest - outer * p.dims[d];
      a += at * p.a_strides[d], b += at * p.b_strides[d];
      rest = outer;
    }
    float sum = 0.0f;
    for (int64_t k = 0; k < rows.k; k++)
      sum = V::fma(a[k * rows.channel_stride], b[k * p.b_k], sum);
    rows.y[batch * p.y_batch + m * rows.y_stride + n] = p.alpha != 1.0f ? sum * p.alpha : sum;
  }
}

}  // namespace ingot::cuda
