// SPDX-License-Identifier: Apache-2.0
// tools/files/digest_text.h - a SHA-256 in hexadecimal.
#pragma once
#include <string>

#include "runtime/base/sha256.h"

namespace ingot::host {

/// Of kSha256Bytes bytes.
inline std::string digest_text(const uint8_t* digest) {
  std::string text;
  for (size_t i = 0; i < kSha256Bytes; i++)
    for (const int half : {digest[i] >> 4, digest[i] & 15}) text += "0123456789abcdef"[half];
  return text;
}
/// Ends the hash.
inline std::string digest_text(Sha256* hash) {
  uint8_t digest[kSha256Bytes];
  hash->finish(digest);
  return digest_text(digest);
}

}  // namespace ingot::host
