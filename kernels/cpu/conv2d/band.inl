// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/band.inl - views of one image, and the band copy that spares the tiles
// every edge case.
#pragma once
#include <cstring>

#include "kernels/cpu/gemm/gemm.inl"
#include "kernels/cpu/simd/interleave.inl"
#include "runtime/op/chain.h"

namespace ingot::cpu {
namespace {

/// One image; strides in elements. With ring > 0 only that many rows exist: row y lives in slot
/// (y - origin) % ring. NCHW: pixel_stride is 1 and channels are channel_stride apart. NHWC:
/// channel_stride is 1.
struct NhwcView {
  float* at = nullptr;
  int64_t h = 0, w = 0, c = 0, pixel_stride = 0, row_stride = 0, channel_stride = 1, ring = 0,
          origin = 0;
  /// @pre y >= origin. Of 32 bits, since a division of 64 takes up to 90 cycles.
  int64_t slot(int64_t y) const { return ring ? uint32_t(y - origin) % uint32_t(ring) : y; }
  float* row(int64_t y) const { return at + slot(y) * row_stride; }
};

inline NhwcView nhwc_view(const TensorView& t, bool nchw, int64_t n) {
  NhwcView p;
  float* at = t.as<float>();
  if (nchw) {
    p.c = t.dims[1], p.h = t.dims[2], p.w = t.dims[3];
    p.pixel_stride = 1, p.row_stride = t.row_stride, p.channel_stride = p.h * t.row_stride;
    p.at = at + n * p.c * p.channel_stride;
  } else {
    p.h = t.dims[1], p.w = t.dims[2], p.c = t.dims[3];
    p.pixel_stride = t.row_stride, p.row_stride = p.w * t.row_stride;
    p.at = at + n * p.h * p.row_stride;
  }
  return p;
}

/// n pixels of NCHW planes -> interleaved channels, `pixel` floats apart.
inline void interleave(const float* from, int64_t plane, int64_t channels, int64_t n, int64_t pixel,
                       float* to) {
  if (channels == 1) {
    std::memcpy(to, from, size_t(n) * 4);
  } else if (channels == 3) {
    const float *r = from, *g = from + plane, *b = from + 2 * plane;
    int64_t x = 0;
    if (kInterleavedWords > 0)
      for (; x + kInterleavedWords <= n; x += kInterleavedWords, to += 3 * kInterleavedWords)
        interleave3_words(r + x, g + x, b + x, to);
    for (; x < n; x++, to += 3) to[0] = r[x], to[1] = g[x], to[2] = b[x];
  } else {
    for (int64_t c = 0; c < channels; c++, from += plane)
      for (int64_t x = 0; x < n; x++) to[x * pixel + c] = from[x];
  }
}

/// Input rows and columns [y0, y0 + rows) x [x0, x0 + cols), which may leave the image, to a band
/// with zeros outside and pixels `pixel` floats apart: where that is c, one kernel row of a pixel
/// is kw * c consecutive floats. @pre pixel == c for one channel and for three
inline void copy_band(const NhwcView& in, int64_t y0, int64_t rows, int64_t x0, int64_t cols,
                      int64_t pixel, float* band) {
  const int64_t c = in.c, begin = min_of(in.w, max_of(0, x0)),
                end = max_of(begin, min_of(in.w, x0 + cols)), count = end - begin;
  const int64_t left = count ? begin - x0 : cols, right = cols - left - count;
  for (int64_t y = y0; y < y0 + rows; y++, band += cols * pixel) {
    if (y < 0 || y >= in.h || count == 0) {
      std::memset(band, 0, size_t(cols * pixel) * 4);
      continue;
    }
    std::memset(band, 0, size_t(left * pixel) * 4);
    std::memset(band + (left + count) * pixel, 0, size_t(right * pixel) * 4);
    float* to = band + left * pixel;
    const float* from = in.row(y) + begin * in.pixel_stride;
    if (in.channel_stride != 1)
      interleave(from, in.channel_stride, c, count, pixel, to);
    else if (in.pixel_stride == c && pixel == c)
      std::memcpy(to, from, size_t(count * c) * 4);
    else
      for (int64_t x = 0; x < count; x++)
        std::memcpy(to + x * pixel, from + x * in.pixel_stride, size_t(c) * 4);
  }
}

}  // namespace
}  // namespace ingot::cpu
