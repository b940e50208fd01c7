// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/emulated_kernels.h - the kernels of device code, as functions of the host.
// Tests only.
#pragma once
#include "runtime/device/gpu/kernel_set.h"

namespace ingot::cuda::emulate {

/// Runs a launch to its end.
Status run_launch(const GpuLaunch& launch);
/// Index of a kernel by the name that it has in a module; -1: there is none.
int find_kernel(const char* name);

}  // namespace ingot::cuda::emulate
