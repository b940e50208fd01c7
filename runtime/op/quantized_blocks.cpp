// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_blocks.h"

#include "runtime/op/rules.h"

namespace ingot::quantized {
namespace {

/// *at is where `bytes` begin; the next begin a multiple of 64 later.
bool reserve(uint64_t* total, uint64_t bytes, uint64_t* at) {
  *at = *total;
  return checked_add(*total, bytes, total) && checked_align(*total, 64, total);
}

struct Sizes {
  uint64_t band = 0, pixels = 0;  // a byte for each element
  bool words = false;
};

/// Channels that a band holds.
int64_t band_channels(const QuantizedConv2dAttributes& t, int64_t c) {
  if (t.method == ConvMethod::kDepthwise) return c < kDepthwiseChannels ? c : kDepthwiseChannels;
  return t.method == ConvMethod::kGrouped ? c / t.groups : c;
}

bool lay_out(const QuantizedConv2dAttributes& t, const Sizes& sizes, int64_t channels,
             int64_t outputs, ConvScratch* s) {
  uint64_t total = 0, at = 0, sums = 0, panel = 0;
  if (!reserve(&total, conv::segment_bytes(geometry(t)), &at)) return false;
  uint64_t band = sizes.band;
  if (s->copies && !checked_add<uint64_t>(band, uint64_t(kSlack), &band)) return false;
  if (sizes.words) {
    if (!checked_align(band, 64, &band) || band >= conv::kMaxScratchBytes) return false;
    s->plane = int64_t(band), band *= 2;
  }
  if (!reserve(&total, s->copies ? band : 0, &s->band)) return false;
  // of weights with zero points, which those of to_float may have
  if ((t.w_zero != 0 || t.requant == RequantMode::kToFloat) &&
      !checked_mul<uint64_t>(sizes.pixels, 4, &sums))
    return false;
  if (!reserve(&total, sums, &s->sums)) return false;
  if (t.method == ConvMethod::kGrouped) {
    int64_t dims[4];
    direct_dims(t, outputs / t.groups, channels / t.groups, dims);
    const uint64_t padded = uint64_t(round_up(dims[0], kPanel));
    uint64_t vectors;
    if (!checked_mul(padded, uint64_t(panel_depth(dims)), &panel) ||
        !checked_mul<uint64_t>(padded, 4 * kMaxChannelRows, &vectors) ||
        !checked_align(panel, 64, &panel) || !checked_add(panel, vectors, &panel))
      return false;
  }
  if (t.method ==
      ConvMethod::kDepthwise) {  // pairs of taps, 16 bits each, or fours of all channels
    const uint64_t taps = uint64_t(t.kernel_h) * t.kernel_w,
                   pairs =
                       (taps + 1) / 2 * uint64_t(round_up(band_channels(t, channels), kPanel)) * 4,
                   fours = (taps + 3) / 4 * kDepthwiseChannels * 4;
    panel = pairs > fours ? pairs : fours;
  }
  if (!reserve(&total, panel, &s->panels)) return false;
  s->bytes = s->halo = total;
  return total < conv::kMaxScratchBytes;
}

/// Bands as small as pays: weights stream over each, so that they may be an eighth of them; rows
/// that two bands read are moved, so that at least four rows of outputs share theirs.
constexpr int64_t kLeastBand = 4 << 10, kLeastRows = 4;

bool small_bands(const Conv2dAttributes& g, const conv::Extents& e, int64_t channels,
                 int64_t weights, conv::Bands* b) {
  if (!conv::bands(g, e, channels, b)) return false;
  const int64_t row = b->in_cols * channels;  // bytes; elements were checked
  int64_t fit = weights / 8 > kLeastBand ? weights / 8 : kLeastBand;
  fit = row > 0 ? (fit / row - conv::window_h(g)) / g.stride_h + 1 : b->rows;
  fit = fit < kLeastRows ? kLeastRows : fit;
  if (fit >= b->rows) return true;
  b->rows = ceil_div(e.oh, ceil_div(e.oh, fit));
  b->in_rows = (b->rows - 1) * g.stride_h + conv::window_h(g);
  b->elements = b->in_rows * b->in_cols * channels;
  return true;
}

/// Tiles read groups of four bytes, and depthwise kernels 16 channels: where that would leave the
/// tensor, and where windows leave the image or pixels do not touch, the input is copied. So are
/// 16-bit numbers, byte from byte.
bool copies_band(const QuantizedConv2dAttributes& t, const TensorType& x) {
  if (conv::needs_band(geometry(t)) || t.method == ConvMethod::kGrouped || x.dtype == DType::kI16)
    return true;
  const int64_t c = x.dims[3];
  if (t.method == ConvMethod::kDepthwise) return c % kPanel != 0;
  int64_t dims[4];
  direct_dims(t, 1, c, dims);
  return dims[2] * dims[3] % 4 != 0 || (dims[2] > 1 && x.row_stride != c);
}

}  // namespace

using rules::refuse;

bool check_bytes(const TensorType& x, const TensorType& w, Violation* v) {
  if (x.dtype != DType::kU8 && x.dtype != DType::kI16)
    return refuse(v, "quantized x is u8 or i16", 0, int64_t(DType::kU8), int64_t(x.dtype));
  if (w.dtype != DType::kI8)
    return refuse(v, "quantized weights are i8", 1, int64_t(DType::kI8), int64_t(w.dtype));
  return true;
}

Conv2dAttributes geometry(const QuantizedConv2dAttributes& t) {
  Conv2dAttributes g;
  g.kernel_h = t.kernel_h, g.kernel_w = t.kernel_w, g.stride_h = t.stride_h,
  g.stride_w = t.stride_w;
  g.dilation_h = t.dilation_h, g.dilation_w = t.dilation_w;
  g.pad_top = t.pad_top, g.pad_left = t.pad_left, g.pad_bottom = t.pad_bottom,
  g.pad_right = t.pad_right;
  g.groups = t.groups, g.method = t.method;
  return g;
}

void direct_dims(const QuantizedConv2dAttributes& t, int64_t outputs, int64_t channels,
                 int64_t dims[4]) {
  const bool by_row = t.dilation_w == 1;
  dims[0] = outputs, dims[1] = by_row ? t.kernel_h : int64_t(t.kernel_h) * t.kernel_w;
  dims[2] = by_row ? t.kernel_w : 1, dims[3] = channels;
}

int64_t panel_depth(const int64_t dims[4]) { return dims[1] * round_up(dims[2] * dims[3], 4); }

bool conv_scratch(const QuantizedConv2dAttributes& t, const TensorType& x, const TensorType& y,
                  ConvScratch* out) {
  *out = {};
  const Conv2dAttributes g = geometry(t);
  const conv::Extents e = conv::extents(g, x, y);
  out->copies = copies_band(t, x);
  Sizes sizes;
  uint64_t weights = 0;
  const int64_t channels = band_channels(t, e.c);
  // of one group, where it fits: a convolution of more does not fit anywhere
  if (!checked_mul<uint64_t>(uint64_t(t.kernel_h) * t.kernel_w, uint64_t(e.o / t.groups),
                             &weights) ||
      !checked_mul<uint64_t>(weights, uint64_t(e.c / t.groups), &weights) || weights >> 60)
    return false;
  if (!small_bands(g, e, channels, int64_t(weights), &out->bands)) return false;
  sizes.band = uint64_t(out->bands.elements), sizes.words = x.dtype == DType::kI16;
  return checked_mul<uint64_t>(uint64_t(out->bands.rows), uint64_t(out->bands.cols),
                               &sizes.pixels) &&
         lay_out(t, sizes, e.c, e.o, out);
}

uint64_t halo_bytes(const QuantizedConv2dAttributes& t, const TensorType& x, int threads) {
  if (threads < 2) return 0;
  // below 2^46, as the band is, which holds a window of such rows
  return uint64_t(conv::window_h(geometry(t)) - 1) *
         uint64_t(x.dims[2] * x.dims[3] * dtype_bytes(x.dtype));
}

bool works_in_place(const QuantizedConv2dAttributes& t, const TensorType& x, const TensorType& y) {
  ConvScratch s;
  if (t.method == ConvMethod::kGrouped || t.stride_h != 1 || t.stride_w != 1 || !same_dims(x, y) ||
      x.dtype != y.dtype || !x.is_dense() || !y.is_dense() || y.dims[1] * y.dims[2] == 0)
    return false;
  // where weights are larger than the image threads share out channels, not rows
  const int64_t window = int64_t(t.kernel_h) * t.kernel_w;
  if (t.method == ConvMethod::kDirect && window * y.dims[3] > x.dims[1] * x.dims[2]) return false;
  return conv_scratch(t, x, y, &s) && s.copies && s.bands.cols >= y.dims[2];
}

bool conv_scratch_bound(const QuantizedConv2dAttributes& t, const TensorType& x,
                        const TensorType& y, uint64_t* bytes) {
  const Conv2dAttributes g = geometry(t);
  const conv::Extents e = conv::extents(g, x, y);
  const int64_t c = band_channels(t, e.c);
  uint64_t floats = 0;
  if (!conv::direct_scratch_bound(g, e, c, true, &floats)) return false;
  ConvScratch s;
  s.copies = copies_band(t, x);
  // as floats, of which each is a byte; a band has no more output pixels than input pixels
  const uint64_t band = (floats - conv::segment_bytes(g)) / 4;
  Sizes sizes{band, c > 0 ? band / uint64_t(c) + 1 : uint64_t(conv::kBandBytes),
              x.dtype == DType::kI16};
  if (!lay_out(t, sizes, e.c, e.o, &s)) return false;
  *bytes = s.bytes;
  return true;
}

int64_t linear_plane(int64_t k) { return round_up(kLinearRows * round_up(k, 4) + kSlack, 64); }

uint64_t linear_scratch(const TensorType& x) {
  const int64_t k = x.row_length();
  uint64_t rows = k % 4 == 0 ? 0 : uint64_t(kLinearRows) * uint64_t(round_up(k, 4) + kSlack);
  if (x.dtype == DType::kI16) rows = 2 * uint64_t(linear_plane(k));
  return (rows + uint64_t(kLinearRows) * uint64_t(kLinearRowBytes) + 63) / 64 * 64;
}

}  // namespace ingot::quantized
