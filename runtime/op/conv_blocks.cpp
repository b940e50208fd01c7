// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/conv_blocks.h"

namespace ingot::conv {

Extents extents(const Conv2dAttributes& t, const TensorType& x, const TensorType& y) {
  Extents e;
  const bool nchw = t.input_layout == ChannelLayout::kNchw;
  e.n = x.dims[0], e.h = x.dims[nchw ? 2 : 1], e.w = x.dims[nchw ? 3 : 2],
  e.c = x.dims[nchw ? 1 : 3];
  e.oh = y.dims[1], e.ow = y.dims[2], e.o = y.dims[3];
  return e;
}

Extents extents(const OpArguments& a) {
  Extents e = extents(a.as<Conv2dAttributes>(), a.inputs[0], a.outputs[0]);
  e.has_bf16_weights = a.inputs[1].dtype == DType::kBF16;
  return e;
}

int64_t window_h(const Conv2dAttributes& t) {
  return int64_t(t.dilation_h) * (int64_t(t.kernel_h) - 1) + 1;
}
int64_t window_w(const Conv2dAttributes& t) {
  return int64_t(t.dilation_w) * (int64_t(t.kernel_w) - 1) + 1;
}

int64_t row_distance(int64_t length, int64_t step) {
  return length >= 256 && length % 1024 * step % 1024 == 0 ? length + kRowGap : length;
}

bool needs_band(const Conv2dAttributes& t) {
  return (t.pad_top | t.pad_left | t.pad_bottom | t.pad_right) != 0 ||
         t.input_layout == ChannelLayout::kNchw;
}

bool bands(const Conv2dAttributes& t, const Extents& e, int64_t channels, Bands* out) {
  const int64_t tall = window_h(t), wide = window_w(t);
  const int64_t fit = kBandBytes / 4 / (channels > 0 ? channels : 1);  // input pixels
  Bands b;
  b.cols = e.ow;
  // not even one output row fits: cut the row as well
  if (fit / tall < (e.ow - 1) * t.stride_w + wide) {
    b.cols = (fit / tall - wide) / t.stride_w + 1;
    b.cols = b.cols < 2 * kTileGrain ? 2 * kTileGrain : b.cols;
    b.cols = b.cols > e.ow ? e.ow : b.cols;
  }
  b.in_cols = (b.cols - 1) * t.stride_w + wide;
  const int64_t rows = (fit / b.in_cols - tall) / t.stride_h + 1;
  b.rows = rows < 1 ? 1 : rows > e.oh ? e.oh : rows;
  b.rows = ceil_div(e.oh, ceil_div(e.oh, b.rows));
  b.in_rows = (b.rows - 1) * t.stride_h + tall;
  const bool fits = checked_mul(b.in_rows, b.in_cols, &b.elements) &&
                    checked_mul(b.elements, row_distance(channels, t.stride_w), &b.elements);
  *out = b;
  return fits;
}

uint64_t segment_bytes(const Conv2dAttributes& t) {
  return (uint64_t(t.kernel_h) * t.kernel_w * sizeof(Segment) + 63) / 64 * 64;
}

bool winograd_blocks(const Extents& e, int threads, WinogradBlocks* out) {
  WinogradBlocks g;
  g.tiles_h = ceil_div(e.oh, 4), g.tiles_w = ceil_div(e.ow, 4);
  g.v_row = round_up(e.c, kPanel);
  if (!checked_mul(g.tiles_h, g.tiles_w, &g.tiles) || !checked_mul(g.tiles, e.n, &g.total))
    return false;
  int64_t fit =
      kWinogradBytes / 4 / kWinogradPlanes / (g.v_row > 0 ? g.v_row : 1) / kTileGrain * kTileGrain;
  fit = fit < kTileGrain ? kTileGrain : fit;
  g.shared = threads > 1 && g.total < 2 * kTileGrain * threads;
  const int64_t mine = g.shared ? g.total : ceil_div(g.total, threads);
  g.block = g.shared ? g.total : mine > 0 ? ceil_div(mine, ceil_div(mine, fit)) : 0;
  if (!checked_mul(g.block, g.v_row, &g.v_plane) || g.v_plane >= int64_t{1} << 50) return false;
  g.v_plane += 16;
  g.m_plane = g.block * 2 * kPanel + 16;
  g.v_elements = kWinogradPlanes * g.v_plane, g.m_elements = kWinogradPlanes * g.m_plane;
  *out = g;
  return true;
}

int64_t ring_rows(const Conv2dAttributes& t, int64_t rows, int64_t height) {
  const int64_t need = (rows - 1) * t.stride_h + window_h(t);
  return need < height ? need : height;
}

bool stage_copies(const Conv2dAttributes& t, int stage) {
  return needs_band(t) || (stage > 0 && t.kernel_h > 1);
}

bool direct_scratch(const Conv2dAttributes& t, const Extents& e, int64_t channels, bool copies,
                    uint64_t* bytes) {
  *bytes = segment_bytes(t);
  if (!copies) return true;
  Bands b;
  uint64_t band = 0;
  return bands(t, e, channels, &b) && checked_mul<uint64_t>(uint64_t(b.elements), 4, &band) &&
         band < 1ull << 60 && checked_align(band, 64, &band) && checked_add(*bytes, band, bytes);
}

bool direct_scratch_bound(const Conv2dAttributes& t, const Extents& e, int64_t channels,
                          bool copies, uint64_t* bytes) {
  *bytes = segment_bytes(t);
  if (!copies) return true;
  const int64_t tall = window_h(t), wide = window_w(t);
  // A band holds what fits, or one row of the fewest columns that it is cut into; and never more
  // than the whole image.
  int64_t columns = (2 * kTileGrain - 1) * int64_t(t.stride_w) + wide;
  const int64_t all_rows = (e.oh - 1) * int64_t(t.stride_h) + tall,
                all_columns = (e.ow - 1) * int64_t(t.stride_w) + wide;
  columns = columns < all_columns ? columns : all_columns;
  int64_t pixels, all, band;
  if (!checked_mul(tall, columns, &pixels) || !checked_mul(all_rows, all_columns, &all))
    return false;
  const int64_t fit = kBandBytes / 4 / (channels > 0 ? channels : 1);
  pixels = pixels < fit ? fit : pixels;
  pixels = pixels < all ? pixels : all;
  uint64_t aligned;
  return checked_mul(pixels, row_distance(channels, t.stride_w), &band) &&
         checked_mul(band, int64_t{4}, &band) && band < int64_t{1} << 60 &&
         checked_align(uint64_t(band), 64, &aligned) && checked_add(*bytes, aligned, bytes);
}

bool winograd_bound(const Extents& e, int threads, WinogradBound* out) {
  WinogradBlocks g;
  if (!winograd_blocks(e, threads, &g)) return false;
  const auto elements = [&](int64_t tiles, int64_t* v, int64_t* m) {
    int64_t plane;
    if (!checked_mul(tiles, g.v_row, &plane) || plane >= int64_t{1} << 50) return false;
    *v = kWinogradPlanes * (plane + 16);
    *m = kWinogradPlanes * (tiles * 2 * kPanel + 16);
    return true;
  };
  int64_t fit =
      kWinogradBytes / 4 / kWinogradPlanes / (g.v_row > 0 ? g.v_row : 1) / kTileGrain * kTileGrain;
  fit = fit < kTileGrain ? kTileGrain : fit;
  const int64_t few = 2 * kTileGrain * threads - 1;  // at most so many are shared
  const int64_t mine = ceil_div(g.total, threads);
  int64_t v, m, shared_v = 0, shared_m = 0;
  if (!elements(mine < fit ? mine : fit, &v, &m)) return false;
  if (threads > 1 && !elements(g.total < few ? g.total : few, &shared_v, &shared_m)) return false;
  out->own_elements = v + m > shared_m ? v + m : shared_m;
  out->shared_elements = shared_v;
  return true;
}

}  // namespace ingot::conv
