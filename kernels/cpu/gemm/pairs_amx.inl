// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/pairs_amx.inl - products of bf16 by AMX: two tiles of rows times two panels.
//
//   tmm0 tmm1   sums of the first tile of rows by both panels
//   tmm2 tmm3   of the second
//   tmm4 tmm5   a step of both tiles
//   tmm6 tmm7   a step of both panels
//
// The shapes of tiles are state of the thread. They are released when the product is done, since
// a system saves what is in use. Instructions are written as asm: intrinsics do not tell every
// compiler that tiles read memory.
#pragma once
#include "kernels/cpu/gemm/pairs_gemm.inl"
#include "kernels/cpu/simd/tiles.h"

namespace ingot::cpu {
namespace {

/// 16 rows of 64 bytes, or as many as the tile has.
template <int tile>
INGOT_INLINE void load_tile(const void* from, int64_t stride_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride_bytes), "i"(tile)
               : "memory");
}
template <int tile>
INGOT_INLINE void store_tile(void* to, int64_t stride_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride_bytes), "i"(tile) : "memory");
}
template <int sums, int a, int b>
INGOT_INLINE void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b) : "memory");
}

constexpr int kLinesAhead = 8;  // fetched with each step; what two tiles of 49 rows need is 16

template <int tiles, int panels>
void amx_tiles(const PairTile& t) {
  constexpr bool kTwo = tiles == 2, kBoth = panels == 2;
  constexpr int64_t kLine = kPairStep * sizeof(uint16_t);
  load_tile<0>(t.bias, 0);
  if constexpr (kBoth) load_tile<1>(t.bias + kPanel, 0);
  if constexpr (kTwo) load_tile<2>(t.bias, 0);
  if constexpr (kTwo && kBoth) load_tile<3>(t.bias + kPanel, 0);
  const uint16_t *a = t.a[0], *second = t.a[1], *b = t.b;
  const int64_t step = t.rows[0] * kPairStep, second_step = t.rows[1] * kPairStep;
  const char* ahead = t.ahead;
  for (int64_t i = t.steps; i > 0; i--) {
    INGOT_UNROLL
    for (int l = 0; l < kLinesAhead; l++) _mm_prefetch(ahead + 64 * l, _MM_HINT_T1);
    ahead += t.ahead_bytes;
    load_tile<4>(a, kLine), load_tile<6>(b, kLine), multiply_tiles<0, 4, 6>();
    if constexpr (kBoth) load_tile<7>(b + t.panel_elements, kLine), multiply_tiles<1, 4, 7>();
    if constexpr (kTwo) load_tile<5>(second, kLine), multiply_tiles<2, 5, 6>();
    if constexpr (kTwo && kBoth) multiply_tiles<3, 5, 7>();
    a += step, second += second_step, b += kPairStep * kPanel;
  }
  const int64_t stride = t.stride * int64_t{sizeof(float)};
  float* const second_to = t.to + t.rows[0] * t.stride;
  store_tile<0>(t.to, stride);
  if constexpr (kBoth) store_tile<1>(t.to + kPanel, stride);
  if constexpr (kTwo) store_tile<2>(second_to, stride);
  if constexpr (kTwo && kBoth) store_tile<3>(second_to + kPanel, stride);
}

class AmxFormat : public PairFormat {
 public:
  AmxFormat() = default;
  AmxFormat(const AmxFormat&) = delete;
  AmxFormat& operator=(const AmxFormat&) = delete;
  ~AmxFormat() { asm volatile("tilerelease" ::: "memory"); }
  static bool may_run() { return may_use_tiles(); }

  INGOT_INLINE void multiply(const PairTile& t) {
    if (t.rows[0] != rows_[0] || t.rows[1] != rows_[1]) shape(t.rows[0], t.rows[1]);
    if (t.rows[1])
      t.panels == 2 ? amx_tiles<2, 2>(t) : amx_tiles<2, 1>(t);
    else
      t.panels == 2 ? amx_tiles<1, 2>(t) : amx_tiles<1, 1>(t);
  }

 private:
  /// Columns are 64 bytes everywhere; tiles without rows are not used.
  void shape(int64_t first, int64_t second) {
    struct alignas(64) {
      uint8_t palette, start_row, reserved[14];
      uint16_t bytes[16];
      uint8_t rows[16];
    } shapes = {};
    shapes.palette = 1;
    const int64_t rows[8] = {first, first, second, second, first, second, 16, 16};
    for (int i = 0; i < 8; i++)
      shapes.rows[i] = uint8_t(rows[i]), shapes.bytes[i] = rows[i] ? 64 : 0;
    asm volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
    rows_[0] = first, rows_[1] = second;
  }
  int64_t rows_[2] = {0, 0};
};

}  // namespace
}  // namespace ingot::cpu
