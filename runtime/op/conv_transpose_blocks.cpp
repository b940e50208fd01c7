// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/conv_transpose_blocks.h"

namespace ingot::conv {

/// Input rows that `rows` output rows read at most.
int64_t transpose_in_rows(const ConvTranspose2dAttributes& t, int64_t rows) {
  return (rows - 1 + int64_t(t.dilation_h) * (int64_t(t.kernel_h) - 1)) / t.stride_h + 2;
}
bool transpose_band(const ConvTranspose2dAttributes& t, int64_t w, int64_t oh, int64_t ow,
                    int64_t channels, TransposeBand* out) {
  TransposeBand b;
  const int64_t reach = int64_t(t.dilation_w) * (int64_t(t.kernel_w) - 1) - t.pad_left;
  b.left = reach > 0 ? ceil_div(reach, t.stride_w) : 0;
  const int64_t last = (ow - 1 + int64_t(t.pad_left)) / t.stride_w;
  b.right = last >= w ? last - w + 1 : 0;
  b.in_cols = b.left + w + b.right;
  int64_t row = 0;
  if (!checked_mul(b.in_cols, channels, &row)) return false;
  const int64_t fit = row > 0 ? kBandBytes / 4 / row : kBandBytes;
  const int64_t rows = (fit - transpose_in_rows(t, 1)) * int64_t(t.stride_h);
  b.rows = rows < 1 ? 1 : rows < oh ? rows : oh;
  b.in_rows = transpose_in_rows(t, b.rows);
  const bool fits = checked_mul(row, b.in_rows, &b.elements);
  *out = b;
  return fits;
}

bool transpose_scratch(const ConvTranspose2dAttributes& t, int64_t w, int64_t c, int64_t oh,
                       int64_t ow, int64_t o, uint64_t* bytes) {
  TransposeBand b;
  *bytes = (uint64_t(t.kernel_h) * t.kernel_w * sizeof(Segment) + 63) / 64 * 64;
  if (!transpose_band(t, w, oh, ow, c / t.groups, &b) || b.elements >= int64_t{1} << 44)
    return false;
  *bytes += uint64_t(round_up(b.elements * 4, 64));
  if (t.groups == 1) return true;
  uint64_t panels = uint64_t(round_up(o / t.groups, kPanel));
  if (!checked_mul<uint64_t>(panels, uint64_t(t.kernel_h) * t.kernel_w * 4, &panels) ||
      !checked_mul<uint64_t>(panels, uint64_t(c / t.groups), &panels))
    return false;
  return checked_add(*bytes, panels, bytes);
}

bool transpose_scratch_bound(const ConvTranspose2dAttributes& t, int64_t w, int64_t c, int64_t oh,
                             int64_t ow, int64_t o, uint64_t* bytes) {
  TransposeBand b;
  uint64_t exact;
  if (!transpose_band(t, w, oh, ow, c / t.groups, &b) ||
      !transpose_scratch(t, w, c, oh, ow, o, &exact))
    return false;
  // The rows that fit in a band and one more, or what one output row reads.
  const int64_t row = b.in_cols * (c / t.groups), fit = kBandBytes / 4 + row,
                one = row * transpose_in_rows(t, 1);
  const int64_t most = one > fit ? one : fit;
  if (most > b.elements) exact += uint64_t(round_up(most * 4, 64) - round_up(b.elements * 4, 64));
  *bytes = exact;
  return true;
}

}  // namespace ingot::conv
