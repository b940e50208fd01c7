// SPDX-License-Identifier: Apache-2.0
// tests/cuda/bare_gpu.h - memory and launches on the first GPU through the driver, for tests that
// have no session. Each failure of the driver ends the process, with the kernels that ran last:
// after one nothing that a GPU says can be believed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/cuda/gpu.h"

namespace ingot::test {

class BareGpu {
 public:
  /// Null without a GPU that can be used; `why` says what is missing. Held until the process ends.
  static BareGpu* find(const char** why);

  const GpuTraits& traits() const { return traits_; }
  const cuda::GpuFacts& facts() const { return cuda::gpu_facts(0); }

  cuda::Address allocate(uint64_t bytes);
  void release(cuda::Address address);
  void upload(cuda::Address to, const void* from, uint64_t bytes);
  void download(void* to, cuda::Address from, uint64_t bytes);

  /// Kernels of this build by their index, or one of a module that the caller loaded.
  void add(const GpuLaunch& launch);
  void add(cuda::Function function, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
           const void* params, size_t params_bytes);
  cuda::Function load(const void* image, const char* kernel);
  /// Runs what was added, one behind the other, as one graph, and waits.
  void run();
  /// "ingot_softmax grid 8x1x1, ...": what run() ran last.
  const std::string& last_run() const { return last_run_; }

 private:
  struct Node {
    cuda::KernelNodeParams node;
    std::vector<uint8_t> params;
    const char* kernel;
  };

  BareGpu();

  Device device_;
  cuda::Gpu gpu_{};
  cuda::Stream stream_ = nullptr;
  GpuTraits traits_;
  std::vector<Node> nodes_;
  std::string last_run_;
};

}  // namespace ingot::test
