// SPDX-License-Identifier: Apache-2.0
// runtime/device/device.cpp - the list of devices.
#include "runtime/device/device.h"

#include <cstring>

#include "runtime/base/os/platform.h"
#include "runtime/device/fake/fake_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/null/null_device.h"

namespace ingot {

const BackendRow* find_backend(const char* name) {
  if (!os::kHasOtherDevices) return nullptr;  // firmware links none
  for (const BackendRow* row = kBackends; row->name; row++) {
    const size_t length = std::strlen(row->name);
    if (std::strncmp(name, row->name, length) == 0 && (!name[length] || name[length] == ':'))
      return row;
  }
  return nullptr;
}

Status fail_on(const Device& device, ErrorDetail* detail, Code code, const char* field,
               uint64_t need, uint64_t have) {
  const Status status = fail(detail, code, field, need, have);
  if (detail) std::strncpy(detail->name, device.name, sizeof detail->name - 1);
  return status;
}

Status find_device(const char* name, Device* out, ErrorDetail* detail) {
  if (!name || std::strcmp(name, "auto") == 0) {
    const char* why_not = "auto: this program has no back end but the CPU's";
    for (const BackendRow* row = kBackends; os::kHasOtherDevices && row->name; row++)
      if (row->linked && row->linked->find_best(out, &why_not)) return {};
    *out = {&kHostDevice, "cpu", why_not, 0};
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
  if (const BackendRow* const row = find_backend(name)) {
    if (row->linked) return row->linked->find(name, out, detail);
    field = row->not_linked;
  }
  if (os::kHasOtherDevices && std::strncmp(name, "fake", 4) == 0)
    field = "device: there are two fakes, 0 and 1";
  const Status status = fail(detail, Code::kNoSuchDevice, field);
  if (detail) {
    std::strncpy(detail->name, name, sizeof detail->name - 1);
    detail->hint = kDeviceNames;
  }
  return status;
}

bool device_offer(uint32_t index, DeviceOffer* out) {
  if (index == 0) {
    *out = {"cpu", true, "where this runs"};
    return true;
  }
  index--;
  for (const BackendRow* row = kBackends; row->name; row++) {
    if (row->linked) {
      for (uint32_t i = 0; row->linked->offer(i, out); i++)
        if (index-- == 0) return true;
    } else if (index-- == 0) {
      *out = {row->name, false, row->not_linked + std::strlen("device: ")};
      return true;
    }
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
