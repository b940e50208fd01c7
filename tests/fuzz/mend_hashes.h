// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/mend_hashes.h - an .ingot file's size and hashes brought up to date, so that what
// stands in the way is validation.
#pragma once
#include <cstdint>
#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"

namespace ingot::fuzz {

/// Size and hashes as a careful attacker would set them.
inline void mend(uint8_t* p, size_t size) {
  if (size < kHeaderFixedBytes) return;
  store_little<uint64_t>(p + 16, size);
  const uint32_t parts = load_little<uint32_t>(p + 28), header = load_little<uint32_t>(p + 12);
  for (uint32_t i = 0;
       i < parts && kHeaderFixedBytes + size_t(i + 1) * kPartEntryBytes <= size && i < 16; i++) {
    uint8_t* entry = p + kHeaderFixedBytes + size_t(i) * kPartEntryBytes;
    const uint64_t offset = load_little<uint64_t>(entry + 8),
                   count = load_little<uint64_t>(entry + 16);
    if (offset <= size && count <= size - offset) sha256(p + offset, size_t(count), entry + 32);
  }
  memset(p + 32, 0, kSha256Bytes);
  if (header <= size) sha256(p, header, p + 32);
}

}  // namespace ingot::fuzz
