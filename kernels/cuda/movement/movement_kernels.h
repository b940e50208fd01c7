// kernels/cuda/movement/movement_kernels.h - X(kernel, parameters, threads of a block)
#pragma once

#define INGOT_CUDA_MOVEMENT(X)
