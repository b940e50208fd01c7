// kernels/cuda/picture/frame_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/picture/frame_params.h"

#define INGOT_CUDA_FRAME(X)           \
  X(frame_bilinear, FrameParams, 256) \
  X(frame_nearest, FrameParams, 256)  \
  X(frame_area, FrameParams, 256)
