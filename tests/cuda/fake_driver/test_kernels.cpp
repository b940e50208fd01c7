// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/test_kernels.cpp - those of tests/cuda/hardware.
#include "tests/cuda/fake_driver/test_kernels.h"

#include <cstring>

#include "tests/cuda/hardware/fragments.h"

namespace ingot::cuda {

#define X(name, Params, threads) void ingot_emulated_##name(const Params& p);
INGOT_CUDA_FRAGMENTS(X)
#undef X

namespace {

constexpr TestKernel kKernels[] = {
#define X(name, Params, threads)            \
  {"ingot_" #name, threads, sizeof(Params), \
   [](const void* p) { ingot_emulated_##name(*static_cast<const Params*>(p)); }},
    INGOT_CUDA_FRAGMENTS(X)
#undef X
};

}  // namespace

const TestKernel* find_test_kernel(const char* name) {
  for (const TestKernel& kernel : kKernels)
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  return nullptr;
}

}  // namespace ingot::cuda
