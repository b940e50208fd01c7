// kernels/cuda/tensorcore/weights.cuh - from w into shared memory, and out of it as what a lane
// multiplies. A lane (g, t) = (lane / 4, lane % 4) multiplies words 4 t .. 4 t + 3 of a step by
// outputs 4 g .. 4 g + 3 of every 32: any order of k will do as long as both operands have it, and
// this one lets a lane read 16 bytes of either.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/tensor_core.cuh"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

/// Panels of 16 outputs as the CPU has them, [k][16], 64 bytes a row of k. Eight lanes read rows r,
/// r + 4, r + 8, r + 12 of two pieces, or sixteen lanes half a piece each of four: rows of odd r >>
/// 2 change places with their neighbours, and rows from 8 on have their pieces in reverse.
GPU_FN int panel_offset(int row, int piece) {
  return ((row ^ (row >> 2 & 1)) << 6) + ((piece ^ (row >> 3) * 3) << 4);
}

/// Two of the four registers of a fragment, in one load.
GPU_FN void load_fragment_half(uint32_t (&to)[4], int half, const char* from) {
  uint32_t two[2];
  load_shared(two, from);
  to[2 * half] = two[0], to[2 * half + 1] = two[1];
}

template <int kOutputs>
struct PanelTile {
  static constexpr int kRow = 64;  // bytes of a step of 16 words, of one output
  /// to[q][i]: word 4 t + q of output 4 g + i. `outputs`: the first of 32, within the tile.
  GPU_FN void read(const char* tile, int outputs, uint32_t (&to)[4][4]) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const char* panel = tile + (outputs / 16 + g / 4) * 1024;
    INGOT_UNROLL for (int q = 0; q < 4; q++)
        load_shared(to[q], panel + panel_offset(4 * t + q, g % 4));
  }
  /// Fragments of words as they lie, two words a load, so that four neighbouring registers are one:
  /// outputs 2 i and 2 i + 1 of four, of lanes with an odd g the other two.
  GPU_FN void read_fragments(const char* tile, int outputs, uint32_t (&to)[2][2][4]) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    // rows 4 t + q lie in pairs of 128 bytes, the even one first where t is even
    const char* const from =
        tile + (outputs / 16 + g / 4) * 1024 + panel_offset(4 * t, g % 4) + (g & 1) * 8;
    const int next = 64 - (t & 1) * 128, other = 8 - (g & 1) * 16;
    INGOT_UNROLL for (int part = 0; part < 2; part++) INGOT_UNROLL for (int i = 0; i < 2; i++)
        INGOT_UNROLL for (int row = 0; row < 2; row++)
            load_fragment_half(to[part][i], row, from + part * 128 + row * next + i * other);
  }
};

/// Four neighbouring outputs at a time: panels, or rows of a matrix [k][n]. Strides and `readable`
/// are multiples of 4, w is 16-byte aligned.
template <int kOutputs>
struct PanelWeights : PanelTile<kOutputs> {
  static constexpr int kPieces = kOutputs * 4 / 128;
  const float* from;
  int64_t next;
  int first, row, left;  // left: words of k from this thread's row on
  GPU_FN PanelWeights make(const ProductParams& p, const float* w, int first, int k) {
    PanelWeights s;
    s.row = int(threadIdx.x) / 4 % 16, s.left = p.k - k - s.row;
    s.first = first + int(threadIdx.x) / 64 * 16 + int(threadIdx.x) % 4 * 4;
    s.from =
        w + (s.first >> 4) * p.panel_stride + (s.first & 15) + (int64_t(k) + s.row) * p.k_stride;
    s.next = 16 * p.k_stride;
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, char* tile) {
    const float* at = from;
    // 128 threads: two panels at a time
    INGOT_UNROLL for (int i = 0; i < kPieces; i++, at += 2 * p.panel_stride) {
      const bool valid = left > 0 && first + i * 32 < p.readable;
      copy_async16(
          tile + (int(threadIdx.x) / 64 + i * 2) * 1024 + panel_offset(row, int(threadIdx.x) % 4),
          valid ? at : from, valid);
    }
    from += left > 16 ? next : 0, left -= 16;
  }
};

/// Panels that hold words of two neighbouring f16 of k, [k/2][16], as GpuKernelSet::halves says:
/// half the bytes, and fragments as they lie. Sixteen lanes read half a piece each of rows r, r +
/// 2, r + 4, r + 6: two rows are 128 bytes, whose halves change places from row 4 on, and in every
/// other pair of rows pieces are in reverse.
template <int kOutputs>
struct PairWeights {
  static constexpr int kRow = 32, kPieces = kOutputs / 64;
  const float* from;
  int first, row, left;  // left: rows of pairs from this thread's on
  GPU_FN int offset(int row, int piece) {
    const int turned = (row & 4) | (row >> 1 & 1) * 3;
    return (row >> 1 << 7) + ((((row & 1) << 2 | piece) ^ turned) << 4);
  }
  GPU_FN PairWeights make(const ProductParams& p, const float* w, int first, int k) {
    PairWeights s;
    s.row = int(threadIdx.x) / 4 % 8, s.left = (p.k + 1 - k) / 2 - s.row;
    s.first = first + int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 4 * 4;
    s.from = w + (s.first >> 4) * p.panel_stride + (s.first & 15) + (int64_t(k / 2) + s.row) * 16;
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, char* tile) {
    const float* at = from;
    // 128 threads: four panels at a time
    INGOT_UNROLL for (int i = 0; i < kPieces; i++, at += 4 * p.panel_stride) {
      const bool valid = left > 0 && first + i * 64 < p.readable;
      copy_async16(tile + (int(threadIdx.x) / 32 + i * 4) * 512 + offset(row, int(threadIdx.x) % 4),
                   valid ? at : from, valid);
    }
    from += left > 8 ? 128 : 0, left -= 8;
  }
  /// As PanelTile's; rows 2 t and 2 t + 1 are words of k 4 t .. 4 t + 3.
  GPU_FN void read_fragments(const char* tile, int outputs, uint32_t (&to)[1][2][4]) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const char* const from =
        tile + (outputs / 16 + g / 4) * 512 + offset(2 * t, g % 4) + (g & 1) * 8;
    const int next = 64 - (t >> 1) * 128, other = 8 - (g & 1) * 16;
    INGOT_UNROLL for (int i = 0; i < 2; i++) INGOT_UNROLL for (int row = 0; row < 2; row++)
        load_fragment_half(to[0][i], row, from + row * next + i * other);
  }
};

/// Any strides, a word at a time.
template <int kOutputs>
struct SingleWeights : PanelTile<kOutputs> {
  // rows of k between words of a thread
  static constexpr int kEach = kOutputs * 16 / 128, kApart = 128 / kOutputs;
  const float* from;
  int output, row, left;
  bool exists;
  GPU_FN SingleWeights make(const ProductParams& p, const float* w, int first, int k) {
    SingleWeights s;
    s.output = int(threadIdx.x) % kOutputs, s.row = int(threadIdx.x) / kOutputs;
    const int o = first + s.output;
    s.left = p.k - k - s.row, s.exists = o < p.readable;
    s.from =
        w + (o >> 4) * p.panel_stride + (o & 15) * p.n_stride + (int64_t(k) + s.row) * p.k_stride;
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, char* tile) {
    GPU_UNROLL_BY(4)
    for (int i = 0; i < kEach; i++) {
      const int r = row + i * kApart;
      const bool valid = exists && i * kApart < left;
      copy_async4(tile + output / 16 * 1024 + panel_offset(r, output % 16 / 4) + output % 4 * 4,
                  valid ? from + i * kApart * p.k_stride : p.w, valid);
    }
    from += 16 * p.k_stride, left -= 16;
  }
};

/// Rows of a matrix [n][k], four neighbouring words of k at a time. Eight lanes read rows r and r +
/// 4: they change places by r >> 2.
template <int kOutputs>
struct RowWeights {
  static constexpr int kRow = 64;
  static constexpr int kPieces = kOutputs * 4 / 128;
  const float* from;
  int64_t apart;
  int first, piece, row, left;
  GPU_FN RowWeights make(const ProductParams& p, const float* w, int first, int k) {
    RowWeights s;
    s.piece = int(threadIdx.x) % 4, s.row = int(threadIdx.x) / 4, s.first = first;
    s.left = p.k - k - s.piece * 4;
    s.from = w + (int64_t(first) + s.row) * p.n_stride + k + s.piece * 4;
    s.apart = 32 * p.n_stride;
    return s;
  }
  GPU_FN int offset(int row, int piece) { return ((row ^ (row >> 2 & 1)) << 6) + (piece << 4); }
  GPU_MEMBER void load(const ProductParams& p, char* tile) {
    const float* at = from;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++, at += apart) {
      const int r = row + i * 32;
      const bool valid = left > 0 && first + r < p.readable;
      copy_async16(tile + offset(r, piece), valid ? at : from, valid);
    }
    from += 16, left -= 16;
  }
  GPU_FN void read(const char* tile, int outputs, uint32_t (&to)[4][4]) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      uint32_t words[4];
      load_shared(words, tile + offset(outputs + 4 * g + i, t));
      INGOT_UNROLL for (int q = 0; q < 4; q++) to[q][i] = words[q];
    }
  }
};

}  // namespace ingot::cuda
