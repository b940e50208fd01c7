// SPDX-License-Identifier: Apache-2.0
// runtime/device/fake/fake_device.h - two pretended GPUs: memory of their own, of limited size, and
// faults on demand. They compute with the kernels of the CPU, on one thread, in memory that a
// session may reach through upload and download only: it begins with a pattern, so that what nobody
// brought shows, and an address of the host where one of the device belongs is kDeviceFault.
// Threads  the figures are atomic; faults are set by tests, one at a time.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

constexpr int kFakeDevices = 2;
extern const char* const kFakeNames[kFakeDevices];
extern const DeviceInterface kFakeDevice;

constexpr uint8_t kFakePattern = 0xfb;  // -2.6e36 in f32: large, finite, and never right
constexpr int kFakeRanges = 64;         // reservations at a time

struct FakeGpu {
  std::atomic<uint32_t> calls{0};         // of reserve, upload, download, resolve and run
  std::atomic<uint32_t> fail_at_call{0};  // the n-th call from now, 1-based; 0: none
  std::atomic<uint32_t> fail_code{0};     // a Code; kDeviceLost makes every later call fail too
  std::atomic<uint32_t> lost{0};
  std::atomic<uint32_t> reservations{0};  // alive
  std::atomic<uint32_t> reserved_kib{0};  // alive, each rounded up to 1 KiB
  std::atomic<uint32_t> memory_kib{1u << 20};
  std::atomic<uint32_t> uploads{0}, downloads{0}, runs{0};
  struct Range {
    std::atomic<uintptr_t> first{0}, end{0};
  };
  Range ranges[kFakeRanges];  // first 0: free
};
/// @pre 0 <= ordinal < kFakeDevices
FakeGpu& fake_gpu(int ordinal);
/// From now on, the n-th call fails with `code`. n = 0: no fault, and a lost device is back.
void set_fake_fault(int ordinal, uint32_t n, Code code);

}  // namespace ingot
