// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/hostile.h - what a machine does that nobody rehearsed for, by environment
// variables (fake_driver.h): slow starts, kernels that never end or do nothing, processes that
// cannot be ended.
#pragma once

namespace ingot::cuda {

/// cuInit: FAKE_CUDA_INIT_MS, unless another process has a context (hold_awake()).
void wait_for_start();
/// From a context on: as long as this process lives, others start at once.
void hold_awake();
/// FAKE_CUDA_HANG names the kernel: does not return.
void hang_in(const char* kernel);
/// FAKE_CUDA_WRONG names the kernel: it does nothing.
bool is_wrong(const char* kernel);
/// FAKE_CUDA_RACES: a kernel that starts early does not wait for the one before it.
bool races();

}  // namespace ingot::cuda
