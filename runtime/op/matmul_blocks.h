// runtime/op/matmul_blocks.h - how a product of two activations is cut; contract and kernels read the same functions.
#pragma once
#include "runtime/base/checked_math.h"
#include "runtime/op/matmul.h"

namespace ingot::matmul {

constexpr int64_t kPanelBytes = 256 << 10;  // packed panels of b that stay in the L2 cache while rows of a pass
constexpr int64_t kRowBlock = 42;           // rows of a transposed a packed at a time: a multiple of 14 and of 6

/// m, k, n of the last two dimensions, transposition resolved.
struct Extents {
  int64_t m = 0, k = 0, n = 0;
};
inline Extents extents(const MatMulAttributes& t, const TensorType& a, const TensorType& b) {
  return {a.dims[a.rank - (t.trans_a ? 1 : 2)], a.dims[a.rank - (t.trans_a ? 2 : 1)], b.dims[b.rank - (t.trans_b ? 2 : 1)]};
}

/// Panels of b packed at a time: an even number, at least two.
inline int64_t panel_block(const Extents& e) {
  const int64_t all = ceil_div(e.n, kPanel), fit = kPanelBytes / 4 / kPanel / (e.k > 0 ? e.k : 1) / 2 * 2;
  const int64_t block = fit < 2 ? 2 : fit;
  return block < all ? block : round_up(all, 2);
}
/// Elements of a thread's scratch: panels, then the packed rows of a. False on overflow.
inline bool scratch_elements(const MatMulAttributes& t, const Extents& e, int64_t* panels, int64_t* rows) {
  *rows = 0;
  return checked_mul(panel_block(e) * kPanel, e.k, panels) && (!t.trans_a || checked_mul(kRowBlock, e.k, rows)) &&
         *panels < int64_t{1} << 44 && *rows < int64_t{1} << 44;
}

}  // namespace ingot::matmul
