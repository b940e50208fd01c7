// SPDX-License-Identifier: Apache-2.0
// runtime/base/sha256_x86.cpp - two rounds an instruction; four times as fast as without.
#include "runtime/base/sha256_blocks.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>

#include <atomic>

namespace ingot {
namespace {

std::atomic<uint32_t> known{0};  // 0 not asked yet, 1 no, 2 yes

bool ask() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  const bool sse = (c & bit_SSSE3) && (c & bit_SSE4_1);
  return sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

}  // namespace

bool has_x86_sha256() {
  uint32_t answer = known.load(std::memory_order_relaxed);
  if (answer == 0) known.store(answer = ask() ? 2 : 1, std::memory_order_relaxed);
  return answer == 2;
}

__attribute__((target("sha,ssse3,sse4.1"))) void compress_x86(uint32_t state[8],
                                                              const uint8_t* bytes, size_t blocks) {
  const __m128i big = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want the words as a b e f and c d g h, the first one highest.
  const __m128i badc =
      _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state)), 0xb1);
  const __m128i hgfe =
      _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4)), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; blocks != 0; blocks--, bytes += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++)
      w[i] =
          _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i)), big);
    for (int t = 0; t < 16; t++) {  // four rounds each
      if (t >= 4) {
        const __m128i w9 = _mm_alignr_epi8(w[(t + 3) & 3], w[(t + 2) & 3], 4);
        w[t & 3] = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(w[t & 3], w[(t + 1) & 3]), w9), w[(t + 3) & 3]);
      }
      const __m128i k = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSha256Rounds + 4 * t));
      const __m128i sum = _mm_add_epi32(w[t & 3], k);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace ingot

#else

namespace ingot {
bool has_x86_sha256() { return false; }
void compress_x86(uint32_t*, const uint8_t*, size_t) {}
}  // namespace ingot
#endif
