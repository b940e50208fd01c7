// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv_stage.h - one convolution as conv2d and each stage of a chain see it.
#pragma once
#include "runtime/op/conv_rules.h"

namespace ingot::conv {

/// Validates attributes, weights and bias against the image's extents (n, h, w, c given), and sets
/// oh, ow and o.
bool check_stage(const Conv2dAttributes& t, const TensorType& w, int w_operand,
                 const TensorType* bias, int bias_operand, Extents* extents, Violation* violation);

/// Scratch of conv2d for every team of 1 .. `threads`; false on overflow. Zero where the output is
/// empty.
bool conv2d_scratch(const Conv2dAttributes& t, const Extents& e, int threads, ScratchNeed* need);

}  // namespace ingot::conv
