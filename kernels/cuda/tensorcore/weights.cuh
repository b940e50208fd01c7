// SPDX-License-Identifier: Apache-2.0
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

/// Steps of 16 words that begin in `words` words of k.
GPU_FN int steps_with(int words) { return (words + 15) >> 4; }

/// Piece `i` (16 bytes) behind `from`: one instruction, where an offset of 64 bits takes two.
GPU_FN const char* piece_at(const char* from, uint32_t i) { return from + uint64_t(i) * 16; }

/// Where a thread's piece of 16 bytes of an operand is. Of large tiles as pieces from where the
/// operand begins, which is a parameter, in one register less.
template <bool kIsLarge>
struct PieceFrom {
  const char* at;
  GPU_FN PieceFrom make(const float*, const float* piece) {
    return {reinterpret_cast<const char*>(piece)};
  }
  GPU_MEMBER const char* pieces_on(const float*, int count) const { return at + count * 16; }
  GPU_MEMBER void skip(int count) { at += count * 16; }
};
template <>
struct PieceFrom<true> {
  uint32_t at;
  GPU_FN PieceFrom make(const float* operand, const float* piece) {
    return {uint32_t((piece - operand) >> 2)};
  }
  GPU_MEMBER const char* pieces_on(const float* operand, int count) const {
    return piece_at(reinterpret_cast<const char*>(operand), at + uint32_t(count));
  }
  GPU_MEMBER void skip(int count) { at += uint32_t(count); }
};

/// An output that w has: sums of the others are not stored, and their weights are the first one's.
GPU_FN int64_t readable_output(const ProductParams& p, int o) { return o < p.readable ? o : 0; }

/// Two of the four registers of a fragment, in one load.
GPU_FN void load_fragment_half(uint32_t (&to)[4], int half, const char* from) {
  uint32_t two[2];
  load_shared(two, from);
  to[2 * half] = two[0], to[2 * half + 1] = two[1];
}

/// Where in a tile a lane finds its words: of two neighbouring rows; two rows on: 128 bytes.
struct RowLane {
  int even, odd;
};
/// The same of half pieces: its own, and the one beside it.
struct HalfLane {
  int half[2][2];  // [own, other][row]
};
GPU_FN HalfLane halves_of(const RowLane& rows) {
  const int own = int(threadIdx.x) / 4 % 2 * 8, other = 8 - own;
  return {{{rows.even + own, rows.odd + own}, {rows.even + other, rows.odd + other}}};
}

template <int kOutputs>
struct PanelTile {
  static constexpr int kStep = kOutputs * 64;  // bytes of a step of 16 words
  static constexpr bool kUnpacks = false;      // words are as they were copied
  /// Rows 4 t + q. `outputs`: the first of 32, within the tile.
  GPU_FN RowLane rows_of(int outputs) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const int panel = (outputs / 16 + g / 4) * 1024;
    return {panel + panel_offset(4 * t, g % 4), panel + panel_offset(4 * t + 1, g % 4)};
  }
  /// to[q][i]: word 4 t + q of output 4 g + i.
  GPU_FN void read(const char* tile, const RowLane& at, uint32_t (&to)[4][4]) {
    INGOT_UNROLL for (int q = 0; q < 4; q++)
        load_shared(to[q], tile + (q % 2 ? at.odd : at.even) + q / 2 * 128);
  }
  /// Fragments of words as they lie, two words a load, so that four neighbouring registers are one:
  /// outputs 2 i and 2 i + 1 of four, of lanes with an odd g the other two.
  GPU_FN void read_fragments(const char* tile, const HalfLane& at, uint32_t (&to)[2][2][4]) {
    INGOT_UNROLL for (int part = 0; part < 2; part++) INGOT_UNROLL for (int i = 0; i < 2; i++)
        INGOT_UNROLL for (int row = 0; row < 2; row++)
            load_fragment_half(to[part][i], row, tile + at.half[i][row] + part * 128);
  }
};

/// Four neighbouring outputs at a time: panels, or rows of a matrix [k][n], whose strides and
/// `readable` are multiples of 4. w is 16-byte aligned.
template <int kOutputs, int kThreads, bool kIsPanels>
struct FourOutputs : PanelTile<kOutputs> {
  using PanelTile<kOutputs>::kStep;
  static constexpr int kPanels = kThreads / 64;  // at a time
  static constexpr int kPieces = kOutputs / 16 / kPanels;
  using From = PieceFrom<kIsPanels && has_whole_steps(kThreads)>;
  From from[kPieces];
  uint32_t next, at;  // of a matrix, in pieces: to the next step; behind `from`, of the next step
  int to, steps;      // steps: that have this thread's row, from `from` on
  GPU_FN FourOutputs make(const ProductParams& p, const float* w, int first, int k) {
    FourOutputs s;
    const int row = int(threadIdx.x) / 4 % 16, panel = int(threadIdx.x) / 64,
              piece = int(threadIdx.x) % 4;
    const int64_t k_stride = kIsPanels ? 16 : p.k_stride;
    s.steps = steps_with(p.k - k - row), s.to = panel * 1024 + panel_offset(row, piece), s.at = 0;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int o = readable_output(p, first + (panel + kPanels * i) * 16 + piece * 4);
      s.from[i] =
          From::make(p.w, w + (o >> 4) * p.panel_stride + (o & 15) + (int64_t(k) + row) * k_stride);
    }
    s.next = uint32_t(4 * k_stride);
    return s;
  }
  template <int kStepsPerStage>
  GPU_MEMBER void load(const ProductParams& p, int step, char* tile) {
    INGOT_UNROLL for (int half = 0; half < kStepsPerStage; half++)
        INGOT_UNROLL for (int i = 0; i < kPieces; i++)
            copy_async16(tile + to + half * kStep + i * kPanels * 1024,
                         kIsPanels ? from[i].pieces_on(p.w, (step + half) * 64)
                                   : piece_at(from[i].pieces_on(p.w, 0), at + half * next),
                         has_whole_steps(kThreads) || step + half < steps);
    at += kStepsPerStage * next;
  }
  GPU_MEMBER void skip(int count) {
    if constexpr (kIsPanels)
      INGOT_UNROLL for (int i = 0; i < kPieces; i++) from[i].skip(count * 64);
    steps -= count;
  }
};
template <int kOutputs, int kThreads>
using PanelWeights = FourOutputs<kOutputs, kThreads, true>;
template <int kOutputs, int kThreads>
using MatrixWeights = FourOutputs<kOutputs, kThreads, false>;

/// Panels that hold words of two neighbouring f16 of k, [k/2][16], as GpuKernelSet::halves says:
/// half the bytes, and fragments as they lie. Sixteen lanes read half a piece each of rows r, r +
/// 2, r + 4, r + 6: two rows are 128 bytes, whose halves change places from row 4 on, and in every
/// other pair of rows pieces are in reverse.
template <int kOutputs, int kThreads = kProductThreads>
struct PackedF16Weights {
  static constexpr bool kUnpacks = false;        // words are as they were copied
  static constexpr int kPanels = kThreads / 32;  // at a time
  static constexpr int kStep = kOutputs * 32, kPieces = kOutputs / 16 / kPanels;
  const char* from[kPieces];
  int to, steps;  // steps: that have this thread's row of words
  GPU_FN int offset(int row, int piece) {
    const int turned = (row & 4) | (row >> 1 & 1) * 3;
    return (row >> 1 << 7) + ((((row & 1) << 2 | piece) ^ turned) << 4);
  }
  GPU_FN PackedF16Weights make(const ProductParams& p, const float* w, int first, int k) {
    PackedF16Weights s;
    const int row = int(threadIdx.x) / 4 % 8, panel = int(threadIdx.x) / 32,
              piece = int(threadIdx.x) % 4;
    s.steps = steps_with(p.k - k - 2 * row), s.to = panel * 512 + offset(row, piece);
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int o = readable_output(p, first + (panel + kPanels * i) * 16 + piece * 4);
      s.from[i] = reinterpret_cast<const char*>(w + (o >> 4) * p.panel_stride + (o & 15) +
                                                (int64_t(k / 2) + row) * 16);
    }
    return s;
  }
  template <int kStepsPerStage>
  GPU_MEMBER void load(const ProductParams&, int step, char* tile) {
    INGOT_UNROLL for (int half = 0; half < kStepsPerStage; half++)
        INGOT_UNROLL for (int i = 0; i < kPieces; i++)
            copy_async16(tile + to + half * kStep + i * kPanels * 512,
                         from[i] + (step + half) * 512, step + half < steps);
  }
  GPU_MEMBER void skip(int count) {
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) from[i] += count * 512;
    steps -= count;
  }
  GPU_FN RowLane rows_of(int outputs) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const int panel = (outputs / 16 + g / 4) * 512;
    return {panel + offset(2 * t, g % 4), panel + offset(2 * t + 1, g % 4)};
  }
  /// As PanelTile's; rows 2 t and 2 t + 1 are words of k 4 t .. 4 t + 3.
  GPU_FN void read_fragments(const char* tile, const HalfLane& at, uint32_t (&to)[1][2][4]) {
    INGOT_UNROLL for (int i = 0; i < 2; i++) INGOT_UNROLL for (int row = 0; row < 2; row++)
        load_fragment_half(to[0][i], row, tile + at.half[i][row]);
  }
};

/// Any strides, a word at a time.
template <int kOutputs, int kThreads>
struct SingleWeights : PanelTile<kOutputs> {
  // rows of k between words of a thread
  static constexpr int kEach = kOutputs * 16 / kThreads, kApart = kThreads / kOutputs;
  static_assert(kApart == 2, "places are found for rows that lie two apart");
  const char* from;
  int stride, left;  // of k; words of k from this thread's first on
  int to[2][2];      // [where neighbouring rows change places][where pieces are in reverse]
  GPU_FN SingleWeights make(const ProductParams& p, const float* w, int first, int k) {
    SingleWeights s;
    const int output = int(threadIdx.x) % kOutputs, row = int(threadIdx.x) / kOutputs;
    const int o = first + output, piece = output % 16 / 4;
    s.left = o < p.readable ? p.k - k - row : -(1 << 30);
    s.from = reinterpret_cast<const char*>(w + (o >> 4) * p.panel_stride + (o & 15) * p.n_stride +
                                           (int64_t(k) + row) * p.k_stride);
    s.stride = int(computed_once(uint32_t(p.k_stride)));
    INGOT_UNROLL for (int a = 0; a < 2; a++) INGOT_UNROLL for (int b = 0; b < 2; b++) s.to[a][b] =
        output / 16 * 1024 + ((row ^ a) << 6) + ((piece ^ b * 3) << 4) + output % 4 * 4;
    return s;
  }
  template <int kStepsPerStage>
  GPU_MEMBER void load(const ProductParams&, int, char* tile) {
    INGOT_UNROLL for (int i = 0; i < kEach * kStepsPerStage; i++) {
      const int r = i % kEach * kApart;  // as panel_offset() has them
      copy_async4(tile + to[r >> 2 & 1][r >> 3] + r * 64 + i / kEach * PanelTile<kOutputs>::kStep,
                  from + int64_t(stride) * (i * kApart * 4), i * kApart < left);
    }
    from += int64_t(stride) * (kStepsPerStage * 64), left -= kStepsPerStage * 16;
  }
  GPU_MEMBER void skip(int) {}
};

/// Rows of a matrix [n][k], four neighbouring words of k at a time. Eight lanes read rows r and r +
/// 4: they change places by r >> 2.
template <int kOutputs, int kThreads>
struct RowWeights {
  static_assert(kThreads == kProductThreads, "tiles that are not large");
  static constexpr bool kUnpacks = false;  // words are as they were copied
  static constexpr int kStep = kOutputs * 64, kPieces = kOutputs * 4 / kThreads;
  const char* from[kPieces];
  int to, steps;
  GPU_FN int offset(int row, int piece) { return ((row ^ (row >> 2 & 1)) << 6) + (piece << 4); }
  GPU_FN RowWeights make(const ProductParams& p, const float* w, int first, int k) {
    RowWeights s;
    const int piece = int(threadIdx.x) % 4, row = int(threadIdx.x) / 4;
    s.steps = steps_with(p.k - k - piece * 4), s.to = offset(row, piece);
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) s.from[i] = reinterpret_cast<const char*>(
        w + readable_output(p, first + row + i * 32) * p.n_stride + k + piece * 4);
    return s;
  }
  template <int kStepsPerStage>
  GPU_MEMBER void load(const ProductParams&, int step, char* tile) {
    INGOT_UNROLL for (int half = 0; half < kStepsPerStage; half++)
        INGOT_UNROLL for (int i = 0; i < kPieces; i++) copy_async16(
            tile + to + half * kStep + i * 2048, from[i] + (step + half) * 64, step + half < steps);
  }
  GPU_MEMBER void skip(int count) {
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) from[i] += count * 64;
    steps -= count;
  }
  /// Outputs 4 g + i.
  GPU_FN RowLane rows_of(int outputs) {
    const int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    return {offset(outputs + 4 * g, t), offset(outputs + 4 * g + 1, t)};
  }
  GPU_FN void read(const char* tile, const RowLane& at, uint32_t (&to)[4][4]) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      uint32_t words[4];
      load_shared(words, tile + (i % 2 ? at.odd : at.even) + i / 2 * 128);
      INGOT_UNROLL for (int q = 0; q < 4; q++) to[q][i] = words[q];
    }
  }
};

}  // namespace ingot::cuda
