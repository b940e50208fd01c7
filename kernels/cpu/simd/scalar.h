// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/scalar.h - struct V with one lane: the bit-for-bit twin of every instruction
// set, and firmware's choice.
//
// The contract of struct V, the same in avx2.h, avx512.h and neon.h. Kernels are templates over it,
// without intrinsics.
//   F, I, M      kLanes floats, kLanes int32, kLanes truth values.
//   *_partial    the first n lanes, 0 <= n <= kLanes; memory past n is never touched, lanes past n
//                load as zero.
//   load_u8      kLanes bytes as floats.
//   load_i8      the same of signed bytes.
//   load_f16     kLanes of f16, widened; store_f16: to nearest, ties to even. @pre no lane is NaN
//   load_bf16    the same of bf16.
//   load_words   4 * kLanes bytes as int32, the lowest first. nibble<i>: bits 4i .. 4i + 3 of each,
//                in two's complement, as floats.
//   gather       p[at] for each lane.
//   fma          a * b + c, rounded once (twice: sse2.h).
//   max, min     a > b ? a : b and a < b ? a : b: the second when either is NaN or both are zeros
//   (decision D14).
//   lt .. eq     false when either is NaN; unordered: true when either is NaN.
//   round        to nearest, ties to even, like floor, ceil and trunc exact for every float and
//                keeping the sign of zero.
//   to_int       truncates; to_int_nearest rounds, ties to even. @pre the value fits an int32.
//   ishl<n>, ishr<n>, isar<n>   shifts of int32 lanes: left, right logical, right arithmetic.
//   transpose    of a square of kLanes vectors.
//   keep         hides a value from the optimizer, so that it stays in its register.
//   iload_u8     kLanes bytes as int32; istore_u8: the low byte of each lane. *_partial as above.
//   imin, imax   of int32; isar(a, n) shifts right arithmetically by n, 0 .. 31.
//   isar_lanes   the same by a number of each lane.
//   ihigh        (a * b + 2^30) >> 31 of 64 bits. @pre not both are -2^31
//   ihigh_down   (a * b) >> 31 likewise.
//   B            kBytes bytes; bload .. bstore, *_partial for 0 <= n <= kBytes. bmin, bmax:
//                unsigned.
//   bsum         adds to lanes of int32: what is added to all of them is the sum of the bytes.
//   isum         the sum of all lanes, modulo 2^32.
//   bpack        four vectors of int32 in order, each lane limited to 0 .. 255. Where kPacks.
//   Table        256 bytes, which btable reads; blookup: the byte of each index.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd/half.inl"
#include "kernels/cpu/simd/inline.h"

#define INGOT_SIMD_SCALAR 1

namespace ingot::cpu {
namespace {

struct V {
  static constexpr int kLanes = 1;
  using F = float;
  using I = int32_t;
  using M = bool;

  static INGOT_INLINE F load(const float* p) { return *p; }
  static INGOT_INLINE void store(float* p, F v) { *p = v; }
  static INGOT_INLINE F load_partial(const float* p, int64_t n) { return n > 0 ? *p : 0.0f; }
  static INGOT_INLINE void store_partial(float* p, F v, int64_t n) {
    if (n > 0) *p = v;
  }
  static INGOT_INLINE I iload(const int32_t* p) { return *p; }
  static INGOT_INLINE void istore(int32_t* p, I v) { *p = v; }
  static INGOT_INLINE F load_u8(const uint8_t* p) { return float(*p); }
  static INGOT_INLINE F load_i8(const int8_t* p) { return float(*p); }
  static INGOT_INLINE F load_f16(const uint16_t* p) { return f16_to_f32(*p); }
  static INGOT_INLINE F load_bf16(const uint16_t* p) { return bf16_to_f32(*p); }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) { *p = f32_to_f16(v); }
  static INGOT_INLINE I load_words(const uint8_t* p) {
    return I(uint32_t(p[0]) | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24);
  }
  template <int i>
  static INGOT_INLINE F nibble(I words) {
    return to_float(isar<28>(ishl<28 - 4 * i>(words)));
  }
  static INGOT_INLINE F gather(const float* p, I at) { return p[at]; }
  static INGOT_INLINE F splat(float x) { return x; }
  static INGOT_INLINE I isplat(int32_t x) { return x; }
  static INGOT_INLINE F zero() { return 0.0f; }

  static INGOT_INLINE F add(F a, F b) { return a + b; }
  static INGOT_INLINE F sub(F a, F b) { return a - b; }
  static INGOT_INLINE F mul(F a, F b) { return a * b; }
  static INGOT_INLINE F div(F a, F b) { return a / b; }
  static INGOT_INLINE F fma(F a, F b, F c) { return fused(a, b, c); }
#if defined(INGOT_UNFUSED)
  static INGOT_INLINE F fma_once(F a, F b, F c) { return float(double(a) * b + c); }
#endif
  /// Clang for Arm makes fmax of a comparison with zero, whose result for -0 is another.
  static INGOT_INLINE M opaque(M m) {
#if defined(__clang__) && (defined(__aarch64__) || defined(__arm__))
    asm("" : "+r"(m));
#endif
    return m;
  }
  static INGOT_INLINE F max(F a, F b) { return opaque(a > b) ? a : b; }
  static INGOT_INLINE F min(F a, F b) { return opaque(a < b) ? a : b; }
  static INGOT_INLINE F abs(F a) { return as_float(as_int(a) & 0x7fffffff); }
  static INGOT_INLINE F neg(F a) { return -a; }
  static INGOT_INLINE F sqrt(F a) { return __builtin_sqrtf(a); }
  // adding 2^23 rounds at the unit; larger magnitudes are integers already
  static INGOT_INLINE F round(F a) {
    const F magnitude = abs(a);
    return magnitude < 8388608.0f ? __builtin_copysignf((magnitude + 8388608.0f) - 8388608.0f, a)
                                  : a;
  }
  static INGOT_INLINE F floor(F a) {
    const F r = round(a);
    return r > a ? r - 1.0f : r;
  }
  static INGOT_INLINE F ceil(F a) {
    const F r = round(a);
    return r < a ? __builtin_copysignf(r + 1.0f, a) : r;
  }
  static INGOT_INLINE F trunc(F a) {
    const F magnitude = abs(a), r = round(magnitude);
    return __builtin_copysignf(r > magnitude ? r - 1.0f : r, a);
  }

  static INGOT_INLINE M lt(F a, F b) { return a < b; }
  static INGOT_INLINE M le(F a, F b) { return a <= b; }
  static INGOT_INLINE M gt(F a, F b) { return a > b; }
  static INGOT_INLINE M ge(F a, F b) { return a >= b; }
  static INGOT_INLINE M eq(F a, F b) { return a == b; }
  static INGOT_INLINE M unordered(F a, F b) { return a != a || b != b; }
  static INGOT_INLINE F select(M m, F a, F b) { return m ? a : b; }
  static INGOT_INLINE I iselect(M m, I a, I b) { return m ? a : b; }
  static INGOT_INLINE M mask_and(M a, M b) { return a && b; }
  static INGOT_INLINE M mask_or(M a, M b) { return a || b; }
  static INGOT_INLINE M mask_xor(M a, M b) { return a != b; }
  static INGOT_INLINE M mask_not(M a) { return !a; }
  static INGOT_INLINE bool any(M m) { return m; }

  static INGOT_INLINE F bit_and(F a, F b) { return as_float(as_int(a) & as_int(b)); }
  static INGOT_INLINE F bit_or(F a, F b) { return as_float(as_int(a) | as_int(b)); }
  static INGOT_INLINE F bit_xor(F a, F b) { return as_float(as_int(a) ^ as_int(b)); }
  static INGOT_INLINE I as_int(F a) {
    I r;
    std::memcpy(&r, &a, sizeof r);
    return r;
  }
  static INGOT_INLINE F as_float(I a) {
    F r;
    std::memcpy(&r, &a, sizeof r);
    return r;
  }
  static INGOT_INLINE I to_int(F a) { return int32_t(a); }
  static INGOT_INLINE I to_int_nearest(F a) { return int32_t(round(a)); }
  static INGOT_INLINE F to_float(I a) { return float(a); }

  static INGOT_INLINE I iadd(I a, I b) { return int32_t(uint32_t(a) + uint32_t(b)); }
  static INGOT_INLINE I isub(I a, I b) { return int32_t(uint32_t(a) - uint32_t(b)); }
  static INGOT_INLINE I imul(I a, I b) { return int32_t(uint32_t(a) * uint32_t(b)); }
  static INGOT_INLINE I iand(I a, I b) { return a & b; }
  static INGOT_INLINE I ior(I a, I b) { return a | b; }
  static INGOT_INLINE I ixor(I a, I b) { return a ^ b; }
  template <int n>
  static INGOT_INLINE I ishl(I a) {
    return int32_t(uint32_t(a) << n);
  }
  template <int n>
  static INGOT_INLINE I ishr(I a) {
    return int32_t(uint32_t(a) >> n);
  }
  template <int n>
  static INGOT_INLINE I isar(I a) {
    return a >> n;
  }
  static INGOT_INLINE M ieq(I a, I b) { return a == b; }
  static INGOT_INLINE M igt(I a, I b) { return a > b; }

  static INGOT_INLINE void keep(F&) {}
  static INGOT_INLINE void transpose(F (&)[1]) {}
  static INGOT_INLINE void prefetch(const void*) {}

  static INGOT_INLINE I iload_u8(const uint8_t* p) { return *p; }
  static INGOT_INLINE I iload_u8_partial(const uint8_t* p, int64_t n) { return n > 0 ? *p : 0; }
  static INGOT_INLINE void istore_u8(uint8_t* p, I v) { *p = uint8_t(v); }
  static INGOT_INLINE void istore_u8_partial(uint8_t* p, I v, int64_t n) {
    if (n > 0) *p = uint8_t(v);
  }
  static INGOT_INLINE I imin(I a, I b) { return a < b ? a : b; }
  static INGOT_INLINE I imax(I a, I b) { return a > b ? a : b; }
  static INGOT_INLINE I isar(I a, int n) { return a >> n; }
  static INGOT_INLINE I isar_lanes(I a, I n) { return a >> n; }
  static INGOT_INLINE I ihigh(I a, I b) {
    return int32_t((int64_t(a) * b + (int64_t{1} << 30)) >> 31);
  }
  static INGOT_INLINE I ihigh_down(I a, I b) { return int32_t((int64_t(a) * b) >> 31); }

  static constexpr bool kPacks = false;  // kBytes is 4 * kLanes
  static constexpr int kBytes = 1;
  using B = uint8_t;
  static INGOT_INLINE B bload(const uint8_t* p) { return *p; }
  static INGOT_INLINE void bstore(uint8_t* p, B v) { *p = v; }
  static INGOT_INLINE B bload_partial(const uint8_t* p, int64_t n) { return n > 0 ? *p : B(0); }
  static INGOT_INLINE void bstore_partial(uint8_t* p, B v, int64_t n) {
    if (n > 0) *p = v;
  }
  static INGOT_INLINE B bsplat(uint8_t x) { return x; }
  static INGOT_INLINE B bxor(B a, B b) { return B(a ^ b); }
  static INGOT_INLINE B bmin(B a, B b) { return a < b ? a : b; }
  static INGOT_INLINE B bmax(B a, B b) { return a > b ? a : b; }
  static INGOT_INLINE I bsum(I sum, B x) { return iadd(sum, x); }
  static INGOT_INLINE int32_t isum(I x) { return x; }
  struct Table {
    const uint8_t* at;
  };
  static INGOT_INLINE Table btable(const uint8_t* p) { return {p}; }
  static INGOT_INLINE B blookup(const Table& t, B x) { return t.at[x]; }
};

}  // namespace
}  // namespace ingot::cpu
