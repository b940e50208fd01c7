// kernels/cuda/tensorcore/pixels.cuh - from x into shared memory: a tile of kRows pixels x 16 words
// of k, a row 64 bytes. The 16-byte piece c of row r lies at c ^ (r >> 1 & 3): reads of fragments
// (two neighbouring rows, four pieces) and writes of single words (many rows, one piece) both
// spread over the banks.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/computed_once.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/tensorcore/weights.cuh"

namespace ingot::cuda {

constexpr int kProductThreads = 128;

GPU_FN int pixel_offset(int row, int piece) {
  return row * 64 + ((piece ^ (row >> 1 & 3)) << 4);  // eight rows on: 512 bytes
}
GPU_FN char* pixel_piece(char* tile, int row, int piece) { return tile + pixel_offset(row, piece); }

/// Rows of k neighbouring words: Linear, MatMul, 1x1 convolutions. k and the strides are multiples
/// of 4, x is 16-byte aligned. Rows that the tile has beyond the last are another one: their sums
/// are not stored.
template <int kRows, int kHalves>
struct RowPixels {
  static constexpr int kPieces = kRows * 4 / kProductThreads, kApart = kProductThreads / 4;
  const char* from[kPieces];
  int to, steps;  // steps: that have this thread's piece
  GPU_FN RowPixels make(const ProductParams& p, const float* x, int first, int k) {
    RowPixels s;
    const int piece = int(threadIdx.x) % 4, row = int(threadIdx.x) / 4;
    s.steps = steps_with(p.k - k - piece * 4), s.to = pixel_offset(row, piece);
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int m = first + row + i * kApart;
      s.from[i] = reinterpret_cast<const char*>(x + int64_t(m < p.m ? m : 0) * p.pixel_stride + k +
                                                piece * 4);
    }
    return s;
  }
  GPU_MEMBER void load(const ProductParams&, int step, char* tile) {
    const uint32_t at = uint32_t(step) * 64;  // k is at most 2^30
    INGOT_UNROLL for (int half = 0; half < kHalves; half++)
        INGOT_UNROLL for (int i = 0; i < kPieces; i++)
            copy_async16(tile + to + (half * kRows + i * kApart) * 64, from[i] + at + half * 64,
                         step + half < steps);
  }
};

/// What lies outside of an image: zeros.
struct ZeroBorder {
  GPU_FN ZeroBorder make(const ProductParams&, int) { return {}; }
  /// 16 bytes of a tap. `exists`: the window has it; else it is not inside.
  GPU_MEMBER void copy(void* to, const void* from, bool, bool is_inside) const {
    copy_async16(to, from, is_inside);
  }
};

/// Windows of images with neighbouring channels, four at a time: c and the strides are multiples
/// of 4, x is 16-byte aligned, kernels are at most kMaxTapRows x 16. Which taps of a pixel lie
/// outside of the image are bits that are found once; where a tap lies is one offset for all.
template <int kRows, int kHalves, class Border>
struct BorderedWindows {
  static constexpr int kPieces = kRows * 4 * kHalves / kProductThreads,
                       kApart = kProductThreads / 4 / kHalves;
  const char* from[kPieces];  // this thread's piece of tap (0, 0); may lie outside
  uint32_t outside[kPieces];  // bit ky, and bit 16 + kx
  Border border[kPieces];
  // In bytes: of the tap and its channels; what comes to it from the last channel of a tap to the
  // next tap, and at the end of a row of taps besides.
  int64_t offset, next_tap, next_row;
  uint32_t tap_x, tap_y, end_x, end_y;  // the tap's bits; those behind a row and behind the last
  int to, channel;
  template <class Params>
  GPU_FN BorderedWindows make(const Params& p, const float* x, int first, int k) {
    BorderedWindows s;
    const int piece = int(threadIdx.x) % 4, row = int(threadIdx.x) / 4 % kApart,
              half = int(threadIdx.x) / 4 / kApart;
    s.to = half * kRows * 64 + pixel_offset(row, piece);
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int wanted = first + row + i * kApart, m = wanted < p.m ? wanted : 0;
      const int line = m / p.ow, ox = m - line * p.ow, n = line / p.oh, oy = line - n * p.oh;
      const int y0 = oy * p.stride_h - p.pad_top, x0 = ox * p.stride_w - p.pad_left;
      s.from[i] = reinterpret_cast<const char*>(x) +
                  int64_t((n * p.h + y0) * p.width + x0) * p.pixel_stride * 4;
      s.border[i] = Border::make(p, n);
      uint32_t bits = 1u << p.kernel_h;
      GPU_ROLLED for (int t = 0; t < p.kernel_h; t++) bits |=
          uint32_t(unsigned(y0 + t * p.dilation_h) >= unsigned(p.h)) << t;
      GPU_ROLLED for (int t = 0; t < p.kernel_w; t++) bits |=
          uint32_t(unsigned(x0 + t * p.dilation_w) >= unsigned(p.width)) << (16 + t);
      s.outside[i] = wanted < p.m ? bits : ~0u;
    }
    k += half * 16 + piece * 4;
    const int tap = k / p.c, ky = tap / p.kernel_w, kx = tap - ky * p.kernel_w;
    s.channel = k - tap * p.c;
    s.tap_x = 0x10000u << kx, s.end_x = computed_once(0x8000u << p.kernel_w << 1);
    s.tap_y = 1u << (ky < p.kernel_h ? ky : p.kernel_h), s.end_y = computed_once(1u << p.kernel_h);
    const int64_t step_x = p.dilation_w * p.pixel_stride * 4,
                  step_y = int64_t(p.dilation_h) * p.width * p.pixel_stride * 4;
    s.channel -= kHalves * 16;  // load() begins with a step
    s.offset = ky * step_y + kx * step_x + int64_t(s.channel) * 4;
    s.next_tap = computed_once(step_x - int64_t(p.c) * 4);
    s.next_row = computed_once(step_y - p.kernel_w * step_x);
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, int, char* tile) {
    channel += kHalves * 16, offset += kHalves * 64;
    GPU_ROLLED while (channel >= p.c) {
      channel -= p.c, offset += next_tap, tap_x <<= 1;
      if (tap_x != end_x) continue;
      tap_x = 0x10000u, offset += next_row;
      tap_y = tap_y << 1 < end_y ? tap_y << 1 : end_y;
    }
    const bool exists = tap_y != end_y;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) border[i].copy(
        tile + to + i * kApart * 64, from[i] + offset, exists, (outside[i] & (tap_x | tap_y)) == 0);
  }
};
template <int kRows, int kHalves>
using WindowPixels = BorderedWindows<kRows, kHalves, ZeroBorder>;

/// The pixel whose words a thread copies one at a time. Neighbouring threads take neighbouring
/// pixels.
template <int kRows, int kHalves>
struct SinglePixel {
  // words of a thread, neighbours in k
  static constexpr int kWords = 16 * kHalves, kEach = kRows * kWords / kProductThreads;
  int row, first;     // of the tile: its pixel and its first word of k
  int image, y0, x0;  // tap (0, 0); may lie outside
  bool exists;
  template <class Params>
  GPU_FN SinglePixel make(const Params& p, int first) {
    SinglePixel s;
    s.row = int(threadIdx.x) % kRows, s.first = int(threadIdx.x) / kRows * kEach;
    const int wanted = first + s.row, m = wanted < p.m ? wanted : 0;
    const int line = m / p.ow, ox = m - line * p.ow;
    s.image = line / p.oh, s.x0 = ox * p.stride_w - p.pad_left;
    s.y0 = (line - s.image * p.oh) * p.stride_h - p.pad_top;
    s.exists = wanted < p.m;
    return s;
  }
  /// Where word k of the step goes.
  GPU_MEMBER char* place(char* tile, int k) const {
    return pixel_piece(tile + (k >> 4) * kRows * 64, row, k >> 2 & 3) + (k & 3) * 4;
  }
};

/// Anything, a word at a time: few channels (the first layer of a network), planes, a transposed
/// matrix, unaligned rows. Neighbouring threads take neighbouring pixels, so which tap it is does
/// not differ within a warp.
template <int kRows, int kHalves>
struct SinglePixels {
  using Pixel = SinglePixel<kRows, kHalves>;
  Pixel pixel;
  const char* from;  // the next word; may lie outside
  // In bytes: to the next word; what comes to it from the last channel of a tap to the next tap,
  // and at the end of a row of taps besides.
  int64_t next_word, next_tap, next_row;
  int y, x, end_x, wide;  // of the tap in the image; behind a row of taps; of a row
  int channel, left;
  GPU_FN SinglePixels make(const ProductParams& p, const float* x, int first, int k) {
    SinglePixels s;
    const Pixel pixel = Pixel::make(p, first);
    s.pixel = pixel;
    k += pixel.first;
    const int tap = k / p.c, ky = tap / p.kernel_w, kx = tap - ky * p.kernel_w;
    s.channel = k - tap * p.c, s.left = p.k - k;
    s.y = pixel.y0 + ky * p.dilation_h, s.x = pixel.x0 + kx * p.dilation_w;
    s.wide = int(computed_once(uint32_t(p.kernel_w * p.dilation_w)));
    s.end_x = int(computed_once(uint32_t(pixel.x0 + s.wide)));
    if (!pixel.exists) s.y = -(1 << 30) - (1 << 29);  // no tap of it is inside
    const int64_t step_x = p.dilation_w * p.pixel_stride * 4,
                  step_y = p.dilation_h * p.row_stride * 4;
    s.next_word = p.channel_stride * 4;
    s.next_tap = computed_once(step_x - p.c * s.next_word);
    s.next_row = computed_once(step_y - p.kernel_w * step_x);
    s.from =
        reinterpret_cast<const char*>(x) +
        (pixel.image * p.image_stride + pixel.y0 * p.row_stride + pixel.x0 * p.pixel_stride) * 4 +
        ky * step_y + kx * step_x + s.channel * s.next_word;
    return s;
  }
  GPU_MEMBER void take_tap(const ProductParams& p) {
    channel -= p.c, from += next_tap, x += p.dilation_w;
    if (x == end_x) x -= wide, y += p.dilation_h, from += next_row;
  }
  GPU_MEMBER void load(const ProductParams& p, int, char* tile) {
    GPU_UNROLL_BY(4)
    for (int i = 0; i < Pixel::kEach; i++) {
      const bool valid = i < left && unsigned(y) < unsigned(p.h) && unsigned(x) < unsigned(p.width);
      copy_async4(pixel.place(tile, pixel.first + i), from, valid);
      from += next_word;
      if (++channel == p.c) take_tap(p);
    }
    left -= Pixel::kWords;
    constexpr int kOthers = Pixel::kWords - Pixel::kEach;
    channel += kOthers, from += kOthers * next_word;
    if (kOthers > 0) {
      GPU_ROLLED while (channel >= p.c) take_tap(p);
    }
  }
};

}  // namespace ingot::cuda
