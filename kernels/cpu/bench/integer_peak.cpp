// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/bench/integer_peak.cpp - how many products of bytes a core sums in a nanosecond by
// the instructions of the kernels (kernels/cpu/quantized/dot.inl) with all operands in registers.
// Compiled once for each instruction set: INGOT_PEAK_AVX2 and so on. Prints the number.
#include <chrono>
#include <cstdio>

namespace {

// One step for each of the registers that sums lie in. A dependence is a whole turn away.
#define INGOT_EIGHT(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)
#define INGOT_TWELVE(step) INGOT_EIGHT(step) step(8) step(9) step(10) step(11)
#define INGOT_SIXTEEN(step) INGOT_TWELVE(step) step(12) step(13) step(14) step(15)

#if defined(INGOT_PEAK_AVX2)
// eight products in 16 bits, as where bytes and weights are small enough
constexpr int kProducts = 8 * 128;
#define INGOT_MORE "vpmaddubsw %%ymm14, %%ymm15, %%ymm12\n vpaddw %%ymm12, %%ymm13, %%ymm13\n"
#define INGOT_STEP(i)                                                       \
  "vpmaddubsw %%ymm14, %%ymm15, %%ymm13\n" INGOT_MORE INGOT_MORE INGOT_MORE \
  "vpmaddwd %%ymm14, %%ymm13, %%ymm13\n vpaddd %%ymm13, %%ymm" #i ", %%ymm" #i "\n"
#define INGOT_TURN INGOT_EIGHT(INGOT_STEP)
#elif defined(INGOT_PEAK_AVXVNNI)
constexpr int kProducts = 12 * 32;
#define INGOT_STEP(i) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" #i "\n"
#define INGOT_TURN INGOT_TWELVE(INGOT_STEP)
#elif defined(INGOT_PEAK_AVX512)
constexpr int kProducts = 12 * 32;
#define INGOT_STEP(i) \
  "vpmaddwd %%zmm14, %%zmm15, %%zmm13\n vpaddd %%zmm13, %%zmm" #i ", %%zmm" #i "\n"
#define INGOT_TURN INGOT_TWELVE(INGOT_STEP)
#elif defined(INGOT_PEAK_AVX512VNNI)
constexpr int kProducts = 12 * 64;
#define INGOT_STEP(i) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #i "\n"
#define INGOT_TURN INGOT_TWELVE(INGOT_STEP)
#elif defined(INGOT_PEAK_NEON)
constexpr int kProducts = 16 * 8;
#define INGOT_STEP(i) "smull v28.8h, v30.8b, v31.8b\n sadalp v" #i ".4s, v28.8h\n"
#define INGOT_TURN INGOT_SIXTEEN(INGOT_STEP)
#elif defined(INGOT_PEAK_NEONDOT)
constexpr int kProducts = 16 * 16;
#define INGOT_STEP(i) "sdot v" #i ".4s, v30.16b, v31.16b\n"
#define INGOT_TURN INGOT_SIXTEEN(INGOT_STEP)
#elif defined(INGOT_PEAK_NEONI8MM)
constexpr int kProducts = 16 * 16;
#define INGOT_STEP(i) "usdot v" #i ".4s, v30.16b, v31.16b\n"
#define INGOT_TURN INGOT_SIXTEEN(INGOT_STEP)
#endif

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main() {
  constexpr int kTurns = 20000;
  double best = 0;
  for (int repeat = 0; repeat < 100; repeat++) {
    const double begin = seconds();
    for (int i = 0; i < kTurns; i++)
#if defined(__aarch64__)
      asm volatile(INGOT_TURN
                   :
                   :
                   : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
                     "v12", "v13", "v14", "v15", "v28");
#else
      asm volatile(INGOT_TURN
                   :
                   :
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13");
#endif
    const double rate = double(kTurns) * kProducts / (seconds() - begin) * 1e-9;
    best = rate > best ? rate : best;
  }
  std::printf("%.2f\n", best);
}
