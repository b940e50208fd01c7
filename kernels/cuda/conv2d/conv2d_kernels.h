// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_kernels.h - X(kernel, parameters, threads of a block). _any: channels
// and addresses of any alignment. depthwise_f16: x is f16.
#pragma once
#include "kernels/cuda/conv2d/conv2d_params.h"
#include "kernels/cuda/conv2d/depthwise_params.h"
#include "kernels/cuda/conv2d/winograd_params.h"

#define INGOT_CUDA_CONV2D(X)                                             \
  X(conv2d_large, ConvParams, LargeTile::kThreads)                       \
  X(conv2d_square, ConvParams, SquareTile::kThreads)                     \
  X(conv2d_narrow, ConvParams, NarrowTile::kThreads)                     \
  X(conv2d_thin, ConvParams, ThinTile::kThreads)                         \
  X(conv2d_small, ConvParams, SmallTile::kThreads)                       \
  X(conv2d_large_any, ConvParams, LargeTile::kThreads)                   \
  X(conv2d_narrow_any, ConvParams, NarrowTile::kThreads)                 \
  X(conv2d_thin_any, ConvParams, ThinTile::kThreads)                     \
  X(conv2d_small_any, ConvParams, SmallTile::kThreads)                   \
  X(conv2d_each, ConvEachParams, 128)                                    \
  X(pack_panels, PackPanelsParams, 256)                                  \
  X(depthwise_3x3, DepthwiseParams, 128)                                 \
  X(depthwise_3x3_stride2, DepthwiseParams, 128)                         \
  X(depthwise_5x5, DepthwiseParams, 128)                                 \
  X(depthwise_5x5_stride2, DepthwiseParams, 128)                         \
  X(depthwise_f16_3x3, DepthwiseParams, 128)                             \
  X(depthwise_f16_3x3_stride2, DepthwiseParams, 128)                     \
  X(depthwise_f16_5x5, DepthwiseParams, 128)                             \
  X(depthwise_f16_5x5_stride2, DepthwiseParams, 128)                     \
  X(depthwise_f16_any, DepthwiseParams, 128)                             \
  X(depthwise_any, DepthwiseParams, 128)                                 \
  X(depthwise_pointwise, DepthwisePointwiseParams, NarrowTile::kThreads) \
  X(winograd_input, WinogradInputParams, 128)                            \
  X(winograd_output, WinogradOutputParams, 128)
