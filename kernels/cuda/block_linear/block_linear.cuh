// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_linear.cuh - products with weights in blocks of codes. The warps
// of a block share the units of a panel: what a unit gives, exact integers or the inner sum of a
// unit of 256, needs no order. It goes through shared memory to one warp for each row, which adds
// units in the contract's order while the others go on. Each byte of weights is read once for up to
// kBlockRows rows.
#pragma once
#include "kernels/cuda/block_linear/block_kernels.h"
#include "kernels/cuda/block_linear/block_rows.cuh"
#include "kernels/cuda/block_linear/block_tiles.cuh"
#include "kernels/cuda/block_linear/codes.cuh"
#include "kernels/cuda/block_linear/float_blocks.cuh"
#include "kernels/cuda/block_linear/groups.cuh"
#include "kernels/cuda/device/dot.cuh"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

/// A tile of units of R rows: of one row loads of two or four times 32 k are under
/// way in each warp.
template <BlockType t, int R>
struct BlockShape {
  static constexpr BlockFormat f = block_format(t);
  static constexpr int kAhead = R > 1        ? 1
                                : f.bits % 2 ? 2
                                             : 4,
                       kPieces = f.unit / kCodesK, kOwnUnits = f.is_super() ? 1 : kAhead,
                       kWarps = kBlockThreads / 32, kUnits = kWarps * kOwnUnits;
};
/// What units give, twice: one is made while the other is added up.
template <BlockType t, int R>
struct BlockTerms {
  static constexpr int kUnits = BlockShape<t, R>::kUnits;
  static constexpr bool kHasScales = !block_format(t).is_super(),
                        kHasMinima = kHasScales && block_format(t).has_min;
  float products[2][R][kUnits][32];
  float scales[2][kHasScales ? kUnits : 1][32], minima[2][kHasMinima ? kUnits : 1][32];
};

/// Rows of BlockQuantize; those behind the last are the last one again.
struct BlockInputs {
  const uint8_t* rows;
  int64_t stride, k, units;
  int count, aligned;
  GPU_MEMBER const uint8_t* row(int r) const { return rows + (r < count ? r : count - 1) * stride; }
  GPU_MEMBER float scale(int r, int64_t unit) const {
    return float_at(row(r) + k + 4 * unit, aligned >= 4);
  }
  GPU_MEMBER uint32_t word(int r, int64_t sub) const {
    return word_at(row(r) + k + 4 * (units + sub), aligned >= 4);
  }
  /// 32 codes from `at` on, a multiple of 32.
  GPU_MEMBER void codes(int r, int64_t at, uint32_t (&q)[kCodeWords]) const {
    const uint8_t* const from = row(r) + at;
    if (aligned >= 16) {
      INGOT_UNROLL for (int i = 0; i < kCodeWords; i += 4) {
        const Bytes16 four = *reinterpret_cast<const Bytes16*>(from + 4 * i);
        INGOT_UNROLL for (int j = 0; j < 4; j++) q[i + j] = four.words[j];
      }
    } else {
      INGOT_UNROLL for (int i = 0; i < kCodeWords; i++) q[i] = word_at(from + 4 * i, aligned >= 4);
    }
  }
};

/// 32 k of a unit, the piece'th, times each row: of units of 256 added to f[r], else it is f[r].
template <BlockType t, int R>
GPU_FN void multiply_piece(const RawCodes<t>& raw, const BlockScale& scale, const uint8_t* block,
                           int lane, const BlockInputs& x, int64_t unit, int piece,
                           float (&products)[R]) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = kCodesK / f.sub, kSubWords = f.sub / 4;
  uint32_t w[kCodeWords];
  decode<t>(raw, w);
  BlockScale own[kSubs];
  INGOT_UNROLL for (int s = 0; s < kSubs; s++) own[s] =
      sub_scale<t>(scale, block, lane, piece * kSubs + s);
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    if (r >= x.count) break;
    uint32_t q[kCodeWords];
    x.codes(r, unit * f.unit + piece * kCodesK, q);
    INGOT_UNROLL for (int s = 0; s < kSubs; s++) {
      const uint32_t word =
          f.is_super() || !f.has_min ? x.word(r, unit * f.subs() + piece * kSubs + s) : 0;
      int32_t sum = f.has_min ? 0 : int32_t(word);
      INGOT_UNROLL for (int i = 0; i < kSubWords; i++) sum =
          dot4(w[s * kSubWords + i], q[s * kSubWords + i], sum);
      if constexpr (!f.is_super())
        products[r] = float(sum);
      else
        products[r] = V::fma(float(sum), own[s].d, products[r]);
      if constexpr (f.is_super() && f.has_min)
        products[r] = V::fma(own[s].m, cpu::bits_float(word), products[r]);
    }
  }
}

/// The units of a tile that are this warp's, from `first` on, at `panel`.
template <BlockType t, int R>
GPU_FN void make_terms(const uint8_t* panel, bool is_aligned, const BlockInputs& x, int64_t first,
                       float (&products)[R][BlockShape<t, R>::kUnits][32], BlockTerms<t, R>& terms,
                       int half) {
  using S = BlockShape<t, R>;
  constexpr BlockFormat f = block_format(t);
  constexpr int kBlock = block_weights::kOutputs * f.bytes, kHeader = f.header_bytes(),
                kCodes = f.code_bytes();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  if constexpr (f.is_super()) {
    const int64_t unit = first + warp;
    if (unit >= x.units) return;
    const uint8_t* const block = panel + unit * kBlock;
    const BlockScale scale = block_scale<t>(block, lane, is_aligned);
    float sums[R] = {};
    GPU_ROLLED for (int piece = 0; piece < S::kPieces; piece += S::kAhead) {
      RawCodes<t> raw[S::kAhead];
      INGOT_UNROLL for (int i = 0; i < S::kAhead; i++) raw[i].load(
          block + kHeader + (piece + i) * kCodes, lane, is_aligned);
      INGOT_UNROLL for (int i = 0; i < S::kAhead; i++)
          multiply_piece<t, R>(raw[i], scale, block, lane, x, unit, piece + i, sums);
    }
    INGOT_UNROLL for (int r = 0; r < R; r++) products[r][warp][lane] = sums[r];
  } else {
    RawCodes<t> raw[S::kOwnUnits];
    BlockScale scales[S::kOwnUnits];
    INGOT_UNROLL for (int i = 0; i < S::kOwnUnits; i++) {
      const int64_t at = first + i * S::kWarps + warp, unit = at < x.units ? at : x.units - 1;
      const uint8_t* const block = panel + unit * kBlock;
      scales[i] = block_scale<t>(block, lane, is_aligned);
      raw[i].load(block + kHeader, lane, is_aligned);
    }
    INGOT_UNROLL for (int i = 0; i < S::kOwnUnits; i++) {
      const int at = i * S::kWarps + warp;
      if (first + at >= x.units) break;
      float sums[R] = {};
      multiply_piece<t, R>(raw[i], scales[i], nullptr, lane, x, first + at, 0, sums);
      INGOT_UNROLL for (int r = 0; r < R; r++) products[r][at][lane] = sums[r];
      terms.scales[half][at][lane] = scales[i].d;
      if constexpr (f.has_min) terms.minima[half][at][lane] = scales[i].m;
    }
  }
}

/// Terms of row `row`, added to its sum in order.
template <BlockType t, int R>
GPU_FN float add_terms(const BlockTerms<t, R>& terms, int half, const BlockInputs& x, int row,
                       int64_t first, float sum) {
  constexpr BlockFormat f = block_format(t);
  const int lane = int(threadIdx.x) % 32;
  const int64_t left = x.units - first;
  const int count = left < BlockShape<t, R>::kUnits ? int(left) : BlockShape<t, R>::kUnits;
  GPU_UNROLL_BY(4)
  for (int u = 0; u < count; u++) {
    const float product = terms.products[half][row][u][lane], scale = x.scale(row, first + u);
    if constexpr (f.is_super()) {
      sum = V::fma(product, scale, sum);
    } else {
      sum = V::fma(product, terms.scales[half][u][lane] * scale, sum);
      if constexpr (f.has_min)
        sum = V::fma(terms.minima[half][u][lane], cpu::bits_float(x.word(row, first + u)), sum);
    }
  }
  return sum;
}

template <BlockType t, int R>
GPU_FN void block_products(const BlockLinearParams& p) {
  using Terms = BlockTerms<t, R>;
  constexpr BlockFormat f = block_format(t);
  GPU_COMMON_SHARED(Terms, terms);
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int64_t panel = blockIdx.y; panel < p.panels; panel += gridDim.y)
    for (int64_t at = blockIdx.x; at < p.tiles; at += gridDim.x) {
      const BlockTile tile = block_tile(p, at, R);
      if (tile.count == 0) break;  // and no later one has rows
      const int64_t units = tile.w ? p.units : 0;
      const BlockInputs x = {p.x + tile.first * p.x_stride,
                             p.x_stride,
                             units * f.unit,
                             units,
                             tile.count,
                             p.x_aligned};
      float sum = 0;
      int half = 0;
      for (int64_t first = 0; first < units; first += Terms::kUnits, half ^= 1) {
        make_terms<t, R>(tile.w + panel * p.panel_bytes, p.w_aligned >= 4, x, first,
                         terms.products[half], terms, half);
        __syncthreads();
        if (warp < x.count) sum = add_terms<t, R>(terms, half, x, warp, first, sum);
      }
      if (warp < x.count)
        finish_output(p, tile.first + warp, panel * block_weights::kOutputs + lane, sum);
      __syncthreads();  // before the next tile's first terms
    }
}

#define INGOT_BLOCK_KERNELS(name, type)                                             \
  INGOT_GPU_KERNEL_BLOCKS(block_row_##name, BlockLinearParams, kBlockThreads, 2) {  \
    block_products<BlockType::type, 1>(p);                                          \
  }                                                                                 \
  INGOT_GPU_KERNEL_BLOCKS(block_rows_##name, BlockLinearParams, kBlockThreads, 2) { \
    block_products<BlockType::type, kBlockRows>(p);                                 \
  }
INGOT_CUDA_CODE_TYPES(INGOT_BLOCK_KERNELS)
#undef INGOT_BLOCK_KERNELS

}  // namespace ingot::cuda
