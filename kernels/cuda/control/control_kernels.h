// kernels/cuda/control/control_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "runtime/op/gpu_kernel.h"

#define INGOT_CUDA_CONTROL(X) X(tell_control, ControlParams, 32)
#define INGOT_CUDA_DECIDING(X) X(decide, DecideParams, 32)
