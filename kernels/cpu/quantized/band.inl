// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/band.inl - one image of bytes or of 16-bit numbers, and the band copy that
// spares tiles every edge case: what lies outside of the image is the zero point. A band of 16-bit
// numbers is two, of upper and of lower bytes.
#pragma once
#include "kernels/cpu/quantized/pixels.inl"
#include "runtime/op/quantized_blocks.h"

namespace ingot::cpu {
namespace {

/// One image; strides in bytes, also of the elements of an output of 4 bytes.
struct Int8Image {
  uint8_t* at = nullptr;
  int64_t h = 0, w = 0, c = 0, pixel_stride = 0, row_stride = 0;
  int64_t element = 1;
  uint8_t* row(int64_t y) const { return at + y * row_stride; }
};

/// Rows around those that a member of a team computes in place, saved before any of it writes.
struct Int8Halo {
  // those above rows.begin end here, those from rows.end on begin here; null: nothing is in place
  const uint8_t* at = nullptr;
  Range rows = {0, 0};  // of the image: the member's own
};

inline Int8Image int8_image(const TensorView& t, int64_t n) {
  Int8Image i;
  i.h = t.dims[1], i.w = t.dims[2], i.c = t.dims[3], i.element = dtype_bytes(t.dtype);
  i.pixel_stride = t.row_stride * i.element, i.row_stride = i.w * i.pixel_stride;
  i.at = t.as<uint8_t>() + n * i.h * i.row_stride;
  return i;
}

/// Rows of a band are short: a call of the C library for each of their parts would take longer.
template <class V>
INGOT_INLINE void fill_bytes(uint8_t* to, uint8_t byte, int64_t n) {
  const typename V::B bytes = V::bsplat(byte);
  int64_t i = 0;
  for (; i + V::kBytes <= n; i += V::kBytes) V::bstore(to + i, bytes);
  if (i < n) V::bstore_partial(to + i, bytes, n - i);
}
template <class V>
INGOT_INLINE void copy_bytes(uint8_t* to, const uint8_t* from, int64_t n) {
  int64_t i = 0;
  for (; i + V::kBytes <= n; i += V::kBytes) V::bstore(to + i, V::bload(from + i));
  if (i < n) V::bstore_partial(to + i, V::bload_partial(from + i, n - i), n - i);
}

/// Lanes whose total grows by that of n bytes.
template <class V>
INGOT_INLINE typename V::I add_bytes(typename V::I sum, const uint8_t* p, int64_t n) {
  int64_t i = 0;
  for (; i + V::kBytes <= n; i += V::kBytes) sum = V::bsum(sum, V::bload(p + i));
  return i < n ? V::bsum(sum, V::bload_partial(p + i, n - i)) : sum;
}

/// x + 32768 of n numbers, byte from byte.
inline void split_int16(const uint8_t* from, int64_t n, uint8_t* upper, uint8_t* lower) {
  constexpr int64_t kBlock = 64;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = min_of(kBlock, n - i);
    uint16_t words[kBlock] = {};
    uint8_t up[kBlock], low[kBlock];
    std::memcpy(words, from + 2 * i, size_t(count) * 2);
    for (int64_t k = 0; k < kBlock; k++)
      up[k] = uint8_t((words[k] ^ 0x8000) >> 8), low[k] = uint8_t(words[k]);
    std::memcpy(upper + i, up, size_t(count));
    std::memcpy(lower + i, low, size_t(count));
  }
}

/// How a band is filled: one plane of bytes, or two `plane` bytes apart.
template <class V>
struct BandFill {
  int64_t plane;  // 0: bytes
  uint32_t zero;
  void outside(uint8_t* to, int64_t n) const {
    fill_bytes<V>(to, uint8_t(plane ? zero >> 8 : zero), n);
    if (plane) fill_bytes<V>(to + plane, uint8_t(zero), n);
  }
  void inside(uint8_t* to, const uint8_t* from, int64_t n) const {
    if (plane)
      split_int16(from, n, to, to + plane);
    else
      copy_bytes<V>(to, from, n);
  }
  /// Bytes of the band itself. @pre to <= from
  void moved(uint8_t* to, const uint8_t* from, int64_t n) const {
    copy_bytes<V>(to, from, n);
    if (plane) copy_bytes<V>(to + plane, from + plane, n);
  }
};

/// Rows and columns [y0, y0 + rows) x [x0, x0 + cols), which may leave the image, to a dense band.
template <class V>
void copy_int8_band(const Int8Image& in, const Int8Halo& halo, int64_t y0, int64_t rows, int64_t x0,
                    int64_t cols, const BandFill<V>& fill, uint8_t* band) {
  const int64_t c = in.c, begin = min_of(in.w, max_of(0, x0)),
                end = max_of(begin, min_of(in.w, x0 + cols)), count = end - begin;
  const int64_t left = count ? begin - x0 : cols, right = cols - left - count;
  for (int64_t y = y0; y < y0 + rows; y++, band += cols * c) {
    if (y < 0 || y >= in.h || count == 0) {
      fill.outside(band, cols * c);
      continue;
    }
    fill.outside(band, left * c);
    fill.outside(band + (left + count) * c, right * c);
    uint8_t* to = band + left * c;
    const uint8_t* from = in.row(y);
    if (halo.at && y < halo.rows.begin) from = halo.at - (halo.rows.begin - y) * in.row_stride;
    if (halo.at && y >= halo.rows.end) from = halo.at + (y - halo.rows.end) * in.row_stride;
    from += begin * in.pixel_stride;
    if (in.pixel_stride == c * in.element)
      fill.inside(to, from, count * c);
    else
      for (int64_t x = 0; x < count; x++) fill.inside(to + x * c, from + x * in.pixel_stride, c);
  }
}

/// What every band of one image shares.
struct Int8ConvJob {
  const QuantizedConv2dAttributes* t = nullptr;
  const quantized::ConvScratch* scratch = nullptr;
  Int8Image in, out;
  Int8Halo halo;
  const int8_t* weights = nullptr;
  const Requantization* requantization = nullptr;
  RowQuantParams steps;    // of the image, with to_float
  uint32_t outside = 0;    // what lies outside of it
  char* memory = nullptr;  // the thread's scratch
};

/// The input of one band: rows of pixels that windows do not leave.
struct Int8Band {
  const uint8_t* at = nullptr;  // the first tap of the first output
  int64_t pixel_stride = 0, row_stride = 0;
};

/// Rows of inputs that `rows` of outputs read.
inline int64_t rows_read(const QuantizedConv2dAttributes& t, int64_t rows) {
  return (rows - 1) * t.stride_h + conv::window_h(quantized::geometry(t));
}

/// `before`: rows of outputs of the band that lies there now, directly above; 0: none. What both
/// read is moved, not copied again.
template <class V>
Int8Band load_band(const Int8ConvJob& j, Range rows, Range cols, int64_t before) {
  const QuantizedConv2dAttributes& t = *j.t;
  const int64_t sh = t.stride_h, sw = t.stride_w;
  if (!j.scratch->copies)
    return {j.in.row(rows.begin * sh) + cols.begin * sw * j.in.pixel_stride, j.in.pixel_stride,
            j.in.row_stride};
  const int64_t in_rows = rows_read(t, rows.count()),
                in_cols = (cols.count() - 1) * sw + conv::window_w(quantized::geometry(t)),
                row = in_cols * j.in.c;
  uint8_t* const band = reinterpret_cast<uint8_t*>(j.memory + j.scratch->band);
  const int64_t kept = before ? max_of(0, rows_read(t, 1) - sh) : 0;
  const BandFill<V> fill{j.scratch->plane, j.outside};
  if (kept) fill.moved(band, band + (rows_read(t, before) - kept) * row, kept * row);
  copy_int8_band<V>(j.in, j.halo, rows.begin * sh - t.pad_top + kept, in_rows - kept,
                    cols.begin * sw - t.pad_left, in_cols, fill, band + kept * row);
  // what tiles read past the last pixel meets weights of zero, and is never left unwritten
  std::memset(band + in_rows * row, 0, quantized::kSlack);
  if (fill.plane) std::memset(band + fill.plane + in_rows * row, 0, quantized::kSlack);
  return {band, j.in.c, row};
}

/// Output rows x columns of one image, band after band: f(band, rows, columns).
template <class V, class F>
void for_bands(const Int8ConvJob& j, Range rows, Range cols, F f) {
  if (rows.count() <= 0 || cols.count() <= 0) return;
  const conv::Bands& b = j.scratch->bands;
  const int64_t down = ceil_div(rows.count(), b.rows), across = ceil_div(cols.count(), b.cols);
  for (int64_t i = 0; i < down; i++)
    for (int64_t k = 0; k < across; k++) {
      const Range y = part(rows.count(), i, down), x = part(cols.count(), k, across);
      const Range band_rows = {rows.begin + y.begin, rows.begin + y.end},
                  band_cols = {cols.begin + x.begin, cols.begin + x.end};
      const int64_t before = across == 1 && i > 0 ? part(rows.count(), i - 1, down).count() : 0;
      f(load_band<V>(j, band_rows, band_cols, before), band_rows, band_cols);
    }
}

}  // namespace
}  // namespace ingot::cpu
