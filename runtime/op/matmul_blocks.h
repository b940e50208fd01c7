// SPDX-License-Identifier: Apache-2.0
// runtime/op/matmul_blocks.h - how a product of two activations is cut; contract and kernels call
// the same functions.
#pragma once
#include "runtime/base/checked_math.h"
#include "runtime/op/matmul.h"

namespace ingot::matmul {

// packed panels of b that stay in the L2 cache while rows of a pass
constexpr int64_t kPanelBytes = 256 << 10;
// rows of a transposed a packed at a time: a multiple of 14 and of 6
constexpr int64_t kRowBlock = 42;

/// m, k, n of the last two dimensions, transposition resolved.
struct Extents {
  int64_t m = 0, k = 0, n = 0;
};
Extents extents(const MatMulAttributes& t, const TensorType& a, const TensorType& b);

/// Panels of b packed at a time: an even number, at least two.
int64_t panel_block(const Extents& e);

/// Elements of a thread's scratch: panels, then the packed rows of a. False on overflow.
bool scratch_elements(const MatMulAttributes& t, const Extents& e, int64_t* panels, int64_t* rows);
/// At least scratch_elements() of these extents and of all smaller ones.
bool scratch_elements_bound(const MatMulAttributes& t, const Extents& e, int64_t* panels,
                            int64_t* rows);

}  // namespace ingot::matmul
