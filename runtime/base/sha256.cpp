// runtime/base/sha256.cpp - the round function with the state in eight words that rotate by renaming.
#include "runtime/base/sha256.h"

#include <cstring>

namespace ingot {
namespace {

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

inline uint32_t rotate(uint32_t x, int bits) { return (x >> bits) | (x << (32 - bits)); }
inline uint32_t load_big(const uint8_t* p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3]);
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      pending_{} {}

void Sha256::compress(const uint8_t* block) {
  uint32_t w[16], v[8];
  for (int i = 0; i < 16; i++) w[i] = load_big(block + 4 * i);
  for (int i = 0; i < 8; i++) v[i] = state_[i];
  for (int t = 0; t < 64; t++) {
    if (t >= 16) {  // the schedule in a ring of sixteen words
      const uint32_t w15 = w[(t - 15) & 15], w2 = w[(t - 2) & 15];
      w[t & 15] += (rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >> 3)) + w[(t - 7) & 15] +
                   (rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >> 10));
    }
    const uint32_t e = v[4], a = v[0];
    const uint32_t t1 =
        v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + kRound[t] + w[t & 15];
    const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    for (int i = 7; i > 0; i--) v[i] = v[i - 1];
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) state_[i] += v[i];
}

void Sha256::update(const void* bytes, size_t count) {
  const uint8_t* p = static_cast<const uint8_t*>(bytes);
  total_bytes_ += count;
  if (pending_bytes_ != 0) {
    const size_t take = count < 64 - pending_bytes_ ? count : 64 - pending_bytes_;
    memcpy(pending_ + pending_bytes_, p, take);
    pending_bytes_ += take, p += take, count -= take;
    if (pending_bytes_ < 64) return;
    compress(pending_);
    pending_bytes_ = 0;
  }
  for (; count >= 64; p += 64, count -= 64) compress(p);
  if (count != 0) memcpy(pending_, p, count);
  pending_bytes_ = count;
}

void Sha256::finish(uint8_t digest[kSha256Bytes]) {
  const uint64_t bits = total_bytes_ * 8;
  pending_[pending_bytes_++] = 0x80;
  if (pending_bytes_ > 56) {
    memset(pending_ + pending_bytes_, 0, 64 - pending_bytes_);
    compress(pending_);
    pending_bytes_ = 0;
  }
  memset(pending_ + pending_bytes_, 0, 56 - pending_bytes_);
  for (int i = 0; i < 8; i++) pending_[56 + i] = uint8_t(bits >> (56 - 8 * i));
  compress(pending_);
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
