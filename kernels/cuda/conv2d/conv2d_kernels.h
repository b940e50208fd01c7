// kernels/cuda/conv2d/conv2d_kernels.h - X(kernel, parameters, threads of a block)
#pragma once

#define INGOT_CUDA_CONV2D(X)
