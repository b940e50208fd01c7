// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/fake_machine.h - the machine that the fake driver pretends to run on, by
// environment variables (fake_driver.h).
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace ingot::cuda {

inline long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
}
/// As the driver's: GPUs by number in the order of CUDA_VISIBLE_DEVICES, up to the first word that
/// is none; all where it is not set.
inline std::vector<int> visible() {
  std::vector<int> devices;
  const long count = std::clamp(number("FAKE_CUDA_DEVICES", 1), 0L, 16L);
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  for (int i = 0; !text && i < count; i++) devices.push_back(i);
  for (char* end; text && *text; text = *end == ',' ? end + 1 : end) {
    const long device = std::strtol(text, &end, 10);
    if (end == text || device < 0 || device >= count) break;
    devices.push_back(int(device));
  }
  return devices;
}
/// "90,61": of the first GPU and of the second; the last number is that of all further ones.
inline long number_of(const char* name, int device, long otherwise) {
  const char* text = std::getenv(name);
  device = visible().at(size_t(device));
  for (const char* comma; text && device > 0 && (comma = std::strchr(text, ',')); device--)
    text = comma + 1;
  return text && *text ? std::strtol(text, nullptr, 10) : otherwise;
}

}  // namespace ingot::cuda
