// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv_rules.h - the checks that conv2d, chain, conv_transpose2d, linear and pool2d
// share.
#pragma once
#include "runtime/op/conv_blocks.h"
#include "runtime/op/rules.h"

namespace ingot::conv {

/// Kernels and strides of at least 1, everything at most kMaxExtent.
struct WindowAttributes {
  uint32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left,
      pad_bottom, pad_right;
};
template <class A>
WindowAttributes window_of(const A& t) {
  return {t.kernel_h,   t.kernel_w, t.stride_h, t.stride_w,   t.dilation_h,
          t.dilation_w, t.pad_top,  t.pad_left, t.pad_bottom, t.pad_right};
}
bool check_window(const WindowAttributes& window, Violation* violation);

/// An activation that an epilogue may apply.
bool check_epilogue(const ActivationSpec& activation, Violation* violation);

/// Extent of the output of one dimension; false where the window is larger than the padded image.
bool output_extent(int64_t in, uint32_t before, uint32_t after, uint32_t kernel, uint32_t stride,
                   uint32_t dilation, int64_t* out);

/// Weights of `packing` (or dense), dims as told, sound also with their padding. bias: vector16 or
/// dense [o], may be null.
bool check_weights(const TensorType& w, int operand, Packing packing, const int64_t* dims, int rank,
                   Violation* violation);
bool check_bias(const TensorType* bias, int operand, int64_t o, Violation* violation);

/// Every present operand is f32.
bool check_f32(const OpArguments& arguments, Violation* violation);

}  // namespace ingot::conv
