// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/golden/compare.h - two arrays, compared: the largest error, where it is, and
// whether it is within the table.
#pragma once
#include <optional>
#include <string>

#include "tools/diagnose/golden/tolerance.h"
#include "tools/files/npz/npy.h"

namespace ingot::check {

struct CompareOptions {
  double spread = 0;                 // the reference's own, meta.opt_spread
  bool winograd = true;              // the file may hold Winograd weights
  DType stored = DType::kInvalid;    // of the file's weights, where they are smaller than f32
  std::optional<double> rtol, atol;  // given by the user: they replace the table's numbers
};

struct Comparison {
  std::string name;
  bool passed = false;
  std::string problem;  // shape or type mismatch, "" when comparable
  int64_t elements = 0;
  // |actual - expected|; infinity where one is NaN or infinite and the other is not
  double largest_error = 0;
  double largest_expected = 0;  // max |expected| over finite elements
  double allowed = 0;
  int64_t worst_index = -1;  // row-major, of the expected array
  double worst_expected = 0, worst_actual = 0;
  int64_t differing = 0;  // elements beyond what is allowed
};

/// NaN equals NaN, an infinity equals itself. Types must agree, except that f64 may stand for f32
/// and bool for u8.
Comparison compare(const std::string& name, const host::Array& expected, const host::Array& actual,
                   const CompareOptions& options);

/// "output: largest error 1.2e-06 of 0.98 (allowed 9.8e-05) at [0,3]".
std::string summary(const Comparison& c, const std::vector<int64_t>& dims);

/// Element `i` as a double (64-bit integers may round).
double element_as_double(const host::Array& array, int64_t i);

/// Takes every stride-th element of each axis; strides past the rank are ignored.
host::Array subsample(const host::Array& array, const std::vector<int64_t>& strides);

}  // namespace ingot::check
