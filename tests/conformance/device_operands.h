// SPDX-License-Identifier: Apache-2.0
// tests/conformance/device_operands.h - operands of one instruction in device memory between
// guards, for programs that launch kernels through the CUDA driver without a session.
#pragma once
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/conformance/operand_bytes.h"
#include "tests/cuda/bare_gpu.h"

namespace ingot::conformance {

constexpr size_t kDriverGuard = 256;
constexpr uint8_t kDriverPattern = 0xa5;

/// The machine's first GPU; without one that can be used the process ends, as a counted skip.
inline test::BareGpu& gpu() {
  static test::BareGpu* const found = [] {
    const char* why = nullptr;
    test::BareGpu* const one = test::BareGpu::find(&why);
    if (one) return one;
    std::printf("[skip] conformance on a GPU: %s\n", why);
    std::fflush(stdout);
    std::_Exit(77);
  }();
  return *found;
}

/// Device memory with a guard at either end, as far from a multiple of 16 as the contents are on
/// the host.
class Guarded {
 public:
  Guarded(const void* contents, uint64_t bytes)
      : start_(kDriverGuard + reinterpret_cast<uintptr_t>(contents) % 16),
        host_(start_ + bytes + kDriverGuard, kDriverPattern),
        bytes_(bytes) {
    if (contents && bytes) std::memcpy(host_.data() + start_, contents, bytes);
    address_ = gpu().allocate(host_.size());
    gpu().upload(address_, host_.data(), host_.size());
  }
  ~Guarded() { gpu().release(address_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  uint8_t* inside() const { return reinterpret_cast<uint8_t*>(uintptr_t(address_ + start_)); }
  /// What is there now; a guard that changed is a failure of the case, once.
  const uint8_t* fetch() {
    gpu().download(host_.data(), address_, host_.size());
    for (size_t i = 0; i < host_.size(); i++)
      if ((i < start_ || i >= start_ + bytes_) && host_[i] != kDriverPattern) {
        FAIL_CHECK("a kernel wrote " << (i < start_ ? "before" : "behind") << " its operand of "
                                     << bytes_ << " bytes, at " << int64_t(i) - int64_t(start_)
                                     << ": " << int(host_[i]) << " instead of "
                                     << int(kDriverPattern));
        break;
      }
    return host_.data() + start_;
  }

 private:
  size_t start_;
  std::vector<uint8_t> host_;
  uint64_t bytes_;
  cuda::Address address_;
};

/// Operands by the host's address, so that what shares memory there shares it on the device.
class Operands {
 public:
  explicit Operands(const OpArguments& a) {
    for (int i = 0; i < a.input_count; i++) note(a.inputs[i]);
    for (int i = 0; i < a.output_count; i++) note(a.outputs[i]);
    for (const auto& [host, bytes] : bytes_)
      memory_.emplace(std::piecewise_construct, std::forward_as_tuple(host),
                      std::forward_as_tuple(host, bytes));
    for (int i = 0; i < a.input_count; i++) inputs_.push_back(moved(a.inputs[i]));
    for (int i = 0; i < a.output_count; i++) outputs_.push_back(moved(a.outputs[i]));
    arguments_ = a;
    arguments_.inputs = inputs_.data();
    arguments_.outputs = outputs_.data();
  }
  const OpArguments& arguments() const { return arguments_; }
  void fetch() {
    for (auto& [host, memory] : memory_)
      if (bytes_[host]) std::memcpy(host, memory.fetch(), bytes_[host]);
  }

 private:
  void note(const TensorView& view) {
    const uint64_t bytes = operand_bytes(view);
    if (!view.data) return;
    uint64_t& most = bytes_[view.data];
    if (most < bytes) most = bytes;
  }
  TensorView moved(TensorView view) const {
    const auto found = memory_.find(view.data);
    if (found != memory_.end()) view.data = found->second.inside();
    return view;
  }

  std::map<void*, uint64_t> bytes_;
  std::map<void*, Guarded> memory_;
  std::vector<TensorView> inputs_, outputs_;
  OpArguments arguments_;
};

}  // namespace ingot::conformance
