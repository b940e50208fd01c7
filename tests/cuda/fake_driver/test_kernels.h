// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/test_kernels.h - kernels that are no part of the product, which the fake
// driver finds by name as well.
#pragma once
#include <cstdint>

namespace ingot::cuda {

struct TestKernel {
  const char* name;
  uint32_t threads, params_bytes;
  void (*run)(const void* params);
};
/// Null: there is none of that name.
const TestKernel* find_test_kernel(const char* name);

}  // namespace ingot::cuda
