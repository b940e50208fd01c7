// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/shared_windows.cuh - convolutions of 3x3 windows one pixel apart. Where
// product() fetches each pixel for each tap, here a block copies a patch of x once and reads it for
// all nine taps.
//   block   128 threads: 128 positions of a strip (shared_windows_params.h) x 2 to 5 panels of 16
//           outputs, which the launch says: one kernel for all layers of few outputs
//   warp    32 positions x all outputs of the tile; outputs are the rows of a fragment (A)
//   k       slices of 16 words of c, in each the taps, in each one or two eights of words: lane
//           (g, t) has words 2 t and 2 t + 1 of an eight of outputs 2 g and 2 g + 1 of a panel and
//           of position g of every eight
//   copies  weights of two taps and the patch of the next slice are under way, a third of it in
//           each row of taps
//   end     as product()
#pragma once
#include "kernels/cuda/tensorcore/finish.cuh"
#include "kernels/cuda/tensorcore/product.cuh"
#include "kernels/cuda/tensorcore/shared_windows_params.h"

namespace ingot::cuda {

/// A position of a strip.
struct Position {
  int image, line, column;
  GPU_FN Position of(const SharedWindowsParams& q, int at) {
    const uint32_t line = divide(uint32_t(at), q.pitch), image = divide(line, q.image_rows);
    return {int(image), int(line) - int(image) * q.strips.image_rows,
            at - int(line) * q.strips.pitch};
  }
};

/// Weights of a tap: of each panel eights of rows, as PackedF16Weights lays them.
struct TapWeights {
  static constexpr int kCopies = (kMaxSharedPanels + 1) / 2;
  const char* from[kCopies];              // this thread's pieces of tap 0, slice 0
  uint32_t offset, next_tap, next_slice;  // in pieces; next_slice: to it from the last tap
  int to, row, left, panels;  // left: words of c from the slice on; panels: from this thread's on
  GPU_FN TapWeights make(const SharedWindowsParams& q, int first_o, int slice, int left) {
    const ProductParams& p = q.product;
    TapWeights s;
    const int panel = int(threadIdx.x) / 64, piece = int(threadIdx.x) % 4;
    s.row = int(threadIdx.x) / 4 % 16, s.left = left, s.panels = q.panels - panel;
    s.to = panel * 1024 + s.row / 8 * 512 + PackedF16Weights<64>::offset(s.row % 8, piece);
    INGOT_UNROLL for (int i = 0; i < kCopies; i++) {
      const int o = readable_output(p, first_o + (panel + 2 * i) * 16 + piece * 4);
      s.from[i] = computed_once(
          reinterpret_cast<const char*>(p.w + (o >> 4) * p.panel_stride + (o & 15) + s.row * 16));
    }
    s.offset = uint32_t(slice) * 64, s.next_tap = uint32_t(p.c) * 4;
    s.next_slice = computed_once(64u - uint32_t(kSharedTaps - 1) * s.next_tap);
    return s;
  }
  GPU_MEMBER void load(char* stage) {
    INGOT_UNROLL for (int i = 0; i < kCopies; i++) if (2 * i < panels)
        copy_async16(stage + to + i * 2048, piece_at(from[i], offset), row < left);
  }
  GPU_MEMBER void next(bool is_last) {
    offset += is_last ? next_slice : next_tap;
    if (is_last) left -= 16;
  }
};

/// Of a patch each position has 64 bytes; eights of words change places where bit 1 of the position
/// is set, so that four neighbors from anywhere on spread over the banks.
GPU_FN int position_offset(int position, int piece) {
  return position * 64 + ((piece ^ (position & 2)) << 4);
}

/// The patch of a block, a slice after another. A thread copies piece threadIdx.x % 4 of every 32nd
/// position.
struct Patches {
  static constexpr int kThird = kPatchThird;
  static constexpr uint32_t kOutside = ~0u;
  const char* from;       // this thread's piece of the slice
  const uint32_t* table;  // where this thread's positions are in x, in pieces
  int to, word, left;     // word: the first of the piece; left: words of c from the slice on
  GPU_FN Patches make(const SharedWindowsParams& q, const float* x, char* table, int tile,
                      int strip, int slice, int left) {
    const ProductParams& p = q.product;
    const WindowStrips& s = q.strips;
    GPU_ROLLED for (int i = int(threadIdx.x); i < kThird * 96; i += kProductThreads) {
      const Position at = Position::of(q, tile * kSharedPixels + i);
      const int y = at.line - p.pad_top, x_at = strip * s.columns + at.column - p.pad_left;
      const bool is_inside = i < s.patch && at.image < q.images && unsigned(y) < unsigned(p.h) &&
                             unsigned(x_at) < unsigned(p.width);
      reinterpret_cast<uint32_t*>(table)[i] =
          is_inside ? uint32_t((at.image * p.h + y) * p.width + x_at) * uint32_t(p.pixel_stride / 4)
                    : kOutside;
    }
    Patches r;
    const int piece = int(threadIdx.x) % 4, position = int(threadIdx.x) / 4;
    r.word = piece * 4, r.left = left;
    r.from = computed_once(reinterpret_cast<const char*>(x) + int64_t(slice) * 64 + piece * 16);
    r.to = position_offset(position, piece);
    r.table = reinterpret_cast<const uint32_t*>(table) + position;
    return r;
  }
  /// What lies outside of the image is zero in both patches, for good.
  GPU_MEMBER void clear(char* patches, int patch_bytes) const {
    GPU_ROLLED for (int i = 0; i < kThird * 3; i++) {
      if (to + i * 2048 >= patch_bytes || table[i * 32] != kOutside) continue;
      for (int e = 0; e < 2; e++)
        *reinterpret_cast<FourOf<uint32_t>*>(patches + e * patch_bytes + to +
                                             i * 2048) = {{0, 0, 0, 0}};
    }
  }
  /// Of the patch that begins at patches + begin.
  GPU_MEMBER void load(char* patches, int begin, int third) const {
    uint32_t at[kThird];  // all before the first copy: each change costs three more instructions
    INGOT_UNROLL for (int i = 0; i < kThird; i++) at[i] = table[(third * kThird + i) * 32];
    char* const first = patches + computed_once(uint32_t(begin + to + third * kThird * 2048));
    const bool is_there = left > 0, has_words = word < left;
    INGOT_UNROLL for (int i = 0; i < kThird; i++) if (is_there && at[i] != kOutside)
        copy_async16(first + i * 2048, piece_at(from, at[i]), has_words);
  }
  GPU_MEMBER void next() { from += 64, left -= 16; }
};

struct alignas(8) TwoSums {
  float x[2];
};

template <class Type>
GPU_FN void shared_windows(const SharedWindowsParams& q) {
  constexpr int kPanels = kMaxSharedPanels, kJ = 4;
  const ProductParams& p = q.product;
  const WindowStrips& strips = q.strips;
  char* const shared = gpu_shared<char>();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, g = lane / 4, t = lane % 4;
  const uint32_t of_outputs = divide(uint32_t(blockIdx.x), q.tiles_m),
                 block = blockIdx.x - of_outputs * uint32_t(p.tiles_m);
  const int panels = q.panels, stage_bytes = shared_stage_bytes(panels);
  const int first_o = int(of_outputs) * panels * 16, strip = int(divide(block, q.tiles)),
            tile = int(block) - strip * strips.tiles;
  const int begin = int(blockIdx.y) * p.split_steps, last = begin + p.split_steps,
            words = (last * 16 < p.c ? last * 16 : p.c) - begin * 16;
  const int patch_bytes = strips.patch * 64;
  char* const patches = shared + shared_patches_at(panels);
  if (!p.is_early) wait_for_launches();
  TapWeights weights = TapWeights::make(q, first_o, begin, words);
  GPU_ROLLED for (int tap = 0; tap < kSharedRing - 1; tap++) {
    weights.load(shared + tap * stage_bytes);
    weights.next(false);
  }
  Patches patch =
      Patches::make(q, p.x, shared + shared_table_at(panels), tile, strip, begin, words);
  float sums[kPanels][kJ][4] = {};
  const int piece = g / 2, half = g % 2 * 8;
  const char *const even = shared + PackedF16Weights<64>::offset(2 * t, piece) + half,
                    *const odd = shared + PackedF16Weights<64>::offset(2 * t + 1, piece) + half;
  __syncthreads();  // the table is there
  patch.clear(patches, patch_bytes);
  wait_for_launches();
  GPU_ROLLED for (int third = 0; third < 3; third++) patch.load(patches, 0, third);
  INGOT_UNROLL for (int tap = 0; tap < kSharedRing - 1; tap++) commit_copies();
  // A lane's first position in the patch of the slice and in its first row of taps, in bytes; of
  // this row. Patches are whole fours of positions: bit 1 of one says where its first eight is.
  int own = (warp * 32 + g) * 64 + t * 8, at = own, row = 0, left = words, turn = patch_bytes,
      other_patch = patch_bytes;
  const int row_bytes = strips.pitch * 64;
  GPU_ROLLED for (;;) {  // rows of taps
    INGOT_UNROLL for (int column = 0; column < 3; column++) {
      wait_for_copies<kSharedRing - 2>();
      __syncthreads();
      if (column == 0) {
        if (row == 0) patch.next();
        patch.load(patches, other_patch, row);
      }
      weights.load(shared + (column + 2) % kSharedRing * stage_bytes);
      weights.next(column == 0 && row == 2);
      commit_copies();
      const int tap = at + column * 64, first = tap | (tap >> 2 & 32);
      INGOT_UNROLL for (int eight = 0; eight < 2; eight++) {
        if (eight && left <= 8) break;
        uint32_t b[kJ][2];
        INGOT_UNROLL for (int j = 0; j < kJ; j++) {
          load_shared(b[j], patches + (first ^ eight * 32) + j * 512);
          INGOT_UNROLL for (int e = 0; e < 2; e++) b[j][e] = operand_word(Type{}, b[j][e]);
        }
        const int stage = column * stage_bytes;
        INGOT_UNROLL for (int i = 0; i < kPanels; i++) {
          if (i >= kMinSharedPanels && i >= panels) break;
          uint32_t a[4];
          load_fragment_half(a, 0, even + stage + i * 1024 + eight * 512);
          load_fragment_half(a, 1, odd + stage + i * 1024 + eight * 512);
          INGOT_UNROLL for (int e = 0; e < 4; e++) a[e] = operand_word(Type{}, a[e]);
          INGOT_UNROLL for (int j = 0; j < kJ; j++) multiply_add(Type{}, sums[i][j], a, b[j]);
        }
      }
    }
    at += row_bytes, row++;
    if (row < 3) continue;
    left -= 16;
    if (left <= 0) break;
    own += turn, other_patch = patch_bytes - other_patch, turn = -turn;
    row = 0, at = own;
  }
  wait_for_copies<0>();
  __syncthreads();
  float* const rows = reinterpret_cast<float*>(shared);
  const int pitch = panels * 16 + 4;
  int32_t* const lines = reinterpret_cast<int32_t*>(rows + kSharedPixels * pitch);
  INGOT_UNROLL for (int i = 0; i < kPanels; i++) {
    if (i >= panels) break;
    INGOT_UNROLL for (int j = 0; j < kJ; j++) INGOT_UNROLL for (int h = 0; h < 2; h++) *
        reinterpret_cast<TwoSums*>(rows + (warp * 32 + j * 8 + 2 * t + h) * pitch + i * 16 +
                                   2 * g) = {{sums[i][j][h], sums[i][j][2 + h]}};
  }
  {  // the row of y of each position
    const Position at_y = Position::of(q, tile * kSharedPixels + int(threadIdx.x));
    const int x = strip * strips.columns + at_y.column;
    const bool is_pixel =
        at_y.image < q.images && at_y.line < p.oh && at_y.column < strips.columns && x < p.ow;
    lines[threadIdx.x] = is_pixel ? (at_y.image * p.oh + at_y.line) * p.ow + x : -1;
  }
  __syncthreads();
  // Eight lines and a panel at a time: visit(row of the tile, output of the tile, row of y)
  const auto each = [&](auto visit) {
    GPU_ROLLED for (int i = 0; i < panels * 4; i++) {
      const int r = i % 4 * 32 + int(threadIdx.x) / 4,
                of_tile = i / 4 * 16 + int(threadIdx.x) % 4 * 4, m = lines[r];
      if (m >= 0 && first_o + of_tile < p.o) visit(r, of_tile, m);
    }
  };
  const auto four_of = [&](int r, int of_tile) {
    return *reinterpret_cast<const Four*>(rows + r * pitch + of_tile);
  };
  if (p.partial) {
    each([&](int r, int of_tile, int m) {
      *partial_of(p, 0, int(blockIdx.y), m, first_o + of_tile) = four_of(r, of_tile);
    });
    if (!adds_parts(p, shared)) return;
  }
  each([&](int r, int of_tile, int m) {
    const int o = first_o + of_tile;
    finish_plain(p, 0, m, o, p.partial ? add_parts_of(p, 0, m, o) : four_of(r, of_tile));
  });
}

}  // namespace ingot::cuda
