// runtime/device/device.cpp - the list of devices.
#include "runtime/device/device.h"

#include <cstring>

#include "runtime/base/os/memory.h"
#include "runtime/device/fake/fake_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/null/null_device.h"

namespace ingot {

Status fail_on(const Device& device, ErrorDetail* detail, Code code, const char* field, uint64_t need, uint64_t have) {
  const Status status = fail(detail, code, field, need, have);
  if (detail) std::strncpy(detail->name, device.name, sizeof detail->name - 1);
  return status;
}

Status find_device(const char* name, Device* out, ErrorDetail* detail) {
  if (!name || std::strcmp(name, "auto") == 0) {
    *out = {&kHostDevice, "cpu", "auto: this library has no other device that computes", 0};
    return {};
  }
  if (std::strcmp(name, "cpu") == 0) {
    *out = {&kHostDevice, "cpu", "asked for", 0};
    return {};
  }
  if (os::kHasPages) {  // firmware has neither
    if (std::strcmp(name, "null") == 0) {
      *out = {&kNullDevice, "null", "asked for: computes nothing", 0};
      return {};
    }
    for (int i = 0; i < kFakeDevices; i++) {
      if (std::strcmp(name, kFakeNames[i]) != 0) continue;
      *out = {&kFakeDevice, kFakeNames[i], "asked for: the CPU, with memory of its own and faults on demand", i};
      return {};
    }
  }
  const bool is_cuda = std::strncmp(name, "cuda", 4) == 0;
  const Status status =
      fail(detail, Code::kNoSuchDevice, is_cuda ? "device: this library was built without CUDA" : "device");
  if (detail) {
    std::strncpy(detail->name, name, sizeof detail->name - 1);
    detail->hint = "use auto, cpu, null, fake:0 or fake:1";
  }
  return status;
}

}  // namespace ingot
