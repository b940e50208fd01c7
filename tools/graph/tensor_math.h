// SPDX-License-Identifier: Apache-2.0
// tools/graph/tensor_math.h - constants as doubles or 64-bit integers, element by element. For
// folding, not for speed.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// The product of the extents.
inline int64_t count_of(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}
bool is_floating(DType dtype);
/// To the nearest value of a floating type, ties to even.
double rounded_to(DType dtype, double value);
uint16_t float_to_half(double value);
uint16_t float_to_bfloat(double value);

double read_number(const Constant& constant, int64_t i);  // any dtype
// integers and bool; floating types truncate
int64_t read_integer(const Constant& constant, int64_t i);
std::vector<double> read_numbers(const Constant& constant);
std::vector<int64_t> read_integers(const Constant& constant);

/// Values are rounded (floating) or wrap (integers) as C++ converts them.
Constant make_floating(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values);
Constant make_integer(DType dtype, std::vector<int64_t> dims, const std::vector<int64_t>& values);
/// One value of any dtype, rank 0.
Constant make_scalar(DType dtype, double value);

/// Row-major strides in elements.
std::vector<int64_t> strides_of(const std::vector<int64_t>& dims);

}  // namespace ingot::graph
