// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_blocks.h - how a convolution of bytes is cut into bands, and what scratch
// products of bytes take. Contract and kernels call the same functions. Nothing here depends on an
// instruction set.
#pragma once
#include "runtime/op/conv_blocks.h"
#include "runtime/op/quantized_conv2d.h"

namespace ingot::quantized {

/// Products read four bytes at a time and 16 channels at a time: what lies past the end of a
/// scratch is read, and meets weights of zero.
constexpr int64_t kSlack = 64;

/// x u8 or i16, weights i8.
bool check_bytes(const TensorType& x, const TensorType& w, Violation* violation);

/// The window, as convolutions of floats have it.
Conv2dAttributes geometry(const QuantizedConv2dAttributes& t);

/// Dims of packed direct weights: each run of dims[2] * dims[3] bytes lies together in a band.
void direct_dims(const QuantizedConv2dAttributes& t, int64_t outputs, int64_t channels,
                 int64_t dims[4]);
/// Bytes of one output channel in panels16x4 of such dims.
int64_t panel_depth(const int64_t dims[4]);

/// Channels that a depthwise convolution works on at a time: a band holds so many.
constexpr int64_t kDepthwiseChannels = 64;

/// What one thread needs, as offsets from the start of its scratch in this order.
struct ConvScratch {
  conv::Bands bands;
  bool copies = false;  // a band of the input is copied
  uint64_t band = 0;    // offset; before it lie the segments
  // Of 16-bit numbers a band is two: of the upper bytes, then of the lower ones, so far behind.
  int64_t plane = 0;
  uint64_t sums = 0;  // i32 for each output pixel of a band, where w_zero is not 0
  // of one group: weights, then four vectors of its channels; of depthwise: pairs of taps
  uint64_t panels = 0;
  // of a team that works in place: rows of the neighbours, above and below; else nothing
  uint64_t halo = 0;
  uint64_t bytes = 0;  // of all but the halo
};
/// False on overflow. @pre the extents were checked; oh and ow are at least 1.
bool conv_scratch(const QuantizedConv2dAttributes& t, const TensorType& x, const TensorType& y,
                  ConvScratch* out);
/// Bytes of the halo where y may overwrite x: each member saves the rows of its neighbours that its
/// windows read before any of them writes.
uint64_t halo_bytes(const QuantizedConv2dAttributes& t, const TensorType& x, int threads);

/// True where y may overwrite x: every output row is computed from a copy of its inputs, all
/// columns of a row and all its channels in one band. @pre the contract holds
bool works_in_place(const QuantizedConv2dAttributes& t, const TensorType& x, const TensorType& y);

/// At least that of these extents and of all smaller ones.
bool conv_scratch_bound(const QuantizedConv2dAttributes& t, const TensorType& x,
                        const TensorType& y, uint64_t* bytes);

/// What a sum of to_float is taken with, a row of x.
struct RowQuantParams {
  float scale = 1;
  int32_t zero = 0;
};
/// Rows that a linear layer takes at a time, and copies where K is no multiple of 4; of 16-bit
/// numbers their upper bytes, and linear_plane() behind them the lower ones. Its scratch: steps of
/// rows, sums of rows, copies.
constexpr int64_t kLinearRows = 2 * conv::kTileGrain;
constexpr int64_t kLinearRowBytes = int64_t(sizeof(RowQuantParams) + sizeof(int32_t));
int64_t linear_plane(int64_t k);
uint64_t linear_scratch(const TensorType& x);

}  // namespace ingot::quantized
