#include "runtime/op/matmul_blocks.h"

namespace ingot::matmul {

Extents extents(const MatMulAttributes& t, const TensorType& a, const TensorType& b) {
  return {a.dims[a.rank - (t.trans_a ? 1 : 2)], a.dims[a.rank - (t.trans_a ? 2 : 1)],
          b.dims[b.rank - (t.trans_b ? 2 : 1)]};
}

int64_t panel_block(const Extents& e) {
  const int64_t all = ceil_div(e.n, kPanel), fit = kPanelBytes / 4 / kPanel / (e.k > 0 ? e.k : 1) / 2 * 2;
  const int64_t block = fit < 2 ? 2 : fit;
  return block < all ? block : round_up(all, 2);
}

bool scratch_elements(const MatMulAttributes& t, const Extents& e, int64_t* panels, int64_t* rows) {
  *rows = 0;
  return checked_mul(panel_block(e) * kPanel, e.k, panels) && (!t.trans_a || checked_mul(kRowBlock, e.k, rows)) &&
         *panels < int64_t{1} << 44 && *rows < int64_t{1} << 44;
}

}  // namespace ingot::matmul
