// SPDX-License-Identifier: Apache-2.0
// tests/checkpoint/support.h - what the tests of readers share.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"

namespace ingot::test {

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> values_of(const checkpoint::Tensor& tensor) {
  const std::vector<uint8_t> bytes = checkpoint::tensor_bytes(tensor);
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

inline const checkpoint::Tensor* find(const checkpoint::Checkpoint& c, const std::string& name) {
  for (const checkpoint::Tensor& t : c.tensors)
    if (checkpoint::path_text(t.path) == name) return &t;
  return nullptr;
}

template <class Work>
host::Exit exit_of(Work work) {
  try {
    work();
  } catch (const host::Failure& failure) {
    return failure.exit();
  }
  return host::Exit::kOk;
}

/// Opens every prefix of `whole` and every copy with one bit changed, and reads all that is found.
/// Counts what was refused; anything but data or a refusal of the file's own kind fails the
/// caller's check.
template <class Open>
size_t damaged_and_refused(const std::string& whole, const std::string& path, Open open) {
  size_t refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    write_file(path, bytes);
    const host::Exit exit = exit_of([&] {
      const checkpoint::Checkpoint c = open(path);
      for (const checkpoint::Tensor& t : c.tensors) (void)checkpoint::tensor_bytes(t);
    });
    if (exit == host::Exit::kInternal || exit == host::Exit::kUsage) return false;
    refused += exit != host::Exit::kOk;
    return true;
  };
  for (size_t cut = 1; cut < whole.size(); cut++)
    if (!attempt(whole.substr(0, cut))) return 0;
  for (size_t i = 0; i < whole.size(); i++) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[i] = char(changed[i] ^ (1 << bit));
      if (!attempt(changed)) return 0;
    }
  }
  return refused;
}

}  // namespace ingot::test
