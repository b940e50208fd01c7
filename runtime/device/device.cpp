// runtime/device/device.cpp - the list of devices.
#include "runtime/device/device.h"

#include <cstring>

#include "runtime/base/os/memory.h"
#include "runtime/device/fake/fake_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/null/null_device.h"

namespace ingot {
namespace {

constexpr const char* kNoCuda = "device: this library was built without CUDA";

}  // namespace

Status fail_on(const Device& device, ErrorDetail* detail, Code code, const char* field, uint64_t need, uint64_t have) {
  const Status status = fail(detail, code, field, need, have);
  if (detail) std::strncpy(detail->name, device.name, sizeof detail->name - 1);
  return status;
}

Status find_device(const char* name, Device* out, ErrorDetail* detail) {
  if (!name || std::strcmp(name, "auto") == 0) {
    *out = {&kHostDevice, "cpu", "auto: cuda is not in this library, and the fake devices are for tests", 0};
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
  const char* field = "device: not a name of one";
  if (std::strncmp(name, "cuda", 4) == 0) field = kNoCuda;
  if (os::kHasPages && std::strncmp(name, "fake", 4) == 0) field = "device: there are two fakes, 0 and 1";
  const Status status = fail(detail, Code::kNoSuchDevice, field);
  if (detail) {
    std::strncpy(detail->name, name, sizeof detail->name - 1);
    detail->hint = "use auto, cpu, null, fake:0 or fake:1";
  }
  return status;
}

bool device_offer(uint32_t index, DeviceOffer* out) {
  static constexpr DeviceOffer kOffers[] = {
      {"cpu", true, "where this runs"},
      {"cuda", false, "this library was built without CUDA"},
      {"fake:0", true, "pretends to be a GPU, for tests; auto never takes it"},
      {"fake:1", true, "pretends to be a second one"},
      {"null", true, "computes nothing: what a session costs by itself"},
  };
  if (index >= sizeof kOffers / sizeof *kOffers) return false;
  *out = kOffers[index];
  return true;
}

}  // namespace ingot
