// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/bottleneck.cuh - an inverted bottleneck in one launch: what lies between
// its three stages is never in memory. For 32 expanded channels at a time
//   expand    patch x weights on tensor cores, bias, activation; zeros outside of the image, where
//             the window has its padding
//   window    a lane has one channel, a warp the pixels of a cell; bias, activation
//   project   the cells of a warp x weights, added to sums that stay in registers
// The same sums in the same order, and the same roundings, as of three launches. Weights have one
// buffer each: those of expand are copied while the other two stages run, those of project while
// expand does.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/tensorcore/bottleneck_params.h"
#include "kernels/cuda/tensorcore/product.cuh"

namespace ingot::cuda {

/// An activation that is no clamp.
GPU_FN Four activate_unclamped(const ActivationSpec& spec, Four v) {
  if (spec.kind != Activation::kLeakyRelu) return activate_long(spec, v);
  for (float& x : v.x) x = cpu::activate<V, Activation::kLeakyRelu>(x, spec.alpha, spec.beta);
  return v;
}

/// A NaN stays one. The CPU's order of operands takes four instructions, and differs in the sign of
/// zeros alone.
GPU_FN float clamp_sum(float x, float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(low));
  asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(high));
  return x;
#else
  return V::min(high, V::max(low, x));
#endif
}

/// Two f16, after rounding: the same as before, since rounding keeps the order of numbers.
GPU_FN uint32_t clamp_halves(uint32_t two, uint32_t low, uint32_t high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(two) : "r"(low));
  asm("min.NaN.f16x2 %0, %0, %1;" : "+r"(two) : "r"(high));
  return two;
#else
  const F16 type;
  return pack(type, clamp_sum(unpack(type, two, 0), unpack(type, low, 0), unpack(type, high, 0)),
              clamp_sum(unpack(type, two, 1), unpack(type, low, 1), unpack(type, high, 1)));
#endif
}
/// What a value is between two launches.
template <bool kF16>
GPU_FN Four between_stages(Four v) {
  if constexpr (kF16)
    for (float& x : v.x) x = widen_f16(round_f16(x));
  return v;
}

template <class Type>
struct Bottleneck {
  static constexpr bool kF16 = kPlainWords<Type>;
  static constexpr int kProjectSteps = kF16 ? 1 : 2;  // of 16 words, in a slice
  static constexpr int kWarps = kBottleneckWarps, kGroups = kMaxPatchGroups / kWarps,
                       kCells = kMaxCells / kWarps, kOutputGroups = kBlockOutputs / 32;
  using Part = Fragments<Type>;

  const BottleneckParams& p;
  char* shared;
  int lane, warp, g, t;
  int own_groups, own_cells;  // of this warp
  int output_groups;          // of 32 outputs, of this block
  int first_o;
  uint32_t inside;  // bit 2 i + h: whether pixel 2 t + h of this warp's group i is in the image
  RowLane rows;
  HalfLane halves;
  int channel;     // of a slice, of this lane's windows
  int row, piece;  // of 16 words of k and 16 outputs, what this thread copies
  int panel_to;
  uint32_t expand_piece, project_piece;  // where it is in weights, of the next slice

  GPU_MEMBER explicit Bottleneck(const BottleneckParams& params) : p(params) {}

  /// The row of the patch that a pixel lies in; of the tile's cells that a cell lies in.
  GPU_MEMBER int patch_line(int pixel) const { return pixel * p.patch_inverse >> 16; }
  GPU_MEMBER int cell_line(int cell) const { return cell * p.cell_inverse >> 8; }
  /// Bytes from one step of the patch to the next.
  GPU_MEMBER int patch_step() const { return p.groups * 512; }
  GPU_MEMBER char* patch() const { return shared + p.patch_at; }
  GPU_MEMBER float* channels(int row) const {
    return reinterpret_cast<float*>(shared + p.channels_at + row * kChannelRow);
  }

  /// A corner of the patch: pixel (y, x) of image n. Words are rounded once, by who has copied
  /// them.
  template <class Visit>
  GPU_MEMBER void each_piece(Visit visit) const {
    const int piece = int(threadIdx.x) % 4;
    GPU_ROLLED for (int row = int(threadIdx.x) / 4; row < p.groups * 8; row += 32)
        visit(row, piece);
  }
  GPU_MEMBER void copy_patch(int64_t n, int y0, int x0) const {
    const char* const image = reinterpret_cast<const char*>(p.x + n * p.image_stride);
    each_piece([&](int row, int piece) {
      const int line = patch_line(row), y = y0 + line, x = x0 + row - line * p.patch_w;
      const bool exists =
          row < p.patch_pixels && unsigned(y) < unsigned(p.h) && unsigned(x) < unsigned(p.width);
      const char* const from =
          piece_at(image, exists ? uint32_t(y * p.row_pieces + x * p.pixel_pieces + piece) : 0);
      char* const to = patch() + pixel_offset(row, piece);
      GPU_ROLLED for (int s = 0; s < p.steps; s++)
          copy_async16(to + s * patch_step(), from + s * 64, exists && s * 16 + piece * 4 < p.c);
    });
  }
  GPU_MEMBER void round_patch() const {
    each_piece([&](int row, int piece) {
      GPU_ROLLED for (int s = 0; s < p.steps; s++)
          round_piece(patch() + s * patch_step() + pixel_offset(row, piece));
    });
  }
  /// Weights, 32 outputs x 16 words of k at a time: a piece a thread.
  GPU_MEMBER void begin_copies() {
    row = int(threadIdx.x) / 4 % 16, piece = int(threadIdx.x) % 4;
    const int panel = int(threadIdx.x) / 64, at = row * 4 + piece;
    panel_to = panel * 1024 + panel_offset(row, piece);
    expand_piece = panel * p.expand_panel + at;
    project_piece = (first_o / 16 + panel) * p.project_panel + at;
  }
  /// Four of 32 channels of a row of floats.
  GPU_MEMBER void copy_channels(int line, int part, const float* from, int first) const {
    const bool exists = from && first + part * 4 < p.padded;
    copy_async16(channels(line) + part * 4, exists ? from + first + part * 4 : p.x, exists);
  }
  /// The slice from channel `first` on.
  GPU_MEMBER void copy_expand(int first) {
    const int words = first / 16 + int(threadIdx.x) / 64 < p.expand_panels ? p.c - row : 0;
    char* const to = shared + p.expand_at + panel_to;
    GPU_ROLLED for (int s = 0; s < p.steps; s++) copy_async16(
        to + s * 2048, piece_at(reinterpret_cast<const char*>(p.expand_w), expand_piece + s * 64),
        s * 16 < words);
    expand_piece += 2 * p.expand_panel;
    if (threadIdx.x < 8) copy_channels(10, int(threadIdx.x), p.expand_bias, first);
    commit_copies();
  }
  GPU_MEMBER void copy_project(int first) {
    const int words = p.k - first / 32 * kProjectSteps * 16 - row;
    char* const to = shared + p.project_at + panel_to;
    INGOT_UNROLL for (int q = 0; q < kOutputGroups; q++) if (q < output_groups)
        INGOT_UNROLL for (int s = 0; s < kProjectSteps; s++) copy_async16(
            to + (s * output_groups + q) * 2048,
            piece_at(reinterpret_cast<const char*>(p.project_w),
                     project_piece + 2 * q * p.project_panel + s * 64),
            s * 16 < words && first_o / 16 + int(threadIdx.x) / 64 + q * 2 < p.project_panels);
    project_piece += kProjectSteps * 64;
    // the taps, and behind them the bias
    const int line = int(threadIdx.x) / 8, part = int(threadIdx.x) % 8;
    if (line < 10)
      copy_channels(line, part, line < 9 ? p.window_w + line * p.padded : p.window_bias, first);
    commit_copies();
  }

  GPU_MEMBER void read_weights(const char* tile, uint32_t (&a)[Part::kCount][2][4]) const {
    if constexpr (kF16) {
      PanelTile<32>::read_fragments(tile, halves, a);
    } else {
      uint32_t words[4][4];
      PanelTile<32>::read(tile, rows, words);
      INGOT_UNROLL for (int part = 0; part < Part::kCount; part++)
          INGOT_UNROLL for (int i = 0; i < 2; i++) Part::of_weights(words, i, part, a[part][i]);
    }
  }
  GPU_FN void add_products(float (&sums)[2][4], const uint32_t (&a)[Part::kCount][2][4],
                           const char* pixels) {
    uint32_t words[4];
    load_shared(words, pixels);
    INGOT_UNROLL for (int part = 0; part < Part::kCount; part++) {
      uint32_t b[2];
      Part::template of_pixels<true>(words, part, b);
      INGOT_UNROLL for (int i = 0; i < 2; i++) multiply_add(Type{}, sums[i], a[part][i], b);
    }
  }
  /// Four neighboring outputs of a pixel. Of packed words lanes with an odd g have outputs 2, 3, 0
  /// and 1 of them: see turned().
  GPU_FN Four four_of(const float (&sums)[2][4], int h) {
    return {{sums[0][h], sums[0][2 + h], sums[1][h], sums[1][2 + h]}};
  }
  GPU_FN Four turned(Four v, bool odd) {
    return kF16 && odd ? Four{{v.x[2], v.x[3], v.x[0], v.x[1]}} : v;
  }

  GPU_MEMBER void expand() const {
    float sums[kGroups][2][4] = {};
    const char* const pixels =
        shared + computed_once(uint32_t(p.patch_at + warp * 512 + pixel_offset(g, t)));
    GPU_ROLLED for (int s = 0; s < p.steps; s++) {
      uint32_t a[Part::kCount][2][4];
      read_weights(shared + p.expand_at + s * 2048, a);
      INGOT_UNROLL for (int i = 0; i < kGroups; i++) if (i < own_groups)
          add_products(sums[i], a, pixels + s * patch_step() + i * kWarps * 512);
    }
    // Turned channels stay so: window() knows where they are.
    const Four bias = turned(*reinterpret_cast<const Four*>(channels(10) + 4 * g), g & 1);
    char* const to = shared + (warp * 8 + 2 * t) * kExpandedPitch + g * 16;
    const auto place = [&](int i, int h) {
      return reinterpret_cast<Four*>(to + (i * kWarps * 8 + h) * kExpandedPitch);
    };
    INGOT_UNROLL for (int i = 0; i < kGroups; i++) if (i < own_groups)
        INGOT_UNROLL for (int h = 0; h < 2; h++) {
      const bool exists = inside >> (2 * i + h) & 1;
      Four v = four_of(sums[i], h);
      for (int e = 0; e < 4; e++) v.x[e] += bias.x[e];
      if constexpr (!kF16) {
        for (float& x : v.x) {
          x = clamp_sum(x, p.expand.low, p.expand.high);
          x = exists ? x : 0;  // the sum is a NaN where a weight is infinite
        }
      } else if (!p.expand.calls) {
        INGOT_UNROLL for (int e = 0; e < 4; e += 2) {
          const uint32_t clamped = clamp_halves(pack(F16{}, v.x[e], v.x[e + 1]),
                                                p.expand_halves.low, p.expand_halves.high),
                         two = exists ? clamped : 0;
          v.x[e] = unpack(F16{}, two, 0), v.x[e + 1] = unpack(F16{}, two, 1);
        }
      }
      *place(i, h) = v;
    }
    // Functions are called when no sums are left to be kept across the call.
    if (!p.expand.calls) return;
    GPU_ROLLED for (int i = 0; i < 2 * own_groups; i++) {
      Four* const at = place(i / 2, i % 2);
      const Four v = between_stages<kF16>(activate_unclamped(p.expand.activation, *at));
      *at = inside >> i & 1 ? v : Four{};
    }
  }

  /// Where the windows of this warp's cell i begin.
  GPU_MEMBER int corner_of(int i) const {
    const int cell = warp + i * kWarps, line = cell_line(cell),
              pixel = (line * kCellHeight * p.patch_w + (cell - line * p.cells_w) * kCellWidth) *
                      p.stride;
    return pixel * kExpandedPitch;
  }
  /// One channel of a cell.
  template <int kStride>
  GPU_MEMBER void add_windows(const char* corner, const float (&taps)[9], float bias,
                              float (&sums)[kCellPixels]) const {
    INGOT_UNROLL for (float& sum : sums) sum = bias;
    constexpr int kHeight = (kCellHeight - 1) * kStride + 3,
                  kWidth = (kCellWidth - 1) * kStride + 3;
    INGOT_UNROLL for (int y = 0; y < kHeight; y++) {
      const char* const row = corner + y * p.patch_w * kExpandedPitch;
      INGOT_UNROLL for (int x = 0; x < kWidth; x++) {
        const float v = *reinterpret_cast<const float*>(row + x * kExpandedPitch);
        INGOT_UNROLL for (int pixel = 0; pixel < kCellPixels; pixel++) {
          const int ky = y - pixel / kCellWidth * kStride, kx = x - pixel % kCellWidth * kStride;
          if (ky >= 0 && ky < 3 && kx >= 0 && kx < 3)
            sums[pixel] = V::fma(v, taps[ky * 3 + kx], sums[pixel]);
        }
      }
    }
  }
  /// The cells of this warp, one after the other in one copy of the code.
  GPU_MEMBER void window(const int (&corners)[kCells], float (&sums)[kCells][kCellPixels]) const {
    float taps[9];
    INGOT_UNROLL for (int k = 0; k < 9; k++) taps[k] = channels(k)[channel];
    const float bias = channels(9)[channel];
    GPU_ROLLED for (int i = own_cells - 1; i >= 0; i--) {
      INGOT_UNROLL for (int pixel = 0; pixel < kCellPixels; pixel++) sums[1][pixel] =
          sums[0][pixel];
      const char* const corner = shared + (i ? corners[1] : corners[0]) + lane * 4;
      if (p.stride == 1)
        add_windows<1>(corner, taps, bias, sums[0]);
      else
        add_windows<2>(corner, taps, bias, sums[0]);
    }
  }
  /// The operand of project: a pixel's channel to where fragments are read. Of the second step
  /// neighboring pixels change places, so that 32 channels spread over the banks.
  GPU_MEMBER void store_cell(int cell, float (&sums)[kCellPixels]) const {
    const int word = kF16 ? channel / 2 : channel % 16, step = kF16 ? 0 : channel / 16;
    const int first = step << 6 | word / 4 << 4 | word % 4 << 2 | (kF16 ? channel % 2 * 2 : 0);
    char* const to = shared + step * p.cells * 512 + cell * 512;
    INGOT_UNROLL for (int half = 0; half < 2; half++) {
      Four v = {{sums[4 * half], sums[4 * half + 1], sums[4 * half + 2], sums[4 * half + 3]}};
      if constexpr (!kF16)
        for (float& x : v.x) x = clamp_sum(x, p.window.low, p.window.high);
      if (p.window.calls) v = activate_unclamped(p.window.activation, v);
      INGOT_UNROLL for (int e = 0; e < 4; e += 2) {
        // pixel e + 1 lies 64 bytes on, or before
        const int pixel = 4 * half + e, at = first ^ (pixel << 6 | pixel >> 1 << 4);
        if constexpr (!kF16) {
          *reinterpret_cast<uint32_t*>(to + at) = near_tf32(v.x[e]);
          *reinterpret_cast<uint32_t*>(to + (at ^ 64)) = near_tf32(v.x[e + 1]);
        } else {
          const uint32_t two = clamp_halves(pack(F16{}, v.x[e], v.x[e + 1]), p.window_halves.low,
                                            p.window_halves.high);
          *reinterpret_cast<uint16_t*>(to + at) = uint16_t(two);
          *reinterpret_cast<uint16_t*>(to + at + 64) = uint16_t(two >> 16);
        }
      }
    }
  }
  GPU_MEMBER void project(float (&sums)[kCells][kOutputGroups][2][4]) const {
    INGOT_UNROLL for (int s = 0; s < kProjectSteps; s++) {
      const char* const pixels = shared + s * p.cells * 512 + warp * 512 + pixel_offset(g ^ s, t);
      INGOT_UNROLL for (int q = 0; q < kOutputGroups; q++) if (q < output_groups) {
        uint32_t a[Part::kCount][2][4];
        read_weights(shared + p.project_at + (s * output_groups + q) * 2048, a);
        INGOT_UNROLL for (int i = 0; i < kCells; i++) if (i < own_cells)
            add_products(sums[i][q], a, pixels + i * kWarps * 512);
      }
    }
  }

  /// The image of this block, and the corner of its tile.
  struct Tile {
    int image, y, x;
  };

  /// Sums through shared memory, so that the epilogue is one loop.
  GPU_MEMBER void finish(const float (&sums)[kCells][kOutputGroups][2][4], const Tile& tile) const {
    const int pitch = output_groups * 32 + 4, shift = output_groups + 2;  // of 8 or 16 fours
    float* const all = reinterpret_cast<float*>(shared);
    INGOT_UNROLL for (int i = 0; i < kCells; i++) if (i < own_cells)
            INGOT_UNROLL for (int q = 0; q < kOutputGroups; q++) if (q < output_groups)
                INGOT_UNROLL for (int h = 0; h < 2; h++) *
        reinterpret_cast<Four*>(all + ((warp + i * kWarps) * 8 + 2 * t + h) * pitch + q * 32 +
                                4 * g) = four_of(sums[i][q], h);
    __syncthreads();
    const int o = (int(threadIdx.x) & ((1 << shift) - 1)) * 4;
    if (first_o + o >= p.project.o) return;
    GPU_ROLLED for (int pixel = int(threadIdx.x) >> shift; pixel < p.cells * kCellPixels;
                    pixel += kProductThreads >> shift) {
      const int cell = pixel / kCellPixels, line = cell_line(cell);
      const int y = line * kCellHeight + pixel % kCellPixels / kCellWidth,
                x = (cell - line * p.cells_w) * kCellWidth + pixel % kCellWidth;
      if (y >= p.tile_h || x >= p.tile_w || tile.y + y >= p.oh || tile.x + x >= p.ow) continue;
      const Four v = *reinterpret_cast<const Four*>(all + pixel * pitch + o);
      finish_four(p.project, 0, (int64_t(tile.image) * p.oh + tile.y + y) * p.ow + tile.x + x,
                  first_o + o, turned(v, o & 4));
    }
  }

  GPU_MEMBER void run() {
    const int image = int(blockIdx.z) / p.output_blocks;
    const Tile tile = {image, int(blockIdx.y) * p.tile_h, int(blockIdx.x) * p.tile_w};
    const int y0 = tile.y * p.stride - p.pad_top, x0 = tile.x * p.stride - p.pad_left;
    shared = gpu_shared<char>();
    lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, g = lane / 4, t = lane % 4;
    first_o = (int(blockIdx.z) - image * p.output_blocks) * kBlockOutputs;
    const int outputs = p.project.o - first_o;
    output_groups = ((outputs < kBlockOutputs ? outputs : kBlockOutputs) + 31) / 32;
    own_groups = (p.groups - warp + kWarps - 1) / kWarps;
    own_cells = (p.cells - warp + kWarps - 1) / kWarps;
    rows = PanelTile<32>::rows_of(0), halves = halves_of(rows);
    channel = kF16 ? lane ^ (lane >> 1 & 2) : lane;
    begin_copies();
    if (!p.project.is_early) wait_for_launches();
    copy_expand(0);
    wait_for_launches();
    copy_patch(tile.image, y0, x0);
    commit_copies();
    inside = 0;
    GPU_ROLLED for (int i = 0; i < 2 * own_groups; i++) {
      const int pixel = (warp + i / 2 * kWarps) * 8 + 2 * t + i % 2, row = patch_line(pixel);
      inside |= uint32_t(unsigned(y0 + row) < unsigned(p.h) &&
                         unsigned(x0 + pixel - row * p.patch_w) < unsigned(p.width))
                << i;
    }
    int corners[kCells];
    INGOT_UNROLL for (int i = 0; i < kCells; i++) corners[i] = corner_of(i);
    float sums[kCells][kOutputGroups][2][4] = {};
    wait_for_copies<0>();
    if constexpr (!kF16) round_patch();
    GPU_ROLLED for (int slice = 0; slice < p.expanded; slice += kExpandedSlice) {
      wait_for_copies<0>();
      __syncthreads();  // project has read its operands
      copy_project(slice);
      expand();
      wait_for_copies<0>();
      __syncthreads();
      if (slice + kExpandedSlice < p.expanded) copy_expand(slice + kExpandedSlice);
      float pixels[kCells][kCellPixels] = {};
      window(corners, pixels);
      __syncthreads();  // windows have read what is overwritten
      INGOT_UNROLL for (int i = 0; i < kCells; i++) if (i < own_cells)
          store_cell(warp + i * kWarps, pixels[i]);
      __syncwarp();
      project(sums);
    }
    __syncthreads();
    finish(sums, tile);
  }
};

/// The body of a kernel.
template <class Type>
GPU_FN void bottleneck(const BottleneckParams& p) {
  Bottleneck<Type>(p).run();
}

}  // namespace ingot::cuda
