// SPDX-License-Identifier: Apache-2.0
// tests/conformance/fences.h - while it lives, AddressSanitizer reports who reads or writes before
// or behind the operands and the scratch of a call: vectors that reach past the end of an array,
// which give the right numbers wherever something readable lies there. Without AddressSanitizer,
// nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

#include "tests/conformance/operand_bytes.h"

#if defined(__SANITIZE_ADDRESS__)
#define INGOT_HAS_FENCES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INGOT_HAS_FENCES 1
#endif
#endif

#if defined(INGOT_HAS_FENCES)
#include <sanitizer/asan_interface.h>
#endif

namespace ingot::conformance {

class Fences {
 public:
  /// @pre `guard` bytes on both sides of each operand, and behind the scratch, are nobody's.
  Fences([[maybe_unused]] const OpArguments& a, [[maybe_unused]] void* scratch,
         [[maybe_unused]] uint64_t scratch_bytes, [[maybe_unused]] size_t guard) {
#if defined(INGOT_HAS_FENCES)
    for (int i = 0; i < a.input_count; i++) note(a.inputs[i]);
    for (int i = 0; i < a.output_count; i++) note(a.outputs[i]);
    for (const auto& [data, bytes] : bytes_) {
      set(static_cast<char*>(data) - guard, guard);
      set(static_cast<char*>(data) + bytes, guard);
    }
    set(static_cast<char*>(scratch) + scratch_bytes, guard);
#endif
  }
  ~Fences() {
#if defined(INGOT_HAS_FENCES)
    for (const auto& [data, bytes] : fences_) __asan_unpoison_memory_region(data, bytes);
#endif
  }
  Fences(const Fences&) = delete;
  Fences& operator=(const Fences&) = delete;

 private:
#if defined(INGOT_HAS_FENCES)
  void note(const TensorView& view) {
    const uint64_t bytes = operand_bytes(view);
    if (!view.data) return;
    uint64_t& most = bytes_[view.data];  // operands that share memory
    most = most < bytes ? bytes : most;
  }
  void set(void* data, size_t bytes) {
    __asan_poison_memory_region(data, bytes);
    fences_[data] = bytes;
  }
  std::map<void*, uint64_t> bytes_;
  std::map<void*, size_t> fences_;
#endif
};

}  // namespace ingot::conformance
