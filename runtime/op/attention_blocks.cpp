// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/attention_blocks.h"

namespace ingot::attention {

Heads heads_of(const TensorType& t, int64_t heads) {
  Heads h;
  h.batch = t.dims[0], h.token_stride = t.row_stride;
  if (t.rank == 3) {
    h.length = t.dims[1], h.dim = t.dims[2] / heads;
    h.head_stride = h.dim, h.batch_stride = h.length * t.row_stride;
  } else {
    h.length = t.dims[2], h.dim = t.dims[3];
    h.head_stride = h.length * t.row_stride, h.batch_stride = heads * h.head_stride;
  }
  if (t.dtype == DType::kU8) h.dim = h.dim / kScaledBytes * kScaledUnit;
  return h;
}

Scratch scratch_of(int64_t rows, int64_t keys, int64_t dim, int64_t value_dim) {
  Scratch s;
  const int64_t columns = round_up(value_dim, kPanel);
  s.keys = round_up(keys < kKeyBlock ? keys : kKeyBlock, kPanel);
  s.chunk = rows < kChunkRows ? rows : kChunkRows;
  s.scores_stride = s.keys + kPanel, s.sums_stride = columns;
  const auto take = [&s](int64_t floats) {
    const int64_t at = s.total;
    s.total += round_up(floats, kPanel);
    return at;
  };
  s.key_panels = take(s.keys * dim);
  s.value_panels = take(s.keys * columns);
  s.scores = take(kTileRows * s.scores_stride);
  s.queries = take(kTileRows * dim);
  s.sums = take(kTileRows * columns);
  s.lanes = take((s.chunk + kPanel) * kPanel);
  s.maxima = take(s.chunk + kPanel);
  s.corrections = take(kPanel);
  s.mask = take(s.keys);
  return s;
}

}  // namespace ingot::attention
