// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/tensorcore_params.h - what the kernels of products take. Lengths and
// strides count words of 4 bytes: an f32, or four neighbouring s8 of k. In packed f16 weights a
// word is two f16 of k; k counts numbers there too, but for skinny products and for x that is f16,
// whose words are two channels as well. Strides of y and residual count elements.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/activation.h"
#include "runtime/op/tensor.h"

namespace ingot::cuda {

/// y[m][o] = epilogue(alpha * sum over k of x(m, k) * w(o, k)). A convolution's m is a pixel of the
/// output, its k is (kh, kw, c).
struct ProductParams {
  const float *x, *w, *bias, *residual,
      // bias: up to a multiple of 16, or null; residual, scale [O] of s8: null: none
      *scale;
  float *y, *partial;  // partial [batch][split][m][columns]: sums of a split, or null
  uint32_t* counters;  // one a tile: its last block adds the parts; null: add_splits does
  int64_t pixel_stride, row_stride, channel_stride, image_stride;  // of x
  // of w: 16 outputs, one output, one k
  int64_t panel_stride, n_stride, k_stride;
  int64_t y_stride, y_batch, residual_stride, bias_batch;  // bias_batch: also of residual
  int m, o, k;
  int readable;        // outputs that w has, padding included
  int columns;         // o up to a multiple of 4
  int tiles_m, steps;  // a step is 16 words of k
  int splits, split_steps;
  int h, width, c, oh, ow;  // of images; c in words
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int batch_rank, batch_first;
  FastDivisor batch_dims[kMaxRank];  // innermost last; below 2^31 together
  int64_t x_batch[kMaxRank], w_batch[kMaxRank];
  float alpha;
  ActivationSpec activation;
  bool residual_first;
  bool is_vector;  // y, residual and bias can be read and written 4 at a time
  bool y_f16, residual_f16;
  bool is_early;  // w is constant: its first copies may be before wait_for_launches()
};

// Where x is read singly, a table of words of k (pixels.cuh) lies behind the tile in shared memory.
constexpr int kTableWords = 224, kTableWord = 8;

constexpr int kProductThreads = 128;  // of a block; twice as many where a tile is large

/// Extents of the blocks' tiles: pixels x outputs. A stage of shared memory has one step of 16
/// words of k or two (steps_per_stage): three stages of two where there is room for them, else as
/// many of one as there is room for, four at most, or five where a table has taken the sixth and in
/// large tiles. `weights`: bytes of a step that an output's take; `singly`: there is a table. Room
/// is 48 KB, which every GPU gives a block unasked; in large tiles 80, so that two of them fit a
/// multiprocessor of sm_80, 87 and 90.
struct ProductTile {
  int m, o;
  constexpr bool is_large() const { return m * o > 128 * 64; }
  constexpr int threads() const { return is_large() ? 2 * kProductThreads : kProductThreads; }
  constexpr int step_bytes(int weights) const { return m * 64 + o * weights; }
  constexpr int table_bytes(bool singly) const { return singly ? kTableWords * kTableWord : 0; }
  constexpr int room(int weights, bool singly) const {
    return ((is_large() ? 80 << 10 : 48 << 10) - table_bytes(singly)) / step_bytes(weights);
  }
  constexpr int steps_per_stage(int weights, bool singly = false) const {
    return room(weights, singly) >= 6 ? 2 : 1;
  }
  constexpr int stages(int weights, bool singly = false) const {
    const int steps = room(weights, singly);
    return steps >= 6 ? 3 : steps < 4 || singly || is_large() ? steps : 4;
  }
  constexpr int shared_bytes(int weights, bool singly = false) const {
    const int copies =
                  stages(weights, singly) * steps_per_stage(weights, singly) * step_bytes(weights) +
                  table_bytes(singly),
              sums = m * (o + 4 + 1) * 4;
    return copies > sums ? copies : sums;
  }
};
/// Large tiles take whole steps of k alone: what a step lacks would be counted in registers that
/// their blocks have not.
constexpr bool has_whole_steps(int threads) { return threads > kProductThreads; }
constexpr int kWordWeights = 64,
              kPackedF16Weights = 32;  // bytes of 16 words, of 8 words of two f16
constexpr ProductTile kWideTile = {128, 64}, kSquareTile = {64, 64}, kFlatTile = {32, 128},
                      kLargeTile = {128, 128};
constexpr int kMaxTapRows = 15;  // rows of a kernel's window, where x is read in pieces; 16 columns
constexpr int kSkinnyRows = 4;   // rows of x at most for the kernel without tensor cores

}  // namespace ingot::cuda
