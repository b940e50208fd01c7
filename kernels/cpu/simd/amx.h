// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/amx.h - tiles of AMX, 16 rows of 64 bytes at most, as all products have them:
//
//   tmm0 tmm1   sums of the first tile of rows by both panels
//   tmm2 tmm3   of the second
//   tmm4 tmm5   a step of both tiles
//   tmm6 tmm7   a step of both panels
//
// Instructions are written as asm: intrinsics do not tell every compiler that tiles read memory.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "kernels/cpu/simd/tiles.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kAmxRows = 16, kAmxBytes = 64;

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

/// The shapes of a thread's tiles. They are released with the object, since a system saves what is
/// in use.
class AmxTiles {
 public:
  AmxTiles() = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles() { asm volatile("tilerelease" ::: "memory"); }

  /// Rows of both tiles, 0: there is no second; bytes of a step, a multiple of 4. What tiles hold
  /// is lost where anything changes.
  INGOT_INLINE void shape(int64_t first, int64_t second, int64_t bytes) {
    if (first != rows_[0] || second != rows_[1] || bytes != bytes_) set(first, second, bytes);
  }

 private:
  /// Tiles without rows are not used.
  void set(int64_t first, int64_t second, int64_t bytes) {
    struct alignas(64) {
      uint8_t palette, start_row, reserved[14];
      uint16_t bytes[16];
      uint8_t rows[16];
    } shapes = {};
    shapes.palette = 1;
    const int64_t rows[8] = {first, first, second, second, first, second, bytes / 4, bytes / 4};
    for (int i = 0; i < 8; i++) {
      const bool is_step = i == 4 || i == 5;
      shapes.rows[i] = uint8_t(rows[i]);
      shapes.bytes[i] = uint16_t(rows[i] == 0 ? 0 : is_step ? bytes : kAmxBytes);
    }
    asm volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
    rows_[0] = first, rows_[1] = second, bytes_ = bytes;
  }
  int64_t rows_[2] = {0, 0}, bytes_ = 0;
};

}  // namespace
}  // namespace ingot::cpu
