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

bool check_bytes(const TensorType& x, const TensorType& w, const TensorType& y,
                 Violation* violation);

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
  uint64_t sums = 0;    // i32 for each output pixel of a band, where w_zero is not 0
  // of one group: weights, then three vectors of its channels; of depthwise: pairs of taps
  uint64_t panels = 0;
  uint64_t bytes = 0;  // of all
};
/// False on overflow. @pre the extents were checked; oh and ow are at least 1.
bool conv_scratch(const QuantizedConv2dAttributes& t, const TensorType& x, const TensorType& y,
                  ConvScratch* out);
/// At least that of these extents and of all smaller ones.
bool conv_scratch_bound(const QuantizedConv2dAttributes& t, const TensorType& x,
                        const TensorType& y, uint64_t* bytes);

/// Rows that a linear layer copies at a time, where K is no multiple of 4.
constexpr int64_t kLinearRows = 2 * conv::kTileGrain;
uint64_t linear_scratch(const TensorType& x);

}  // namespace ingot::quantized
