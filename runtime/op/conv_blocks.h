// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv_blocks.h - how a convolution is cut into bands and blocks, and what scratch that
// takes. Contract and kernels call the same functions, so that a kernel never needs more than was
// promised. Nothing here depends on an instruction set; nothing here is inline code of external
// linkage, which a kernel file would compile with its flags.
#pragma once
#include "runtime/base/checked_math.h"
#include "runtime/op/conv2d.h"

namespace ingot::conv {

// input rows kept in the L2 cache while weight panels stream over them
constexpr int64_t kBandBytes = 384 << 10;
constexpr int64_t kWinogradBytes = 256 << 10;  // transformed input of one block of Winograd tiles
// Winograd blocks are multiples of it: rows of the tallest register tile
constexpr int64_t kTileGrain = 14;
constexpr uint32_t kMaxExtent = 1u << 20;  // of every kernel, stride, dilation and pad
// a contract refuses more; sums of a few such sizes cannot overflow
constexpr uint64_t kMaxScratchBytes = 1ull << 46;

constexpr int64_t kRowGap = 16;  // a cache line of f32

/// The distance of rows of `length` floats, every `step`-th of which a tile reads at once: a line
/// more where those would be a multiple of 4 KiB apart, which have the same few places in L1.
int64_t row_distance(int64_t length, int64_t step);

/// One run of consecutive channels in the sum of an output: elements from the first input element
/// and the first weight.
struct Segment {
  int64_t a, b;
};

struct Extents {
  int64_t n = 0, h = 0, w = 0, c = 0, oh = 0, ow = 0, o = 0;
  bool has_bf16_weights = false;  // as half_products::reads_bf16() has it
};
Extents extents(const Conv2dAttributes& t, const TensorType& x, const TensorType& y);
/// Of a Conv2d.
Extents extents(const OpArguments& a);

/// Input rows and columns that one window covers.
int64_t window_h(const Conv2dAttributes& t);
int64_t window_w(const Conv2dAttributes& t);

/// The input is copied where windows leave the image or channels do not lie together.
bool needs_band(const Conv2dAttributes& t);

/// Output rows and columns of one band at most, and the input rows, columns and elements that a
/// band of that size holds, gaps between pixels (row_distance) included.
struct Bands {
  int64_t rows = 1, cols = 1, in_rows = 0, in_cols = 0, elements = 0;
};
/// False where a size overflows. @pre oh, ow >= 1, all extents below 2^58, attributes at most
/// kMaxExtent.
bool bands(const Conv2dAttributes& t, const Extents& e, int64_t channels, Bands* out);

/// Bytes of the segment table at the head of a thread's scratch.
uint64_t segment_bytes(const Conv2dAttributes& t);

/// Strides of V [36][block][row] and M [36][block][32], both padded off powers of two.
struct WinogradBlocks {
  int64_t tiles_h = 0, tiles_w = 0, tiles = 0;  // tiles of one image, 4 x 4 outputs each
  int64_t total = 0;                            // of the batch
  int64_t block = 0;                            // tiles transformed at a time
  // few tiles: threads share V and split the output channels
  bool shared = false;
  int64_t v_row = 0, v_plane = 0, m_plane = 0;  // elements
  int64_t v_elements = 0, m_elements = 0;
};
bool winograd_blocks(const Extents& e, int threads, WinogradBlocks* out);

/// Rows of the ring that holds the input of stage `stage` (1 ..) of a chain when `rows` rows of its
/// output are wanted.
int64_t ring_rows(const Conv2dAttributes& t, int64_t rows, int64_t height);

/// Whether stage `stage` of a chain copies its input: rows of a ring do not follow each other.
bool stage_copies(const Conv2dAttributes& t, int stage);

/// Scratch of one thread for a direct convolution: segment table, then the band when it copies.
/// False on overflow.
bool direct_scratch(const Conv2dAttributes& t, const Extents& e, int64_t channels, bool copies,
                    uint64_t* bytes);

/// At least direct_scratch() of these extents and of all smaller ones: a narrower image may fill
/// the band better.
bool direct_scratch_bound(const Conv2dAttributes& t, const Extents& e, int64_t channels,
                          bool copies, uint64_t* bytes);
/// At least what winograd_blocks() gives a team of `threads` for these extents and for all with
/// fewer tiles.
struct WinogradBound {
  int64_t own_elements = 0, shared_elements = 0;
};
bool winograd_bound(const Extents& e, int threads, WinogradBound* out);

}  // namespace ingot::conv
