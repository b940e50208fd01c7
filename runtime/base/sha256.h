// SPDX-License-Identifier: Apache-2.0
// runtime/base/sha256.h - SHA-256 (FIPS 180-4), no tables beyond the standard's constants.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot {

constexpr size_t kSha256Bytes = 32;

/// Absorbs bytes in any pieces; finish() once, after which the object is spent.
class Sha256 {
 public:
  Sha256();
  void update(const void* bytes, size_t count);
  void finish(uint8_t digest[kSha256Bytes]);

 private:
  void compress(const uint8_t* bytes, size_t blocks);
  uint32_t state_[8];
  uint64_t total_bytes_ = 0;
  uint8_t pending_[64];
  size_t pending_bytes_ = 0;
};

/// The whole in one call.
void sha256(const void* bytes, size_t count, uint8_t digest[kSha256Bytes]);
bool same_digest(const uint8_t a[kSha256Bytes], const uint8_t b[kSha256Bytes]);

}  // namespace ingot
