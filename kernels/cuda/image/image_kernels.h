// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/image/image_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/image/image_params.h"

#define INGOT_CUDA_IMAGE(X)           \
  X(frame_bilinear, FrameParams, 256) \
  X(frame_nearest, FrameParams, 256)  \
  X(frame_area, FrameParams, 256)
