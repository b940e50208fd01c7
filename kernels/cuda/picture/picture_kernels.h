// kernels/cuda/picture/picture_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/picture/picture_params.h"

// clang-format off
#define INGOT_CUDA_PICTURE(X)                                                        \
  X(pool2d_1, PoolParams, 128) X(pool2d_4, PoolParams, 128)                          \
  X(resize_positions, ResizeTableParams, 128) X(resize_taps, ResizeTableParams, 128) \
  X(resize_nearest, ResizeParams, 256)                                               \
  X(resize_linear, ResizeParams, 128) X(resize_cubic, ResizeParams, 128)
// clang-format on
