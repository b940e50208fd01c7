// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_params.h - what the kernels of convolutions take. Strides in elements.
#pragma once
#include "kernels/cuda/gemm/epilogue_params.h"
#include "kernels/cuda/gemm/tile_shape.h"

namespace ingot::cuda {

/// An image as windows see it. Every number is below 2^30, see fits_window() of the plan.
struct WindowParams {
  int h, w, c, ow, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top,
      pad_left;
};

/// y[pixel][o] = epilogue(bias[o] + sum over k = (ky, kx, c) of x * w): convolutions, and rows
/// times panels as images of one pixel. Groups (or the planes of Winograd's products) are
/// independent and step through x, w and y.
struct ConvParams {
  const float *x, *w;            // w: panels of 16 outputs, panel_stride apart
  const float *bias, *residual;  // or null
  float* y;
  int64_t pixels, plane, k, outputs,
      // plane: output pixels of one image; k = kernel_h * kernel_w * c; outputs of a group
      groups;
  int64_t image_stride, row_stride, pixel_stride, channel_stride;  // of x
  int64_t panel_stride, y_stride, residual_stride;
  // from a group to the next; y_group is also that of bias and residual
  int64_t x_group, w_group, y_group;
  WindowParams window;
  EpilogueParams epilogue;
  bool vector_y;  // y and residual may be accessed 16 bytes at a time
  bool is_early;  // w and bias are constant: they may be read before wait_for_launches()
};

/// The same, one output a thread, for what tiles do not suit: a handful of outputs a group, extents
/// past 2^30, addresses that are no multiples of 16. Weight (o, k) of a group is at o / 16 *
/// panel_stride + o % 16 * lane_stride + k * step.
struct ConvEachParams {
  const float *x, *w, *bias, *residual;
  float* y;
  int64_t count;                                 // outputs in all
  int64_t h, width, c, oh, ow, outputs, groups;  // c and outputs of a group
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int64_t image_stride, row_stride, pixel_stride, channel_stride;
  int64_t panel_stride, lane_stride, step, w_group, y_stride, residual_stride;
  EpilogueParams epilogue;
};

/// Dense rows [groups][outputs][k] to panels [groups][outputs / 16, rounded up][k][16], zeros in
/// lanes past the last output.
struct PackPanelsParams {
  const float* from;
  float* to;
  int64_t groups, outputs, k;
};

}  // namespace ingot::cuda
