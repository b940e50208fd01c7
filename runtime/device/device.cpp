// SPDX-License-Identifier: Apache-2.0
// runtime/device/device.cpp - the list of devices.
#include "runtime/device/device.h"

#include <cstring>

#include "runtime/base/os/platform.h"
#include "runtime/device/fake/fake_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/null/null_device.h"

// Defined by ingot_cuda, which a program links or does not.
extern "C" __attribute__((weak)) const ingot::DeviceBackend ingot_cuda_backend;

namespace ingot {
namespace {

constexpr const char* kNoCuda = "device: this program was linked without CUDA";

}  // namespace

const DeviceBackend* device_backend() { return &ingot_cuda_backend; }

Status fail_on(const Device& device, ErrorDetail* detail, Code code, const char* field,
               uint64_t need, uint64_t have) {
  const Status status = fail(detail, code, field, need, have);
  if (detail) std::strncpy(detail->name, device.name, sizeof detail->name - 1);
  return status;
}

Status find_device(const char* name, Device* out, ErrorDetail* detail) {
  if (!name || std::strcmp(name, "auto") == 0) {
    *out = {&kHostDevice, "cpu", "auto: cuda is not in this program", 0};
    if (device_backend()) {
      const char* why_not = "";
      if (device_backend()->find_best(out, &why_not)) return {};
      *out = {&kHostDevice, "cpu", why_not, 0};
    }
    return {};
  }
  if (std::strcmp(name, "cpu") == 0) {
    *out = {&kHostDevice, "cpu", "asked for", 0};
    return {};
  }
  if (os::kHasOtherDevices) {  // firmware has neither
    if (std::strcmp(name, "null") == 0) {
      *out = {&kNullDevice, "null", "asked for: computes nothing", 0};
      return {};
    }
    for (int i = 0; i < kFakeDevices; i++) {
      if (std::strcmp(name, kFakeNames[i]) != 0) continue;
      *out = {&kFakeDevice, kFakeNames[i],
              "asked for: the CPU, with memory of its own and faults on demand", i};
      return {};
    }
  }
  const char* field = "device: not a name of one";
  if (std::strncmp(name, "cuda", 4) == 0) {
    if (device_backend()) return device_backend()->find(name, out, detail);
    field = kNoCuda;
  }
  if (os::kHasOtherDevices && std::strncmp(name, "fake", 4) == 0)
    field = "device: there are two fakes, 0 and 1";
  const Status status = fail(detail, Code::kNoSuchDevice, field);
  if (detail) {
    std::strncpy(detail->name, name, sizeof detail->name - 1);
    detail->hint = "use auto, cpu, cuda or cuda:1";
  }
  return status;
}

bool device_offer(uint32_t index, DeviceOffer* out) {
  if (index == 0) {
    *out = {"cpu", true, "where this runs"};
    return true;
  }
  index--;
  if (device_backend()) {
    uint32_t count = 0;
    while (device_backend()->offer(count, out)) {
      if (count == index) return true;
      count++;
    }
    index -= count;
  } else if (index-- == 0) {
    *out = {"cuda", false, "this program was linked without CUDA"};
    return true;
  }
  static constexpr DeviceOffer kOffers[] = {
      {"fake:0", true, "pretends to be a GPU, for tests; auto never takes it"},
      {"fake:1", true, "pretends to be a second one"},
      {"null", true, "computes nothing: what a session costs by itself"},
  };
  if (index >= sizeof kOffers / sizeof *kOffers) return false;
  *out = kOffers[index];
  return true;
}

}  // namespace ingot
