// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/graph/measure.h - how far one tensor is from what it should be, element by
// element, in double.
#pragma once
#include <optional>
#include <string>

#include "tools/diagnose/reference/evaluator.h"
#include "tools/files/npz/npy.h"

namespace ingot::compare {

using reference::Tensor;

/// What counts as equal: |difference| <= relative * max|expected| + absolute + floor. The table of
/// tools/diagnose/golden when unset.
struct Limits {
  std::optional<double> rtol, atol;
  bool winograd = true;
  DType stored = DType::kInvalid;  // of the file's weights, where they are smaller than f32
};

struct Measure {
  bool passed = true;
  bool same_dims = true;
  double error = 0;    // largest |found - expected|; infinite where only one is NaN or infinite
  double largest = 0;  // max |expected| over finite elements
  double allowed = 0;
  int64_t worst = -1;              // row-major
  double expected = 0, found = 0;  // there
  int64_t differing = 0, elements = 0;
  /// error / allowed, in [0, 1e9]: 1 is the limit.
  double ratio() const;
};

/// `floor` is what rounding of the operands alone may cost, in absolute numbers; 0: nothing.
Measure measure(const Tensor& expected, const Tensor& found, DType dtype, const Limits& limits,
                double floor = 0);
/// "off by 0.31 of 2.4 (allowed 0.00024) at [0,3]: expected 1.2, found 0.9; 12 of 640 elements".
std::string text(const Measure& m, const std::vector<int64_t>& dims);

/// Largest |x| over finite elements.
double magnitude(const Tensor& t);
Tensor to_tensor(const host::Array& array);
/// Rounded to `dtype`; integers are clamped to nothing, they are expected to fit.
host::Array to_array(const Tensor& tensor, DType dtype, const std::string& name);
/// From channels last back to the source's order.
Tensor channels_second(const Tensor& x);
/// Every element as the type would store it.
void round_to(DType dtype, Tensor* tensor);

}  // namespace ingot::compare
