// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/ports/ports_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "runtime/device/gpu/service_kernels.h"

#define INGOT_CUDA_PORTS(X)   \
  X(copy_in, PortParams, 256) \
  X(copy_out, PortParams, 256)
