// runtime/op/conv_blocks.h - how a convolution is cut into bands and blocks, and what scratch that takes. Contract and kernels
// read the same functions, so that a kernel never needs more than was promised. Nothing here depends on an instruction set.
#pragma once
#include "runtime/base/checked_math.h"
#include "runtime/op/conv2d.h"

namespace ingot::conv {

constexpr int64_t kBandBytes = 384 << 10;      // input rows kept in the L2 cache while weight panels stream over them
constexpr int64_t kWinogradBytes = 256 << 10;  // transformed input of one block of Winograd tiles
constexpr int64_t kTileGrain = 14;             // Winograd blocks are multiples of it: rows of the tallest register tile
constexpr uint32_t kMaxExtent = 1u << 20;      // of every kernel, stride, dilation and pad
constexpr uint64_t kMaxScratchBytes = 1ull << 46;  // a contract refuses more; sums of a few such sizes cannot overflow

/// One run of consecutive channels in the sum of an output: elements from the first input element and the first weight.
struct Segment {
  int64_t a, b;
};

struct Extents {
  int64_t n = 0, h = 0, w = 0, c = 0, oh = 0, ow = 0, o = 0;
};
inline Extents extents(const Conv2dAttributes& t, const TensorType& x, const TensorType& y) {
  Extents e;
  const bool nchw = t.input_layout == PictureLayout::kNchw;
  e.n = x.dims[0], e.h = x.dims[nchw ? 2 : 1], e.w = x.dims[nchw ? 3 : 2], e.c = x.dims[nchw ? 1 : 3];
  e.oh = y.dims[1], e.ow = y.dims[2], e.o = y.dims[3];
  return e;
}

inline int64_t window_h(const Conv2dAttributes& t) { return int64_t(t.dilation_h) * (int64_t(t.kernel_h) - 1) + 1; }
inline int64_t window_w(const Conv2dAttributes& t) { return int64_t(t.dilation_w) * (int64_t(t.kernel_w) - 1) + 1; }
inline bool is_padded(const Conv2dAttributes& t) { return (t.pad_top | t.pad_left | t.pad_bottom | t.pad_right) != 0; }

/// The input is copied where windows leave the picture or channels do not lie together.
inline bool needs_band(const Conv2dAttributes& t) { return is_padded(t) || t.input_layout == PictureLayout::kNchw; }

/// Output rows and columns of one band at most, and the input rows, columns and elements that a band of that size holds.
struct Bands {
  int64_t rows = 1, cols = 1, in_rows = 0, in_cols = 0, elements = 0;
};
/// False where a size overflows. @pre oh, ow >= 1, all extents below 2^58, attributes at most kMaxExtent.
inline bool bands(const Conv2dAttributes& t, const Extents& e, int64_t channels, Bands* out) {
  const int64_t tall = window_h(t), wide = window_w(t);
  const int64_t fit = kBandBytes / 4 / (channels > 0 ? channels : 1);  // input pixels
  Bands b;
  b.cols = e.ow;
  if (fit / tall < (e.ow - 1) * t.stride_w + wide) {  // not even one output row fits: cut the row as well
    b.cols = (fit / tall - wide) / t.stride_w + 1;
    b.cols = b.cols < 28 ? 28 : b.cols;
    b.cols = b.cols > e.ow ? e.ow : b.cols;
  }
  b.in_cols = (b.cols - 1) * t.stride_w + wide;
  const int64_t rows = (fit / b.in_cols - tall) / t.stride_h + 1;
  b.rows = rows < 1 ? 1 : rows > e.oh ? e.oh : rows;
  b.rows = ceil_div(e.oh, ceil_div(e.oh, b.rows));
  b.in_rows = (b.rows - 1) * t.stride_h + tall;
  const bool fits = checked_mul(b.in_rows, b.in_cols, &b.elements) && checked_mul(b.elements, channels, &b.elements);
  *out = b;
  return fits;
}

/// Bytes of the segment table at the head of a thread's scratch.
inline uint64_t segment_bytes(const Conv2dAttributes& t) {
  return (uint64_t(t.kernel_h) * t.kernel_w * sizeof(Segment) + 63) / 64 * 64;
}

/// Strides of V [36][block][row] and M [36][block][32], both padded off powers of two.
struct WinogradBlocks {
  int64_t tiles_h = 0, tiles_w = 0, tiles = 0;  // tiles of one picture, 4 x 4 outputs each
  int64_t total = 0;                            // of the batch
  int64_t block = 0;                            // tiles transformed at a time
  bool shared = false;                          // few tiles: threads share V and split the output channels
  int64_t v_row = 0, v_plane = 0, m_plane = 0;  // elements
  int64_t v_elements() const { return kWinogradPlanes * v_plane; }
  int64_t m_elements() const { return kWinogradPlanes * m_plane; }
};
inline bool winograd_blocks(const Extents& e, int threads, WinogradBlocks* out) {
  WinogradBlocks g;
  g.tiles_h = ceil_div(e.oh, 4), g.tiles_w = ceil_div(e.ow, 4);
  g.v_row = round_up(e.c, kPanel);
  if (!checked_mul(g.tiles_h, g.tiles_w, &g.tiles) || !checked_mul(g.tiles, e.n, &g.total)) return false;
  int64_t fit = kWinogradBytes / 4 / kWinogradPlanes / (g.v_row > 0 ? g.v_row : 1) / kTileGrain * kTileGrain;
  fit = fit < kTileGrain ? kTileGrain : fit;
  g.shared = threads > 1 && g.total < 2 * kTileGrain * threads;
  const int64_t mine = g.shared ? g.total : ceil_div(g.total, threads);
  g.block = g.shared ? g.total : mine > 0 ? ceil_div(mine, ceil_div(mine, fit)) : 0;
  if (!checked_mul(g.block, g.v_row, &g.v_plane) || g.v_plane >= int64_t{1} << 50) return false;
  g.v_plane += 16;
  g.m_plane = g.block * 2 * kPanel + 16;
  *out = g;
  return true;
}

/// Rows of the ring that holds the input of stage `stage` (1 ..) of a chain when `rows` rows of its output are wanted.
inline int64_t ring_rows(const Conv2dAttributes& t, int64_t rows, int64_t height) {
  const int64_t need = (rows - 1) * t.stride_h + window_h(t);
  return need < height ? need : height;
}

/// The same for stage `stage` of a chain: rows of a ring do not follow each other.
inline bool stage_copies(const Conv2dAttributes& t, int stage) { return needs_band(t) || (stage > 0 && t.kernel_h > 1); }

/// Scratch of one thread for a direct convolution: segment table, then the band when it copies. False on overflow.
inline bool direct_scratch(const Conv2dAttributes& t, const Extents& e, int64_t channels, bool copies, uint64_t* bytes) {
  *bytes = segment_bytes(t);
  if (!copies) return true;
  Bands b;
  uint64_t band = 0;
  return bands(t, e, channels, &b) && checked_mul<uint64_t>(uint64_t(b.elements), 4, &band) && band < 1ull << 60 &&
         checked_align(band, 64, &band) && checked_add(*bytes, band, bytes);
}

}  // namespace ingot::conv
