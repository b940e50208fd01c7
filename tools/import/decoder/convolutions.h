// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/convolutions.h - convolutions of each column along the tokens, the newest
// the last, and layers that have one between two gates in place of attention: of x they make B, C
// and v; B * v is convolved, and times C.
//
// What a run needs of those before it are its last length - 1 rows of what is convolved.
#pragma once
#include <vector>

#include "tools/import/decoder/snapshots.h"

namespace ingot::decoder {

class Convolutions : protected Snapshots {
 public:
  using Snapshots::Snapshots;

 protected:
  /// [T, width], in front of the last product.
  ValueId convolution(ValueId x, int64_t i) {
    const int64_t width = n_.width;
    const ValueId all =
        product(x, weights_.matrix(Role::kConvolutionIn, i, 3 * width, width),
                weights_.bias(Role::kConvolutionIn, i, 3 * width, n_.has_convolution_bias));
    const auto third = [&](int64_t k) {
      return b_.slice(all, 1, Dim(k * width), Dim((k + 1) * width));
    };
    const ValueId in = b_.emit(op::Mul, {third(0), third(2)});
    return b_.emit(op::Mul, {third(1), convolved(in, Role::kConvolution, i, width)});
  }
  ValueId convolution_out(ValueId x, int64_t i) {
    return product(x, weights_.matrix(Role::kConvolutionOut, i, n_.width, n_.width),
                   weights_.bias(Role::kConvolutionOut, i, n_.width, n_.has_convolution_bias));
  }

  /// x [T, width] along the tokens. `order`: of the columns, as rows of weights lie.
  ValueId convolved(ValueId x, Role role, int64_t i, int64_t width, const Order& order = {}) {
    const std::vector<ValueId> shifted = behind(x, i, width);
    const ValueId taps = weights_.taps(role, i, width, n_.convolution, order);
    ValueId sum = kAbsent;
    for (size_t k = 0; k < shifted.size(); k++) {
      const ValueId tap = b_.slice(taps, 0, Dim(int64_t(k)), Dim(int64_t(k) + 1)),
                    term = b_.emit(op::Mul, {shifted[k], tap});
      sum = k ? b_.emit(op::Add, {sum, term}) : term;
    }
    const ValueId added = weights_.bias(role, i, width, n_.has_convolution_bias, order);
    return added == kAbsent ? sum : b_.emit(op::Add, {sum, added});
  }
};

}  // namespace ingot::decoder
