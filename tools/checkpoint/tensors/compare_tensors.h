// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/compare_tensors.h - how far two tensors of one shape lie apart.
#pragma once
#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

/// Elements as numbers: complex ones as pairs, booleans as 0 and 1. 8-bit floats are decoded.
std::vector<double> as_numbers(const Tensor& tensor);

struct Distance {
  bool same_bits = false;       // type, shape and bytes
  double largest = 0;           // |a - b|
  double largest_relative = 0;  // |a - b| / max(|a|, |b|), 0 where both are 0
  double mean_relative = 0;
  uint64_t differing = 0;  // elements
  // where just one of the two is NaN or infinite, or they are infinite with other signs
  uint64_t non_finite = 0;
};
/// @pre equal dims.
Distance distance(const Tensor& a, const Tensor& b);

}  // namespace ingot::checkpoint
