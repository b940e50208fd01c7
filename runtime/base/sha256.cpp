// SPDX-License-Identifier: Apache-2.0
// runtime/base/sha256.cpp - the round function with the state in eight words that rotate by
// renaming, or the processor's own.
#include "runtime/base/sha256.h"

#include <cstring>

#include "runtime/base/sha256_blocks.h"

namespace ingot {
namespace {

inline uint32_t rotate(uint32_t x, int bits) { return (x >> bits) | (x << (32 - bits)); }
inline uint32_t load_big(const uint8_t* p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3]);
}

/// One round; instead of moving eight words on, the caller names them one further each time.
inline void round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f,
                  uint32_t g, uint32_t& h, uint32_t scheduled) {
  const uint32_t t1 =
      h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + scheduled;
  d += t1;
  h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

void compress_block(uint32_t state[8], const uint8_t* block) {
  uint32_t w[16];
  for (int i = 0; i < 16; i++) w[i] = load_big(block + 4 * i);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; t += 16) {
    if (t != 0) {
      for (int i = 0; i < 16; i++) {  // the schedule in a ring of sixteen words
        const uint32_t w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
        w[i] += (rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >> 3)) + w[(i + 9) & 15] +
                (rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >> 10));
      }
    }
    for (int i = 0; i < 16; i += 8) {  // after eight rounds every word has its own name again
      const uint32_t* k = kSha256Rounds + t + i;
      round(a, b, c, d, e, f, g, h, k[0] + w[i]);
      round(h, a, b, c, d, e, f, g, k[1] + w[i + 1]);
      round(g, h, a, b, c, d, e, f, k[2] + w[i + 2]);
      round(f, g, h, a, b, c, d, e, k[3] + w[i + 3]);
      round(e, f, g, h, a, b, c, d, k[4] + w[i + 4]);
      round(d, e, f, g, h, a, b, c, k[5] + w[i + 5]);
      round(c, d, e, f, g, h, a, b, k[6] + w[i + 6]);
      round(b, c, d, e, f, g, h, a, k[7] + w[i + 7]);
    }
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

}  // namespace

void compress_portable(uint32_t state[8], const uint8_t* bytes, size_t blocks) {
  for (; blocks != 0; blocks--, bytes += 64) compress_block(state, bytes);
}

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      pending_{} {}

void Sha256::compress(const uint8_t* bytes, size_t blocks) {
  (has_x86_sha256() ? compress_x86 : compress_portable)(state_, bytes, blocks);
}

void Sha256::update(const void* bytes, size_t count) {
  const uint8_t* p = static_cast<const uint8_t*>(bytes);
  total_bytes_ += count;
  if (pending_bytes_ != 0) {
    const size_t take = count < 64 - pending_bytes_ ? count : 64 - pending_bytes_;
    memcpy(pending_ + pending_bytes_, p, take);
    pending_bytes_ += take, p += take, count -= take;
    if (pending_bytes_ < 64) return;
    compress(pending_, 1);
    pending_bytes_ = 0;
  }
  const size_t whole = count / 64;
  compress(p, whole);
  p += whole * 64, count -= whole * 64;
  if (count != 0) memcpy(pending_, p, count);
  pending_bytes_ = count;
}

void Sha256::finish(uint8_t digest[kSha256Bytes]) {
  const uint64_t bits = total_bytes_ * 8;
  pending_[pending_bytes_++] = 0x80;
  if (pending_bytes_ > 56) {
    memset(pending_ + pending_bytes_, 0, 64 - pending_bytes_);
    compress(pending_, 1);
    pending_bytes_ = 0;
  }
  memset(pending_ + pending_bytes_, 0, 56 - pending_bytes_);
  for (int i = 0; i < 8; i++) pending_[56 + i] = uint8_t(bits >> (56 - 8 * i));
  compress(pending_, 1);
  for (int i = 0; i < 32; i++) digest[i] = uint8_t(state_[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void* bytes, size_t count, uint8_t digest[kSha256Bytes]) {
  Sha256 hash;
  hash.update(bytes, count);
  hash.finish(digest);
}

bool same_digest(const uint8_t a[kSha256Bytes], const uint8_t b[kSha256Bytes]) {
  return memcmp(a, b, kSha256Bytes) == 0;
}

}  // namespace ingot
