// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/matmul_blocks.h"

namespace ingot::matmul {

Extents extents(const MatMulAttributes& t, const TensorType& a, const TensorType& b) {
  return {a.dims[a.rank - (t.trans_a ? 1 : 2)], a.dims[a.rank - (t.trans_a ? 2 : 1)],
          b.dims[b.rank - (t.trans_b ? 2 : 1)]};
}

int64_t panel_block(const Extents& e) {
  const int64_t all = ceil_div(e.n, kPanel),
                fit = kPanelBytes / 4 / kPanel / (e.k > 0 ? e.k : 1) / 2 * 2;
  const int64_t block = fit < 2 ? 2 : fit;
  return block < all ? block : round_up(all, 2);
}

bool scratch_elements(const MatMulAttributes& t, const Extents& e, int64_t* panels, int64_t* rows) {
  *rows = 0;
  return checked_mul(panel_block(e) * kPanel, e.k, panels) &&
         (!t.trans_a || checked_mul(kRowBlock, e.k, rows)) && *panels < int64_t{1} << 44 &&
         *rows < int64_t{1} << 44;
}

bool scratch_elements_bound(const MatMulAttributes& t, const Extents& e, int64_t* panels,
                            int64_t* rows) {
  // Panels fill a part of the cache whose last column depends on k, or are two when one would not
  // fit; never more than all.
  int64_t all, two;
  const int64_t fit = kPanelBytes / 4;
  *rows = 0;
  if (!checked_mul<int64_t>(round_up(ceil_div(e.n, kPanel), 2) * kPanel, e.k, &all) ||
      !checked_mul<int64_t>(2 * kPanel, e.k, &two) ||
      (t.trans_a && !checked_mul(kRowBlock, e.k, rows)))
    return false;
  *panels = two > fit ? two : fit;
  *panels = *panels < all ? *panels : all;
  return *panels < int64_t{1} << 44 && *rows < int64_t{1} << 44;
}

}  // namespace ingot::matmul
