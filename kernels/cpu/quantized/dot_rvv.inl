// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dot_rvv.inl - struct Dot of dot.inl for the vector extension of RISC-V,
// which multiplies vectors of 16 bits into sums of 32.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/rvv.h"

namespace ingot::cpu {
namespace {

struct Dot {
  static constexpr int kRows = 4, kPanels = 1, kTall = 4, kWide = 1, kChunks = 2;
  static constexpr int kGroups = 1;
  static constexpr bool kWidens = false, kSigned = false;
  static constexpr int64_t kShortWindow = 0;
  static constexpr bool kPacksFour = false, kFinishesBytes = false;
  typedef int16_t Halves __attribute__((vector_size(2 * V::kLanes)));
  struct A {
    V::I low, high;  // outputs 0 .. 7, 8 .. 15
  };
  /// What each of the four bytes of a pixel is multiplied by, for both halves of the outputs.
  struct W {
    Halves bytes[4][2];
  };
  using X = const uint8_t*;
  static INGOT_INLINE A start(const int32_t* bias) { return {V::iload(bias), V::iload(bias + 8)}; }
  static INGOT_INLINE void finish(const A& a, const int32_t*, V::I (&out)[2]) {
    out[0] = a.low, out[1] = a.high;
  }
  static INGOT_INLINE W weights(const int8_t* p) {
    W w;
    INGOT_UNROLL for (int half = 0; half < 2; half++) {
      const V::I four = V::read<V::I>(p + 32 * half);
      w.bytes[0][half] = narrow(V::isar<24>(V::ishl<24>(four)));
      w.bytes[1][half] = narrow(V::isar<24>(V::ishl<16>(four)));
      w.bytes[2][half] = narrow(V::isar<24>(V::ishl<8>(four)));
      w.bytes[3][half] = narrow(V::isar<24>(four));
    }
    return w;
  }
  static INGOT_INLINE Halves narrow(V::I v) { return __builtin_convertvector(v, Halves); }
  static INGOT_INLINE X bytes(const uint8_t* p) { return p; }
  static INGOT_INLINE V::I product(Halves a, Halves b) {
    return __builtin_convertvector(a, V::I) * __builtin_convertvector(b, V::I);
  }
  static INGOT_INLINE void dot(A& a, X x, const W& w) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      const Halves byte = int16_t(x[i]) - Halves{};
      a.low = V::iadd(a.low, product(byte, w.bytes[i][0]));
      a.high = V::iadd(a.high, product(byte, w.bytes[i][1]));
    }
  }
  static INGOT_INLINE void dot_pair(V::I (&sums)[2], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    INGOT_UNROLL for (int i = 0; i < 2; i++) {
      const V::I both = V::read<V::I>(pair + 16 * i);
      const Halves x = __builtin_convertvector(V::read<V::Bytes>(a + 8 * i), Halves),
                   y = __builtin_convertvector(V::read<V::Bytes>(b + 8 * i), Halves);
      sums[i] = V::iadd(sums[i], product(x, narrow(V::isar<16>(V::ishl<16>(both)))));
      sums[i] = V::iadd(sums[i], product(y, narrow(V::isar<16>(both))));
    }
  }
  static INGOT_INLINE void store(uint8_t* p, const V::I (&v)[2], int64_t n) {
    uint8_t all[16];
    V::istore_u8(all, v[0]), V::istore_u8(all + 8, v[1]);
    if (n >= 16) return V::write(p, V::read<Sixteen>(all));
    std::memcpy(p, all, size_t(n));
  }
  typedef uint8_t Sixteen __attribute__((vector_size(16)));
};

}  // namespace
}  // namespace ingot::cpu
