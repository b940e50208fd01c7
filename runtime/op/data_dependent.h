// SPDX-License-Identifier: Apache-2.0
// runtime/op/data_dependent.h - operators whose results are as large as the data makes them. Memory
// is planned for the most; the last output is the number found, an i64 scalar that a symbol is
// resolved by. Results are written as if that symbol's extent were that number: dense, with
// nothing between rows. What lies behind them is left as it was.
//
// NonZero   x [...] -> 0 y i64 [rank, n], 1 n. Coordinates of the elements that are not zero (NaN
// is not), in row-major
//           order. n is planned as the elements of x.
// Unique    x [...] -> 0 [y], 1 [first i64 [n]], 2 [inverse i64 [m]], 3 [counts i64 [n]], 4 n. Of
//           the m elements of x (flat), or of its m slices along `axis`: each kind once, with where
//           it comes first, which one each of the m is, and how often. Sorted ascending (slices by
//           their elements in row-major order), else in the order of their first. NaN equals NaN
//           and stands above all numbers. y is [n], or x with n in place of `axis`. n is planned as
//           m.
// NonMaxSuppression
//           0 boxes f32 [B, N, 4], 1 scores f32 [B, C, N], 2 [most per class, i64, one], 3 [iou
//           threshold f32, one],
//           4 [score threshold f32, one] -> 0 y i64 [n, 3] of (batch, class, box), 1 n. For each
//           batch and class in
//           turn boxes by falling score (ties: the lower index first), above the score threshold,
//           that overlap none
//           picked before by more than the iou threshold; what shares no area does not overlap,
//           whatever the
//           threshold. Boxes are two corners in any order, or center, width and height, negative
//           ones of no area.
//           Without input 2 none. n is planned as at most B * C * N; fewer limit what a class may
//           give to n / (B * C).
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

/// The dimension of result `output` whose extent is the number found; -1: none, or another
/// operator. Only that symbol may stand there: with any other extent a reader would see elements
/// that the operator did not write.
int found_axis(OpCode op, const void* attributes, uint32_t output);

struct NonZeroAttributes {};
struct UniqueAttributes {
  uint32_t axis = 0;
  bool flat = true, sorted = true;
};
struct NonMaxSuppressionAttributes {
  bool center_point_box = false;
};
extern const OpContract kNonZeroContract;
extern const OpContract kUniqueContract;
extern const OpContract kNonMaxSuppressionContract;

}  // namespace ingot
