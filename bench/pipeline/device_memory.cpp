// SPDX-License-Identifier: Apache-2.0
// bench/pipeline/device_memory.cpp - see device_memory.h.
#include "bench/pipeline/device_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/device/cuda/driver.h"

namespace ingot::bench {
namespace {

class OnCpu : public DeviceMemory {
 public:
  bool is_gpu() const override { return false; }
  void* allocate(uint64_t bytes) override {
    void* at = nullptr;
    if (posix_memalign(&at, 64, size_t(bytes ? bytes : 1))) std::abort();
    return at;
  }
  void release(void* at) override { std::free(at); }
  void upload(void* to, const void* from, uint64_t bytes) override {
    std::memcpy(to, from, size_t(bytes));
  }
  void download(void* to, const void* from, uint64_t bytes) override {
    std::memcpy(to, from, size_t(bytes));
  }
  void* allocate_host(uint64_t bytes) override { return allocate(bytes); }
  void release_host(void* at) override { std::free(at); }
  void round_trip(void*, void*, uint64_t, void*, uint64_t) override {}  // one memory
};

class OnGpu : public DeviceMemory {
 public:
  OnGpu() {
    cuda::DeviceId device = 0;
    check(d_.cuDeviceGet(&device, 0), "cuDeviceGet");
    check(d_.cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
    check(d_.cuCtxPushCurrent_v2(context_), "cuCtxPushCurrent");
    check(d_.cuStreamCreate(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate");
  }
  ~OnGpu() override {
    d_.cuStreamDestroy_v2(stream_);
    d_.cuCtxPopCurrent_v2(&context_);
    d_.cuDevicePrimaryCtxRelease_v2(0);
  }
  bool is_gpu() const override { return true; }
  void* allocate(uint64_t bytes) override {
    cuda::Address at = 0;
    check(d_.cuMemAlloc_v2(&at, size_t(bytes ? bytes : 1)), "cuMemAlloc");
    return reinterpret_cast<void*>(uintptr_t(at));
  }
  void release(void* at) override { check(d_.cuMemFree_v2(address(at)), "cuMemFree"); }
  void upload(void* to, const void* from, uint64_t bytes) override {
    check(d_.cuMemcpyHtoDAsync_v2(address(to), from, size_t(bytes), stream_), "cuMemcpyHtoDAsync");
    wait();
  }
  void download(void* to, const void* from, uint64_t bytes) override {
    check(d_.cuMemcpyDtoHAsync_v2(to, address(from), size_t(bytes), stream_), "cuMemcpyDtoHAsync");
    wait();
  }
  void* allocate_host(uint64_t bytes) override {
    void* at = nullptr;
    check(
        d_.cuMemHostAlloc(&at, size_t(bytes ? bytes : 1), cuda::kHostPortable | cuda::kHostMapped),
        "cuMemHostAlloc");
    return at;
  }
  void release_host(void* at) override { check(d_.cuMemFreeHost(at), "cuMemFreeHost"); }
  void round_trip(void* device, void* host_in, uint64_t in_bytes, void* host_out,
                  uint64_t out_bytes) override {
    char* at = static_cast<char*>(device);
    if (in_bytes)
      check(d_.cuMemcpyHtoDAsync_v2(address(at), host_in, size_t(in_bytes), stream_),
            "cuMemcpyHtoDAsync");
    if (out_bytes)
      check(d_.cuMemcpyDtoHAsync_v2(host_out, address(at + in_bytes), size_t(out_bytes), stream_),
            "cuMemcpyDtoHAsync");
    wait();
  }

 private:
  static cuda::Address address(const void* at) {
    return cuda::Address(reinterpret_cast<uintptr_t>(at));
  }
  void wait() { check(d_.cuStreamSynchronize(stream_), "cuStreamSynchronize"); }
  void check(cuda::Result result, const char* call) {
    if (!result) return;
    std::fprintf(stderr, "pipeline_bench: %s gave %d\n", call, result);
    std::exit(1);
  }

  const cuda::Driver& d_ = cuda::driver();
  cuda::Context context_ = nullptr;
  cuda::Stream stream_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMemory> DeviceMemory::make(const std::string& device, const char** why) {
  if (device == "cpu") return std::make_unique<OnCpu>();
  *why = device == "cuda" ? cuda::driver().problem : "not a device of this program: cpu, cuda";
  if (*why) return nullptr;
  return std::make_unique<OnGpu>();
}

}  // namespace ingot::bench
