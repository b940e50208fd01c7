// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/half_products.h"

namespace ingot::half_products {

bool blocks(int64_t taps, int64_t c, int64_t rows, Blocks* out) {
  Blocks b;
  b.channels = round_up(c, kRows);
  if (!checked_mul(taps, b.channels, &b.k) || b.k >= int64_t{1} << 40) return false;
  const int64_t widest = round_up(b.k, kStep);
  const int64_t fit = conv::kBandBytes / 2 / widest / kRows * kRows;
  b.rows = fit < kLeastRows ? kLeastRows : fit;
  b.rows = b.rows < rows ? b.rows : round_up(rows, kRows);
  b.bytes = uint64_t(widest) * uint64_t(2 * b.rows + 4 * kPanel);
  *out = b;
  return true;
}

bool pays(int64_t c, int64_t o, int64_t rows) {
  const bool is_filled = c >= 2 * kRows || (c > 0 && c % kRows == 0);
  return is_filled && o > kPanel / 2 && rows >= kRows;
}

bool pays_in_tiles(int64_t taps, int64_t c, int64_t o, int64_t rows) {
  return rows >= 16 && (taps == 1 ? c >= 24 : c > 0 && c % kRows == 0) && o >= ceil_div(512, c);
}

bool takes(const Conv2dAttributes& t, const conv::Extents& e) {
  int64_t rows;
  return t.reduced_precision != ReducedPrecision::kNone && t.method == ConvMethod::kDirect &&
         t.input_layout == ChannelLayout::kNhwc && checked_mul(e.n, e.oh, &rows) &&
         checked_mul(rows, e.ow, &rows) && pays(e.c, e.o, rows);
}

bool scratch(const Conv2dAttributes& t, const conv::Extents& e, int64_t rows, uint64_t* bytes) {
  *bytes = 0;
  Blocks b;
  if (!takes(t, e)) return true;
  if (!blocks(int64_t(t.kernel_h) * t.kernel_w, e.c, rows, &b)) return false;
  *bytes = b.bytes;
  return true;
}

}  // namespace ingot::half_products
