// SPDX-License-Identifier: Apache-2.0
// bench/pipeline/device_memory.h - memory where a session computes, as an application without a
// pipeline would take it: malloc and memcpy for the CPU, the driver's allocations and copies for a
// GPU.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace ingot::bench {

class DeviceMemory {
 public:
  /// Null: no such device can be used; `why` says it. Calls that fail end the process.
  static std::unique_ptr<DeviceMemory> make(const std::string& device, const char** why);
  virtual ~DeviceMemory() = default;
  virtual bool is_gpu() const = 0;
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void release(void* at) = 0;
  /// Waited for.
  virtual void upload(void* to, const void* from, uint64_t bytes) = 0;
  virtual void download(void* to, const void* from, uint64_t bytes) = 0;
  /// Memory of the host that copies run at full speed from; of a GPU pinned.
  virtual void* allocate_host(uint64_t bytes) = 0;
  virtual void release_host(void* at) = 0;
  /// Both copies queued, one wait.
  virtual void round_trip(void* device, void* host_in, uint64_t in_bytes, void* host_out,
                          uint64_t out_bytes) = 0;
};

}  // namespace ingot::bench
