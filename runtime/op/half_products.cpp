// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/half_products.h"

#include "runtime/op/chain.h"
#include "runtime/op/linear.h"

namespace ingot::half_products {

constexpr int64_t kTileRows = 16;

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
  return rows >= kTileRows && (taps == 1 ? c >= 24 : c > 0 && c % kRows == 0) &&
         o >= ceil_div(512, c);
}

bool reads_bf16(int64_t taps, int64_t c, int64_t o) {
  return pays(c, o, kRows) && pays_in_tiles(taps, c, o, kTileRows);
}

namespace {

bool conv_reads_bf16(const Conv2dAttributes& t, const int64_t* dims) {
  return t.reduced_precision == ReducedPrecision::kBf16 && t.method == ConvMethod::kDirect &&
         t.input_layout == ChannelLayout::kNhwc && reads_bf16(dims[1] * dims[2], dims[3], dims[0]);
}

}  // namespace

bool reads_bf16(OpCode op, const void* attributes, uint32_t operand, const int64_t* dims) {
  if (op == OpCode::kConv2d)
    return operand == 1 && conv_reads_bf16(*static_cast<const Conv2dAttributes*>(attributes), dims);
  if (op == OpCode::kLinear)
    return operand == 1 &&
           static_cast<const LinearAttributes*>(attributes)->reduced_precision ==
               ReducedPrecision::kBf16 &&
           reads_bf16(1, dims[1], dims[0]);
  const ChainAttributes* const chain =
      op == OpCode::kChain ? static_cast<const ChainAttributes*>(attributes) : nullptr;
  return chain && operand % 2 == 1 && operand / 2 < chain->stage_count &&
         conv_reads_bf16(chain->stages[operand / 2], dims);
}

bool takes(const Conv2dAttributes& t, const conv::Extents& e) {
  int64_t rows;
  return is_rounded(t.reduced_precision) && t.method == ConvMethod::kDirect &&
         t.input_layout == ChannelLayout::kNhwc && checked_mul(e.n, e.oh, &rows) &&
         checked_mul(rows, e.ow, &rows) &&
         pays(e.c, e.o, e.has_bf16_weights && rows < kRows ? kRows : rows);
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
