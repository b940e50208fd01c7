// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/control/control_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "runtime/device/gpu/service_kernels.h"

#define INGOT_CUDA_CONTROL(X) X(publish_condition, ControlParams, 32)
#define INGOT_CUDA_DECIDING(X) X(decide, DecideParams, 32)
