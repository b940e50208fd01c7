// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/shared_memory.cpp - patterns, guards, banks.
#include "kernels/cuda/emulate/shared_memory.h"

#include <cstring>

#include "kernels/cuda/emulate/emulator.h"

namespace ingot::cuda::emulate {
namespace {

// Unasked, and where a launch asks for more than that: what each from sm_80 on gives a block.
// GpuTraits::shared_bytes has the limit of a GPU, which plans respect.
constexpr uint32_t kUnasked = 48 << 10, kAsked = 99 << 10;
constexpr size_t kAlignment = 128, kGuard = 256;
constexpr unsigned char kPattern = 0xff;  // NaN in every type of floats
constexpr unsigned char kGuardPattern = 0xa5;

void check_size(size_t bytes, uint32_t dynamic) {
  if (bytes > (dynamic > kUnasked ? kAsked : kUnasked))
    fail("more shared memory than every GPU gives a block");
}

}  // namespace

void* SharedMemory::start() const {
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory_.data()) + kAlignment - 1) &
                                 ~(kAlignment - 1));
}
void* SharedMemory::dynamic() { return start(); }

void SharedMemory::begin_launch(uint32_t dynamic_bytes) {
  check_size(dynamic_bytes, dynamic_bytes);
  dynamic_bytes_ = dynamic_bytes;
  bytes_ = dynamic_bytes;
  memory_.resize(kAlignment + dynamic_bytes + kGuard);
  variables_.clear();
}
void SharedMemory::begin_block() {
  std::memset(memory_.data(), kGuardPattern, memory_.size());
  std::memset(start(), kPattern, dynamic_bytes_);
  for (Variable& v : variables_) v.is_made = false;
}
void SharedMemory::end_block() const {
  const unsigned char* const guard = static_cast<const unsigned char*>(start()) + dynamic_bytes_;
  for (const unsigned char* at = guard; at != memory_.data() + memory_.size(); at++)
    if (*at != kGuardPattern) fail("a block wrote behind its shared memory");
}

void SharedMemory::declare(void* at, size_t bytes) {
  Variable* own = nullptr;
  for (Variable& v : variables_)
    if (v.at == at) own = &v;
  if (!own) {
    check_size(bytes_ += bytes, dynamic_bytes_);
    variables_.push_back({at, false});
    own = &variables_.back();
  }
  if (own->is_made) return;
  own->is_made = true;
  std::memset(at, kPattern, bytes);
}

uint64_t bank_conflicts(const void* const* addresses, int count, unsigned bytes) {
  // 128 bytes a pass: 16-byte accesses are served eight lanes at a time, 8-byte ones sixteen.
  const int group = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  uint64_t conflicts = 0;
  for (int first = 0; first < count; first += group) {
    uintptr_t words[32][32];  // that each bank is asked for
    unsigned found[32] = {}, worst = 1;
    for (int i = first; i < first + group && i < count; i++)
      for (unsigned b = 0; b < bytes; b += 4) {
        const uintptr_t word = (reinterpret_cast<uintptr_t>(addresses[i]) + b) / 4,
                        bank = word % 32;
        bool known = false;
        for (unsigned k = 0; k < found[bank]; k++) known = known || words[bank][k] == word;
        if (known || found[bank] == 32) continue;
        words[bank][found[bank]++] = word;
        worst = found[bank] > worst ? found[bank] : worst;
      }
    conflicts += worst - 1;
  }
  return conflicts;
}

}  // namespace ingot::cuda::emulate
