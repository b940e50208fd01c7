// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/emulated_kernels.cpp - one table entry a kernel.
#include "kernels/cuda/emulate/emulated_kernels.h"

#include <cstring>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulator.h"

namespace ingot::cuda {

#define X(name, Params, threads) void ingot_emulated_##name(const Params& p);
INGOT_CUDA_KERNELS(X)
#undef X

namespace emulate {
namespace {

constexpr void (*kBodies[])(const void*) = {
#define X(name, Params, threads) \
  [](const void* params) { ingot_emulated_##name(*static_cast<const Params*>(params)); },
    INGOT_CUDA_KERNELS(X)
#undef X
};

}  // namespace

Status run_launch(const GpuLaunch& l) {
  const GpuKernel& kernel = ingot_cuda_kernel_set.kernels[l.kernel];
  if (l.params_bytes != kernel.params_bytes) fail("a kernel got parameters of another kernel");
  launch({l.grid_x, l.grid_y, l.grid_z}, kernel.threads, l.shared_bytes, kBodies[l.kernel],
         l.params);
  return {};
}

int find_kernel(const char* name) {
  for (size_t i = 0; i < ingot_cuda_kernel_set.kernels.size; i++)
    if (std::strcmp(ingot_cuda_kernel_set.kernels[i].name, name) == 0) return int(i);
  return -1;
}

}  // namespace emulate
}  // namespace ingot::cuda
