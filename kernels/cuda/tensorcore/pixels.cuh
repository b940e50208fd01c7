// kernels/cuda/tensorcore/pixels.cuh - from x into shared memory: a tile of kRows pixels x 16 words
// of k, a row 64 bytes. The 16-byte piece c of row r lies at c ^ (r >> 1 & 3): reads of fragments
// (two neighbouring rows, four pieces) and writes of single words (many rows, one piece) both
// spread over the banks.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

constexpr int kProductThreads = 128;

GPU_FN char* pixel_piece(char* tile, int row, int piece) {
  return tile + row * 64 + ((piece ^ (row >> 1 & 3)) << 4);
}

/// Rows of k neighbouring words: Linear, MatMul, 1x1 convolutions. k and the strides are multiples
/// of 4, x is 16-byte aligned.
template <int kRows>
struct RowPixels {
  static constexpr int kPieces = kRows * 4 / kProductThreads, kApart = kProductThreads / 4;
  const float* from;
  int64_t apart;
  int piece, row, rows, left;  // left: words of k from this thread's piece on
  GPU_FN RowPixels make(const ProductParams& p, const float* x, int first, int k) {
    RowPixels s;
    s.piece = int(threadIdx.x) % 4, s.row = int(threadIdx.x) / 4, s.rows = p.m - first;
    s.left = p.k - k - s.piece * 4;
    s.from = x + (int64_t(first) + s.row) * p.pixel_stride + k + s.piece * 4;
    s.apart = p.pixel_stride * kApart;
    return s;
  }
  GPU_MEMBER void load(const ProductParams&, char* tile) {
    const float* at = from;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++, at += apart) {
      const int r = row + i * kApart;
      const bool valid = left > 0 && r < rows;
      copy_async16(pixel_piece(tile, r, piece), valid ? at : from, valid);
    }
    from += 16, left -= 16;
  }
};

/// What lies outside of an image: zeros.
struct ZeroBorder {
  GPU_FN ZeroBorder make(const ProductParams&, int) { return {}; }
  /// 16 bytes of a tap, or zeros where the window has no such tap.
  GPU_MEMBER void copy(void* to, const void* from, bool, bool is_inside) const {
    copy_async16(to, from, is_inside);
  }
};

/// Windows of images with neighbouring channels, four at a time: c and the strides are multiples
/// of 4, x is 16-byte aligned, kernels are at most 16 x 16. Which taps of a pixel lie inside the
/// image are bits that are found once.
template <int kRows, class Border>
struct BorderedWindows {
  static constexpr int kPieces = kRows * 4 / kProductThreads, kApart = kProductThreads / 4;
  const float* x;
  int pixel[kPieces];        // of tap (0, 0), in pixels of x; may lie outside
  uint32_t inside[kPieces];  // bit ky, and bit 16 + kx
  Border border[kPieces];
  int piece, row, channel, ky, kx;
  template <class Params>
  GPU_FN BorderedWindows make(const Params& p, const float* x, int first, int k) {
    BorderedWindows s;
    s.x = x, s.piece = int(threadIdx.x) % 4, s.row = int(threadIdx.x) / 4;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const int wanted = first + s.row + i * kApart, m = wanted < p.m ? wanted : 0;
      const int line = m / p.ow, ox = m - line * p.ow, n = line / p.oh, oy = line - n * p.oh;
      const int y0 = oy * p.stride_h - p.pad_top, x0 = ox * p.stride_w - p.pad_left;
      s.pixel[i] = (n * p.h + y0) * p.width + x0;
      s.border[i] = Border::make(p, n);
      uint32_t bits = 0;
      for (int t = 0; t < p.kernel_h; t++)
        bits |= uint32_t(unsigned(y0 + t * p.dilation_h) < unsigned(p.h)) << t;
      for (int t = 0; t < p.kernel_w; t++)
        bits |= uint32_t(unsigned(x0 + t * p.dilation_w) < unsigned(p.width)) << (16 + t);
      s.inside[i] = wanted < p.m ? bits : 0;
    }
    k += s.piece * 4;
    const int tap = k / p.c;
    s.channel = k - tap * p.c, s.ky = tap / p.kernel_w, s.kx = tap - s.ky * p.kernel_w;
    return s;
  }
  GPU_MEMBER void load(const ProductParams& p, char* tile) {
    const int tap = ky * p.dilation_h * p.width + kx * p.dilation_w;
    const bool exists = ky < p.kernel_h;
    INGOT_UNROLL for (int i = 0; i < kPieces; i++) {
      const bool valid = exists && (inside[i] >> ky & inside[i] >> (16 + kx) & 1) != 0;
      border[i].copy(pixel_piece(tile, row + i * kApart, piece),
                     valid ? x + (pixel[i] + tap) * p.pixel_stride + channel : x, exists, valid);
    }
    channel += 16;
    while (channel >= p.c && ky < p.kernel_h) {
      channel -= p.c;
      if (++kx == p.kernel_w) kx = 0, ky++;
    }
  }
};
template <int kRows>
using WindowPixels = BorderedWindows<kRows, ZeroBorder>;

/// The pixel whose words a thread copies one at a time. Neighbouring threads take neighbouring
/// pixels.
template <int kRows>
struct SinglePixel {
  static constexpr int kEach = kRows * 16 / kProductThreads;  // words of a thread, neighbours in k
  int row, first;     // of the tile: its pixel and its first word of k
  int image, y0, x0;  // tap (0, 0); may lie outside
  template <class Params>
  GPU_FN SinglePixel make(const Params& p, int first) {
    SinglePixel s;
    s.row = int(threadIdx.x) % kRows, s.first = int(threadIdx.x) / kRows * kEach;
    const int wanted = first + s.row, m = wanted < p.m ? wanted : 0;
    const int line = m / p.ow, ox = m - line * p.ow;
    s.image = line / p.oh, s.x0 = ox * p.stride_w - p.pad_left;
    s.y0 = (line - s.image * p.oh) * p.stride_h - p.pad_top;
    if (wanted >= p.m) s.y0 = -(1 << 30) - (1 << 29);  // no tap of it is inside
    return s;
  }
};

/// Anything, a word at a time: few channels (the first layer of a network), planes, a transposed
/// matrix, unaligned rows. Neighbouring threads take neighbouring pixels, so which tap it is does
/// not differ within a warp.
template <int kRows>
struct SinglePixels {
  static constexpr int kEach = SinglePixel<kRows>::kEach;
  const float* x;
  int64_t at;  // word of tap (0, 0); may lie outside
  SinglePixel<kRows> pixel;
  int channel, ky, kx;
  GPU_FN SinglePixels make(const ProductParams& p, const float* x, int first, int k) {
    SinglePixels s;
    const SinglePixel<kRows> pixel = SinglePixel<kRows>::make(p, first);
    s.x = x, s.pixel = pixel;
    s.at = pixel.image * p.image_stride + pixel.y0 * p.row_stride + pixel.x0 * p.pixel_stride;
    k += pixel.first;
    const int tap = k / p.c;
    s.channel = k - tap * p.c, s.ky = tap / p.kernel_w, s.kx = tap - s.ky * p.kernel_w;
    return s;
  }
  GPU_MEMBER void skip(const ProductParams& p, int words) {
    channel += words;
    while (channel >= p.c && ky < p.kernel_h) {
      channel -= p.c;
      if (++kx == p.kernel_w) kx = 0, ky++;
    }
  }
  GPU_MEMBER void load(const ProductParams& p, char* tile) {
    GPU_UNROLL_BY(4)
    for (int i = 0; i < kEach; i++) {
      const int k = pixel.first + i, dy = ky * p.dilation_h, dx = kx * p.dilation_w;
      const bool valid = ky < p.kernel_h && unsigned(pixel.y0 + dy) < unsigned(p.h) &&
                         unsigned(pixel.x0 + dx) < unsigned(p.width);
      copy_async4(
          pixel_piece(tile, pixel.row, k >> 2) + (k & 3) * 4,
          x + (valid ? at + dy * p.row_stride + dx * p.pixel_stride + channel * p.channel_stride
                     : 0),
          valid);
      skip(p, 1);
    }
    if (kEach < 16) skip(p, 16 - kEach);
  }
};

}  // namespace ingot::cuda
