// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/resize/resize_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/resize/resize_params.h"

// clang-format off
#define INGOT_CUDA_RESIZE(X)                                                         \
  X(resize_positions, ResizeTableParams, 128) X(resize_taps, ResizeTableParams, 128) \
  X(resize_nearest, ResizeParams, 256)                                               \
  X(resize_linear, ResizeParams, 128) X(resize_cubic, ResizeParams, 128)             \
  X(grid_sample_nearest, GridSampleParams, 128)                                      \
  X(grid_sample_1, GridSampleParams, 128) X(grid_sample_4, GridSampleParams, 128)    \
  X(roi_align_1, RoiAlignParams, 128) X(roi_align_4, RoiAlignParams, 128)
// clang-format on
