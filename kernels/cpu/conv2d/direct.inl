// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/direct.inl - convolutions with a window as products without im2col: a band of
// input rows is copied with zero borders, then every output pixel is a few runs of consecutive
// floats and tiles know no edges.
#pragma once
#include "kernels/cpu/conv2d/band.inl"

namespace ingot::cpu {
namespace {

/// One image (or one group of its channels) in, the same of the result out.
struct ConvJob {
  const Conv2dAttributes* t = nullptr;
  conv::Bands bands;
  NhwcView in, out;
  const float* weights = nullptr;   // packed as the method says
  const float* bias = nullptr;      // vector16 or null
  const float* residual = nullptr;  // of the image
  const Epilogue* epilogue = nullptr;
  char* scratch = nullptr;  // segment table, then the band
  bool copies = false;      // a band is needed
};

/// The runs of one pixel's sum: whole kernel rows where pixels touch each other, else one run a
/// tap.
inline int64_t fill_segments(const Conv2dAttributes& t, int64_t channels, int64_t pixel,
                             int64_t row, Segment* segments, int64_t* length) {
  const bool by_row = t.kernel_w == 1 || (t.dilation_w == 1 && pixel == channels);
  const int64_t per_row = by_row ? 1 : t.kernel_w;
  *length = by_row ? t.kernel_w * channels : channels;
  for (int64_t ky = 0; ky < t.kernel_h; ky++)
    for (int64_t kx = 0; kx < per_row; kx++)
      segments[ky * per_row + kx] = {ky * t.dilation_h * row + kx * t.dilation_w * pixel,
                                     (ky * per_row + kx) * *length * kPanel};
  return t.kernel_h * per_row;
}

#if defined(INGOT_SIMD_NEON)
/// One output pixel of a tile: its first input, output and residual (or null).
struct ConvPixel {
  const float* a;
  float* out;
  const float* residual;
};

/// A panel's outputs of one band.
struct BandPanel {
  const TileShape* shape;
  const float *weights, *bias;
  int64_t outputs;
  const NeonTile* fives;  // or null: tiles of five pixels do not do the epilogue

  /// n pixels beside each other; the second half of them may be elsewhere.
  INGOT_INLINE void across(int64_t n, const ConvPixel& first, const ConvPixel& half) const {
    run(*shape, n, first, half);
  }
  /// `tiles` times five pixels beside each other.
  INGOT_INLINE void fives_across(int64_t tiles, const ConvPixel& first) const {
    neon_tiles_5(*fives, tiles, first.a, first.out, shape->out_stride * 4, first.residual,
                 shape->epilogue->residual_stride * 4);
  }
  /// n pixels as far apart as `first` and `next`.
  void below(int64_t n, const ConvPixel& first, const ConvPixel& next,
             const ConvPixel& half) const {
    Epilogue epilogue = *shape->epilogue;
    TileShape down = *shape;
    epilogue.residual_stride = first.residual ? next.residual - first.residual : 0;
    down.pixel_stride = next.a - first.a, down.out_stride = next.out - first.out;
    down.epilogue = &epilogue;
    run(down, n, first, half);
  }
  INGOT_INLINE void run(const TileShape& x, int64_t n, const ConvPixel& first,
                        const ConvPixel& half) const {
    Tiles<V>::tile(1, n)(x, first.a, half.a - first.a, weights, bias, first.out,
                         half.out - first.out, first.residual,
                         first.residual ? half.residual - first.residual : 0, outputs);
  }
};

/// Up to four rows of a band in tiles of five and four pixels: of columns that fit into neither,
/// two beside each other of two rows are a tile of four, and of a last one all rows. at(y, x): the
/// output pixel there.
template <class At>
INGOT_INLINE void conv_tiles(const BandPanel& panel, Range rows, int64_t cols, At at) {
  const FivesAndFours cut =
      panel.fives ? fives_and_fours(cols) : FivesAndFours{0, cols / 4, cols % 4};
  const int64_t rest = cut.cut(), last = cols - 1, y = rows.begin, n = rows.count();
  for (int64_t i = 0; i < n; i++) {
    if (cut.fives) panel.fives_across(cut.fives, at(y + i, 0));
    for (int64_t x = 5 * cut.fives; x < rest; x += 4)
      panel.across(4, at(y + i, x), at(y + i, x + 2));
  }
  for (int64_t i = 0; (cut.left & 2) && i < n; i += 2)
    if (i + 1 < n)
      panel.across(4, at(y + i, rest), at(y + i + 1, rest));
    else
      panel.across(2, at(y + i, rest), at(y + i, rest + 1));
  if (!(cut.left & 1)) return;
  bool even = n > 1;  // where rows are a ring, its end may be among these
  for (int64_t i = 1; i + 1 < n; i++) {
    const ConvPixel p = at(y + i, last), q = at(y + i + 1, last);
    const ConvPixel first = at(y, last), next = at(y + 1, last);
    even = even && q.a - p.a == next.a - first.a && q.out - p.out == next.out - first.out;
  }
  if (even)
    panel.below(n, at(y, last), at(y + 1, last), at(y + (n + 1) / 2, last));
  else
    for (int64_t i = 0; i < n; i++) panel.across(1, at(y + i, last), at(y + i, last));
}
#endif

#if defined(INGOT_SIMD_AVX2)
/// Rows of one pixel more than a tile has, as 7x7 images: halves of two rows make whole tiles, and
/// the last column is done downwards. Two small tiles a row would have too few chains for the
/// latency of a sum. tile(shape, n, y, x, apart): n pixels from output pixel (y, x) on, the second
/// half `apart` rows below the first.
template <class Tile>
INGOT_INLINE void conv_row_pairs(const TileShape& shape, int64_t row, int64_t out_row,
                                 int64_t residual_row, Range rows, int64_t most, Tile tile) {
  const int64_t half = most / 2;
  int64_t y = rows.begin;
  for (; y + 2 <= rows.end; y += 2) tile(shape, most, y, 0, 1), tile(shape, most, y, half, 1);
  if (y < rows.end) tile(shape, most, y, 0, 0);
  Epilogue epilogue = *shape.epilogue;
  TileShape down = shape;
  epilogue.residual_stride = residual_row;
  down.pixel_stride = row, down.out_stride = out_row, down.epilogue = &epilogue;
  const int64_t tiles = ceil_div(rows.count(), most);
  for (int64_t i = 0; i < tiles; i++) {
    const Range r = part(rows.count(), i, tiles);
    tile(down, r.count(), rows.begin + r.begin, most, (r.count() + 1) / 2);
  }
}
#endif

/// One band: output rows x columns, all panels of the range.
template <class V>
void conv_band(const ConvJob& j, Range rows, Range cols, Range panels) {
  const Conv2dAttributes& t = *j.t;
  Segment* segments = reinterpret_cast<Segment*>(j.scratch);
  float* band = reinterpret_cast<float*>(j.scratch + conv::segment_bytes(t));
  const int64_t c = j.in.c, sh = t.stride_h, sw = t.stride_w;
  int64_t pixel = j.in.pixel_stride, row = j.in.row_stride;
  if (j.copies) {
    const int64_t in_cols = (cols.count() - 1) * sw + conv::window_w(t);
    pixel = conv::row_distance(c, sw), row = in_cols * pixel;
    copy_band(j.in, rows.begin * sh - t.pad_top, (rows.count() - 1) * sh + conv::window_h(t),
              cols.begin * sw - t.pad_left, in_cols, pixel, band);
  }
  TileShape shape;
  shape.segments = segments;
  shape.segment_count = fill_segments(t, c, pixel, row, segments, &shape.segment_length);
  shape.pixel_stride = sw * pixel,
  shape.panel_stride = int64_t(t.kernel_h) * t.kernel_w * c * kPanel;
  shape.out_stride = j.out.pixel_stride, shape.epilogue = j.epilogue;
  const auto input_at = [&](int64_t y) -> const float* {
    return j.copies ? band + (y - rows.begin) * sh * row
                    : j.in.row(y * sh) + cols.begin * shape.pixel_stride;
  };
  const int64_t residual_stride = j.epilogue->residual_stride;
  for_panels<V>(panels, j.out.c, [&](int64_t p, int count, int64_t outputs) {
    const float* w = j.weights + p * shape.panel_stride;
#if defined(INGOT_SIMD_NEON)
    const bool later = finishes_later(*j.epilogue, j.residual != nullptr, outputs);
    const Epilogue plain;
    TileShape stored = shape;
    if (later) stored.epilogue = &plain;
    const NeonTile five =
        neon_tile(stored, w, bias_at(j.bias, p), stored.epilogue->clamps, 2 * shape.pixel_stride);
    const bool fives =
        outputs == kPanel && neon_finishes(*stored.epilogue, j.residual != nullptr, outputs);
    const BandPanel panel{&stored, w, bias_at(j.bias, p), outputs, fives ? &five : nullptr};
    const auto pixel_at = [&](int64_t y, int64_t x) {
      const int64_t at = y * j.out.w + cols.begin + x;
      return ConvPixel{input_at(y) + x * shape.pixel_stride,
                       j.out.row(y) + (cols.begin + x) * j.out.pixel_stride + p * kPanel,
                       j.residual ? j.residual + at * residual_stride + p * kPanel : nullptr};
    };
    for (int64_t y = rows.begin; y < rows.end; y += 4) {
      const int64_t end = min_of(y + 4, rows.end);
      conv_tiles(panel, {y, end}, cols.count(), pixel_at);
      for (int64_t k = y; later && k < end; k++)
        finish_stored(*j.epilogue, pixel_at(k, 0).out, j.out.pixel_stride, cols.count());
    }
    return;
#endif
    const int64_t most = Tiles<V>::rows(count);
    // narrow images: a tile spans two rows
    const int64_t step = cols.count() * 2 <= most ? 2 : 1;
#if defined(INGOT_SIMD_AVX2)
    if (cols.count() == most + 1 && rows.count() > 1 && !j.in.ring && !j.out.ring) {
      const int64_t y0 = rows.begin, in_row = input_at(y0 + 1) - input_at(y0),
                    out_row = j.out.row_stride, residual_row = j.out.w * residual_stride;
      conv_row_pairs(shape, in_row, out_row, residual_row, rows, most,
                     [&](const TileShape& s, int64_t n, int64_t y, int64_t x, int64_t apart) {
                       const int64_t beside = apart ? 0 : (n + 1) / 2;
                       const int64_t at = y * j.out.w + cols.begin + x;
                       Tiles<V>::tile(count, n)(
                           s, input_at(y) + x * shape.pixel_stride,
                           apart * in_row + beside * shape.pixel_stride, w, bias_at(j.bias, p),
                           j.out.row(y) + (cols.begin + x) * j.out.pixel_stride + p * kPanel,
                           apart * out_row + beside * j.out.pixel_stride,
                           j.residual ? j.residual + at * residual_stride + p * kPanel : nullptr,
                           apart * residual_row + beside * residual_stride, outputs);
                     });
      return;
    }
#endif
    for (int64_t y = rows.begin; y < rows.end; y += step) {
      const float* a = input_at(y);
      float* out = j.out.row(y) + cols.begin * j.out.pixel_stride + p * kPanel;
      const float* residual =
          j.residual ? j.residual + (y * j.out.w + cols.begin) * residual_stride + p * kPanel
                     : nullptr;
      if (step == 2 && y + 1 < rows.end) {
        Tiles<V>::tile(count, 2 * cols.count())(
            shape, a, input_at(y + 1) - a, w, bias_at(j.bias, p), out,
            j.out.row(y + 1) - j.out.row(y), residual, j.out.w * residual_stride, outputs);
        continue;
      }
      const int64_t done =
          narrow_pixels<V>(shape, a, cols.count(), w, bias_at(j.bias, p), out, residual, outputs);
      const int64_t tiles = ceil_div(cols.count() - done, most);
      for (int64_t i = 0; i < tiles; i++) {
        const Range x = tile_part<V>(cols.count() - done, i, most);
        const int64_t h = (x.count() + 1) / 2, at = done + x.begin;
        Tiles<V>::tile(count, x.count())(
            shape, a + at * shape.pixel_stride, h * shape.pixel_stride, w, bias_at(j.bias, p),
            out + at * j.out.pixel_stride, h * j.out.pixel_stride,
            residual ? residual + at * residual_stride : nullptr, h * residual_stride, outputs);
      }
    }
  });
}

/// Output rows x columns of one image in bands.
template <class V>
void conv_rows(const ConvJob& j, Range rows, Range cols, Range panels) {
  if (rows.count() <= 0 || cols.count() <= 0 || panels.count() <= 0) return;
  const int64_t down = ceil_div(rows.count(), j.bands.rows),
                across = ceil_div(cols.count(), j.bands.cols);
  for (int64_t i = 0; i < down; i++)
    for (int64_t k = 0; k < across; k++) {
      const Range y = part(rows.count(), i, down), x = part(cols.count(), k, across);
      conv_band<V>(j, {rows.begin + y.begin, rows.begin + y.end},
                   {cols.begin + x.begin, cols.begin + x.end}, panels);
    }
}

/// Output rows [rows) of a 1x1 convolution with stride 1, whose images may be rings: runs of rows
/// that lie together.
template <class V>
void pointwise_rows(const ConvJob& j, Range rows, Range panels) {
  GemmJob g;
  g.a_stride = j.in.pixel_stride, g.k = j.in.c, g.weights = j.weights, g.bias = j.bias;
  g.out_stride = j.out.pixel_stride, g.o = j.out.c, g.epilogue = j.epilogue;
  for (int64_t y = rows.begin; y < rows.end;) {
    int64_t n = rows.end - y;
    if (j.in.ring) n = min_of(n, j.in.ring - j.in.slot(y));
    if (j.out.ring) n = min_of(n, j.out.ring - j.out.slot(y));
    g.a = j.in.row(y), g.out = j.out.row(y);
    g.residual = j.residual ? j.residual + y * j.out.w * j.epilogue->residual_stride : nullptr;
    gemm<V>(g, {0, n * j.out.w}, panels);
    y += n;
  }
}

inline bool is_pointwise(const Conv2dAttributes& t) {
  return t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 && t.stride_w == 1 &&
         !conv::needs_band(t);
}

}  // namespace
}  // namespace ingot::cpu
