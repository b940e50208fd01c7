// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_tiles.cuh - products of many rows with weights in blocks, on
// tensor cores: codes are unsigned bytes, rows signed ones. Sums within a unit are integers, so
// their order is free; those of units are of f32, in the contract's order. The bits are those of
// block_linear.cuh.
//
//   block   64 rows of four panels (BlockTiles); a warp has half of the rows of one panel
//   chunk   256 k: rows, and what codes are multiplied by, lie in shared memory. Codes go from
//           memory into the registers of the one instruction that multiplies them: a lane's word of
//           4 bits has both of its fragments. Those of the next 32 k are on their way meanwhile.
#pragma once
#include "kernels/cuda/block_linear/block_kernels.h"
#include "kernels/cuda/block_linear/codes.cuh"
#include "kernels/cuda/block_linear/groups.cuh"
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/global_loads.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/device/tensor_core.cuh"

namespace ingot::cuda {

GPU_FN uint32_t global_word(const uint8_t* from) {
  uint32_t word[1];
  load_global(word, from);
  return word[0];
}

/// What a lane loads of 32 k of output 8 n + g of a panel, g = lane / 4: the words of groups t and
/// t + 4, t = lane % 4. Words of 8 bits lie four groups apart; of 2 bits a word has four groups. Of
/// fifth and third bits a word has eight outputs.
template <BlockType type>
struct FragmentCodes {
  static constexpr BlockFormat f = block_format(type);
  static constexpr int kLow = f.bits == 8 || f.bits < 4 ? 2 : 1, kCrumbs = f.bits == 6 ? 2 : 0,
                       kBits = f.bits % 2 ? 2 : 0, kHigh = kCrumbs + kBits;
  static constexpr int kGroup = 4 * block_weights::kOutputs,  // bytes
      kLowApart = (f.bits == 8 ? 4 : 1) * kGroup, kHighApart = kBits ? 64 : kGroup, kLowOfN = 32,
                       kHighOfN = kBits ? 4 : 32;  // from n to n + 1
  uint32_t low[kLow], high[kHigh ? kHigh : 1];

  /// Where this lane's words of n = 0 are, in the codes of a panel's 32 k.
  struct Place {
    const uint8_t *low, *high;
  };
  static GPU_MEMBER Place place(const uint8_t* codes) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    return {codes + (kBits ? kGroup : 0) + g * 4 + (f.bits < 4 ? 0 : t * kGroup),
            codes + (kBits ? t * 16 : 4 * kGroup + g * 4)};
  }
  GPU_MEMBER void load(const Place& at, int n) {
    INGOT_UNROLL for (int i = 0; i < kLow; i++) low[i] =
        global_word(at.low + n * kLowOfN + i * kLowApart);
    INGOT_UNROLL for (int i = 0; i < kHigh; i++) high[i] =
        global_word(at.high + n * kHighOfN + i * kHighApart);
  }
  /// As decode() gives them, of groups t and t + 4.
  GPU_MEMBER void decode(uint32_t (&b)[2]) const {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    INGOT_UNROLL for (int i = 0; i < 2; i++) {
      uint32_t word;
      if constexpr (f.bits == 8)
        word = low[i] ^ 0x80808080u;
      else if constexpr (f.bits >= 4)
        word = low[0] >> 4 * i & 0x0f0f0f0fu;
      else
        word = low[i] >> 2 * t & 0x03030303u;
      if constexpr (f.bits == 6) word |= (high[i] >> 2 * t & 0x03030303u) << 4;
      if constexpr (f.bits % 2 == 1) word |= spread_bits(high[i] >> 4 * g & 15) << (f.bits - 1);
      b[i] = levels_of<type>(word);
    }
  }
};

template <BlockType type>
struct TileShape {
  static constexpr BlockFormat f = block_format(type);
  static constexpr int kK = BlockTiles::kK, kUnits = kK / f.unit, kSubs = kK / f.sub,
                       kSubsOfPiece = kCodesK / f.sub,
                       kRowStride = kK + 16;  // so that rows lie in different banks
  /// Bytes from a panel's codes of 32 k to its next ones, in a chunk.
  static constexpr int kCodesApart =
      f.is_super() ? f.code_bytes() : block_weights::kOutputs * f.bytes;
  /// Fragments of outputs that are added up at a time: as many as registers have room for.
  static constexpr int kN = f.sub == 16 || (f.is_super() && f.bits == 5) ? 1 : 2;
};
/// One chunk in shared memory. Words, scales and minima are of sub-blocks; of units of 32 these are
/// the units.
template <BlockType type>
struct BlockChunk {
  using S = TileShape<type>;
  static constexpr int kMinima = S::f.has_min ? S::kSubs : 0;
  alignas(16) uint8_t codes[BlockTiles::kRows][S::kRowStride];
  float row_scales[S::kUnits][BlockTiles::kRows];
  uint32_t words[S::kSubs][BlockTiles::kRows];
  float scales[BlockTiles::kPanels][S::kSubs][block_weights::kOutputs];
  float minima[BlockTiles::kPanels][kMinima ? kMinima : 1][block_weights::kOutputs];
};

/// Rows of a chunk, `count` k of them from first_k on; rows that the tile lacks are zero.
template <BlockType type>
GPU_FN void copy_rows(const BlockLinearParams& p, const BlockTile& tile, int64_t first_k, int count,
                      BlockChunk<type>& to) {
  using S = TileShape<type>;
  constexpr BlockFormat f = S::f;
  const int64_t k = p.units * f.unit;
  const int t = int(threadIdx.x);
  const auto row_at = [&](int row) {
    return p.x + (tile.first + (row < tile.count ? row : 0)) * p.x_stride;
  };
  if (p.x_aligned >= 16) {
    GPU_ROLLED for (int i = t; i < BlockTiles::kRows * (S::kK / 16); i += kBlockThreads) {
      const int row = i / (S::kK / 16), at = i % (S::kK / 16) * 16;
      if (at < count)
        copy_async16(&to.codes[row][at], row_at(row) + first_k + at, row < tile.count);
    }
  } else {
    GPU_ROLLED for (int i = t; i < BlockTiles::kRows * (S::kK / 4); i += kBlockThreads) {
      const int row = i / (S::kK / 4), at = i % (S::kK / 4) * 4;
      if (at < count) copy_async4(&to.codes[row][at], row_at(row) + first_k + at, row < tile.count);
    }
  }
  const int units = count / f.unit, subs = count / f.sub;
  GPU_ROLLED for (int i = t; i < S::kUnits * BlockTiles::kRows; i += kBlockThreads) {
    const int unit = i / BlockTiles::kRows, row = i % BlockTiles::kRows;
    if (unit < units)
      copy_async4(&to.row_scales[unit][row], row_at(row) + k + 4 * (first_k / f.unit + unit),
                  row < tile.count);
  }
  GPU_ROLLED for (int i = t; i < S::kSubs * BlockTiles::kRows; i += kBlockThreads) {
    const int sub = i / BlockTiles::kRows, row = i % BlockTiles::kRows;
    if (sub < subs)
      copy_async4(&to.words[sub][row], row_at(row) + k + 4 * (p.units + first_k / f.sub + sub),
                  row < tile.count);
  }
}

/// What codes of a panel's chunk are multiplied by, and what is added: an output a lane, every
/// other sub-block a warp. `block`: of the panel's first unit.
template <BlockType type>
GPU_FN void store_scales(const uint8_t* block, int subs, int first, int panel,
                         BlockChunk<type>& to) {
  using S = TileShape<type>;
  constexpr BlockFormat f = S::f;
  const int lane = int(threadIdx.x) % 32;
  BlockScale of_unit = {};
  if constexpr (f.is_super()) of_unit = block_scale<type>(block, lane, true);
  GPU_ROLLED for (int j = first; j < subs; j += BlockTiles::kHalves) {
    BlockScale own;
    if constexpr (f.is_super())
      own = sub_scale<type>(of_unit, block, lane, j);
    else
      own = block_scale<type>(block + j * (block_weights::kOutputs * f.bytes), lane, true);
    to.scales[panel][j][lane] = own.d;
    if constexpr (f.has_min) to.minima[panel][j][lane] = own.m;
  }
}

/// Of a lane: sums of all units so far, of the fragments of 16 rows and 8 outputs.
using TileSums = float[BlockTiles::kParts][4][4];

/// Adds 32 k, the piece'th of a chunk, of the rows of a warp from `first` on and the fragments of
/// outputs from n0 on; then has the codes at `next`, or the same.
template <BlockType type>
GPU_FN void multiply_fragments(const BlockChunk<type>& chunk,
                               FragmentCodes<type> (&codes)[TileShape<type>::kN],
                               const typename FragmentCodes<type>::Place& next, bool has_next,
                               int panel, int first, int piece, int n0,
                               float (&sums)[BlockTiles::kParts][TileShape<type>::kN][4]) {
  using S = TileShape<type>;
  constexpr BlockFormat f = S::f;
  const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  uint32_t a[BlockTiles::kParts][4], words[S::kSubsOfPiece][BlockTiles::kParts][2];
  float scales[BlockTiles::kParts][2];
  INGOT_UNROLL for (int m = 0; m < BlockTiles::kParts; m++) {
    load_matrices<false>(
        a[m], &chunk.codes[first + m * 16 + lane % 16][piece * kCodesK + lane / 16 * 16]);
    INGOT_UNROLL for (int r = 0; r < 2; r++) {
      const int row = first + m * 16 + g + 8 * r;
      INGOT_UNROLL for (int s = 0; s < S::kSubsOfPiece; s++) words[s][m][r] =
          chunk.words[piece * S::kSubsOfPiece + s][row];
      scales[m][r] = f.is_super() ? 0 : chunk.row_scales[piece][row];
    }
  }
  INGOT_UNROLL for (int n = 0; n < S::kN; n++) {
    uint32_t b[2];
    codes[n].decode(b);
    if (has_next) codes[n].load(next, n);
    INGOT_UNROLL for (int s = 0; s < S::kSubsOfPiece; s++) {
      const int sub = piece * S::kSubsOfPiece + s;
      float d[2], minima[2] = {};
      INGOT_UNROLL for (int c = 0; c < 2; c++) {
        d[c] = chunk.scales[panel][sub][(n0 + n) * 8 + t * 2 + c];
        if constexpr (f.has_min) minima[c] = chunk.minima[panel][sub][(n0 + n) * 8 + t * 2 + c];
      }
      INGOT_UNROLL for (int m = 0; m < BlockTiles::kParts; m++) {
        int products[4];
        INGOT_UNROLL for (int i = 0; i < 4; i++) products[i] =
            f.has_min ? 0 : int32_t(words[s][m][i / 2]);
        if constexpr (S::kSubsOfPiece == 1)
          multiply_add(S8U8{}, products, a[m], b);
        else
          multiply_add(S8U8{}, products, a[m][2 * s], a[m][2 * s + 1], b[s]);
        INGOT_UNROLL for (int i = 0; i < 4; i++) {
          float& sum = sums[m][n][i];
          sum = V::fma(float(products[i]), f.is_super() ? d[i % 2] : d[i % 2] * scales[m][i / 2],
                       sum);
          if constexpr (f.has_min) sum = V::fma(minima[i % 2], float_of(words[s][m][i / 2]), sum);
        }
      }
    }
  }
}

/// Adds a chunk of `count` k. `codes`: of its first 32 k, of the first fragments of outputs.
template <BlockType type>
GPU_FN void multiply_chunk(const BlockChunk<type>& chunk,
                           const typename FragmentCodes<type>::Place& at,
                           FragmentCodes<type> (&codes)[TileShape<type>::kN], int panel, int first,
                           int count, TileSums& sums) {
  using S = TileShape<type>;
  using Codes = FragmentCodes<type>;
  constexpr BlockFormat f = S::f;
  INGOT_UNROLL for (int n0 = 0; n0 < 4; n0 += S::kN) {
    float own[BlockTiles::kParts][S::kN][4];
    INGOT_UNROLL for (int m = 0; m < BlockTiles::kParts; m++)
        INGOT_UNROLL for (int i = 0; i < S::kN * 4; i++) own[m][i / 4][i % 4] =
            f.is_super() ? 0 : sums[m][n0 + i / 4][i % 4];
    GPU_ROLLED for (int piece = 0; piece * kCodesK < count; piece++) {
      const bool is_last = (piece + 1) * kCodesK >= count;
      const int next_n = is_last ? n0 + S::kN : n0,
                next = is_last ? 0 : (piece + 1) * S::kCodesApart;
      multiply_fragments<type>(
          chunk, codes,
          {at.low + (next + next_n * Codes::kLowOfN), at.high + (next + next_n * Codes::kHighOfN)},
          next_n < 4, panel, first, piece, n0, own);
    }
    INGOT_UNROLL for (int m = 0; m < BlockTiles::kParts; m++)
        INGOT_UNROLL for (int r = 0; r < 2; r++) {
      const float scale =
          f.is_super() ? chunk.row_scales[0][first + m * 16 + int(threadIdx.x) % 32 / 4 + 8 * r]
                       : 0;
      INGOT_UNROLL for (int n = 0; n < S::kN; n++)
          INGOT_UNROLL for (int c = 2 * r; c < 2 * r + 2; c++) {
        float& sum = sums[m][n0 + n][c];
        sum = f.is_super() ? V::fma(own[m][n][c], scale, sum) : own[m][n][c];
      }
    }
  }
}

template <BlockType type>
GPU_FN void block_tile_products(const BlockLinearParams& p) {
  using S = TileShape<type>;
  constexpr BlockFormat f = S::f;
  constexpr int kBlock = block_weights::kOutputs * f.bytes;
  GPU_COMMON_SHARED(BlockChunk<type>, chunk);
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32,
            own_panel = warp % BlockTiles::kPanels, half = warp / BlockTiles::kPanels,
            first = half * BlockTiles::kParts * 16;
  for (int64_t group = blockIdx.y; group * BlockTiles::kPanels < p.panels; group += gridDim.y)
    for (int64_t at = blockIdx.x; at < p.tiles; at += gridDim.x) {
      const BlockTile tile = block_tile(p, at, BlockTiles::kRows);
      if (tile.count == 0) break;  // and no later one has rows
      const int64_t panel = group * BlockTiles::kPanels + own_panel, k = p.units * f.unit;
      const bool exists = panel < p.panels;
      const bool has_rows = exists && first < tile.count;
      TileSums sums = {};
      const uint8_t* blocks = tile.w ? tile.w + (exists ? panel : 0) * p.panel_bytes : nullptr;
      GPU_ROLLED for (int64_t first_k = 0; tile.w && first_k < k; first_k += S::kK) {
        const int count = k - first_k < S::kK ? int(k - first_k) : S::kK;
        const auto place = FragmentCodes<type>::place(blocks + f.header_bytes());
        FragmentCodes<type> codes[S::kN] = {};
        if (has_rows) INGOT_UNROLL for (int n = 0; n < S::kN; n++) codes[n].load(place, n);
        __syncthreads();  // nobody reads the chunk before any more
        copy_rows<type>(p, tile, first_k, count, chunk);
        commit_copies();
        if (exists) store_scales<type>(blocks, count / f.sub, half, own_panel, chunk);
        wait_for_copies<0>();
        __syncthreads();
        if (has_rows) multiply_chunk<type>(chunk, place, codes, own_panel, first, count, sums);
        blocks += S::kUnits * kBlock;
      }
      INGOT_UNROLL for (int m = 0; m < BlockTiles::kParts; m++)
          INGOT_UNROLL for (int n = 0; n < 4; n++) INGOT_UNROLL for (int i = 0; i < 4; i++) {
        const int row = first + m * 16 + lane / 4 + i / 2 * 8;
        if (exists && row < tile.count)
          finish_output(p, tile.first + row,
                        panel * block_weights::kOutputs + n * 8 + lane % 4 * 2 + i % 2,
                        sums[m][n][i]);
      }
    }
}

#define INGOT_BLOCK_TILES(name, type)                                                \
  INGOT_GPU_KERNEL_BLOCKS(block_tiles_##name, BlockLinearParams, kBlockThreads, 2) { \
    INGOT_BODY_OF(S8U8, block_tile_products<BlockType::type>(p));                    \
  }
INGOT_CUDA_CODE_TYPES(INGOT_BLOCK_TILES)
#undef INGOT_BLOCK_TILES

}  // namespace ingot::cuda
