// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/rvv.h - struct V with eight lanes, the vector extension 1.0 of RISC-V. Its
// contract is in scalar.h.
//
// Vectors are Clang's of a fixed length, which it makes instructions of for any register of 128
// bits or more: a pair of registers where they have 128, part of one where they have 256.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/bytes.inl"
#include "kernels/cpu/simd/half.inl"
#include "kernels/cpu/simd/inline.h"

#define INGOT_SIMD_RVV 1

namespace ingot::cpu {
namespace {

struct V {
  static constexpr int kLanes = 8;
  typedef float F __attribute__((vector_size(4 * kLanes)));
  typedef int32_t I __attribute__((vector_size(4 * kLanes)));
  typedef uint32_t U __attribute__((vector_size(4 * kLanes)));
  using M = I;
  typedef int64_t Wide __attribute__((vector_size(8 * kLanes)));
  typedef uint8_t Bytes __attribute__((vector_size(kLanes)));  // one a lane
  typedef int8_t SignedBytes __attribute__((vector_size(kLanes)));

  template <class T>
  static INGOT_INLINE T read(const void* p) {
    T v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  template <class T>
  static INGOT_INLINE void write(void* p, T v) {
    __builtin_memcpy(p, &v, sizeof v);
  }
  static INGOT_INLINE F load(const float* p) { return read<F>(p); }
  static INGOT_INLINE void store(float* p, F v) { write(p, v); }
  static INGOT_INLINE F load_partial(const float* p, int64_t n) {
    if (n >= kLanes) return load(p);
    F v = zero();
    for (int i = 0; i < n; i++) v[i] = p[i];
    return v;
  }
  static INGOT_INLINE void store_partial(float* p, F v, int64_t n) {
    if (n >= kLanes) return store(p, v);
    float all[kLanes];
    write(all, v);
    for (int i = 0; i < n; i++) p[i] = all[i];
  }
  static INGOT_INLINE I iload(const int32_t* p) { return read<I>(p); }
  static INGOT_INLINE void istore(int32_t* p, I v) { write(p, v); }
  static INGOT_INLINE F load_u8(const uint8_t* p) { return to_float(iload_u8(p)); }
  static INGOT_INLINE F load_i8(const int8_t* p) {
    return to_float(__builtin_convertvector(read<SignedBytes>(p), I));
  }
  static INGOT_INLINE F load_f16(const uint16_t* p) { return load_f16_lanes<V>(p); }
  static INGOT_INLINE F load_bf16(const uint16_t* p) { return load_bf16_lanes<V>(p); }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) { store_f16_lanes<V>(p, v); }
  static INGOT_INLINE I load_words(const uint8_t* p) { return read<I>(p); }
  template <int i>
  static INGOT_INLINE F nibble(I words) {
    return to_float(isar<28>(i < 7 ? ishl<28 - 4 * i>(words) : words));
  }
  static INGOT_INLINE F gather(const float* p, I at) {
    F v;
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) v[i] = p[at[i]];
    return v;
  }
  static INGOT_INLINE F splat(float x) { return x - F{}; }
  static INGOT_INLINE I isplat(int32_t x) { return x - I{}; }
  static INGOT_INLINE F zero() { return F{}; }

  static INGOT_INLINE F add(F a, F b) { return a + b; }
  static INGOT_INLINE F sub(F a, F b) { return a - b; }
  static INGOT_INLINE F mul(F a, F b) { return a * b; }
  static INGOT_INLINE F div(F a, F b) { return a / b; }
  static INGOT_INLINE F fma(F a, F b, F c) {
#pragma clang fp contract(on)  // the extension has vfmacc, which Clang then always takes
    return a * b + c;
  }
  static INGOT_INLINE F max(F a, F b) { return select(gt(a, b), a, b); }
  static INGOT_INLINE F min(F a, F b) { return select(lt(a, b), a, b); }
  static INGOT_INLINE F abs(F a) { return as_float(as_int(a) & 0x7fffffff); }
  static INGOT_INLINE F neg(F a) { return -a; }
  static INGOT_INLINE F sqrt(F a) {
#if __has_builtin(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(a);
#else
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
#endif
  }
  static INGOT_INLINE F with_sign(F magnitude, F sign) {
    return as_float(as_int(magnitude) | (as_int(sign) & INT32_MIN));
  }
  // adding 2^23 rounds at the unit; larger magnitudes are integers already
  static INGOT_INLINE F round(F a) {
    const F magnitude = abs(a), unit = splat(8388608.0f);
    return select(lt(magnitude, unit), with_sign((magnitude + unit) - unit, a), a);
  }
  static INGOT_INLINE F floor(F a) {
    const F r = round(a);
    return select(gt(r, a), r - 1.0f, r);
  }
  static INGOT_INLINE F ceil(F a) {
    const F r = round(a);
    return select(lt(r, a), with_sign(abs(r + 1.0f), a), r);
  }
  static INGOT_INLINE F trunc(F a) {
    const F magnitude = abs(a), r = round(magnitude);
    return with_sign(select(gt(r, magnitude), r - 1.0f, r), a);
  }

  static INGOT_INLINE M lt(F a, F b) { return a < b; }
  static INGOT_INLINE M le(F a, F b) { return a <= b; }
  static INGOT_INLINE M gt(F a, F b) { return a > b; }
  static INGOT_INLINE M ge(F a, F b) { return a >= b; }
  static INGOT_INLINE M eq(F a, F b) { return a == b; }
  static INGOT_INLINE M unordered(F a, F b) { return (a != a) | (b != b); }
  static INGOT_INLINE F select(M m, F a, F b) { return m ? a : b; }
  static INGOT_INLINE I iselect(M m, I a, I b) { return m ? a : b; }
  static INGOT_INLINE M mask_and(M a, M b) { return a & b; }
  static INGOT_INLINE M mask_or(M a, M b) { return a | b; }
  static INGOT_INLINE M mask_xor(M a, M b) { return a ^ b; }
  static INGOT_INLINE M mask_not(M a) { return ~a; }
  static INGOT_INLINE bool any(M m) { return __builtin_reduce_or(m) != 0; }

  static INGOT_INLINE F bit_and(F a, F b) { return as_float(as_int(a) & as_int(b)); }
  static INGOT_INLINE F bit_or(F a, F b) { return as_float(as_int(a) | as_int(b)); }
  static INGOT_INLINE F bit_xor(F a, F b) { return as_float(as_int(a) ^ as_int(b)); }
  static INGOT_INLINE I as_int(F a) { return I(a); }
  static INGOT_INLINE F as_float(I a) { return F(a); }
  /// The product with one is for QEMU 7.2, which ends with an assertion where a conversion is the
  /// first instruction of a block that rounds.
  static INGOT_INLINE I to_int(F a) {
    float one = 1.0f;
    asm("" : "+f"(one));
    return __builtin_convertvector(a * one, I);
  }
  static INGOT_INLINE I to_int_nearest(F a) { return to_int(round(a)); }
  static INGOT_INLINE F to_float(I a) { return __builtin_convertvector(a, F); }

  // unsigned: sums and products are modulo 2^32
  static INGOT_INLINE I iadd(I a, I b) { return I(U(a) + U(b)); }
  static INGOT_INLINE I isub(I a, I b) { return I(U(a) - U(b)); }
  static INGOT_INLINE I imul(I a, I b) { return I(U(a) * U(b)); }
  static INGOT_INLINE I iand(I a, I b) { return a & b; }
  static INGOT_INLINE I ior(I a, I b) { return a | b; }
  static INGOT_INLINE I ixor(I a, I b) { return a ^ b; }
  template <int n>
  static INGOT_INLINE I ishl(I a) {
    return I(U(a) << n);
  }
  template <int n>
  static INGOT_INLINE I ishr(I a) {
    return I(U(a) >> n);
  }
  template <int n>
  static INGOT_INLINE I isar(I a) {
    return a >> n;
  }
  static INGOT_INLINE M ieq(I a, I b) { return a == b; }
  static INGOT_INLINE M igt(I a, I b) { return a > b; }

  static INGOT_INLINE void keep(F&) {}
  /// Twice 4 x 4 in each half, then halves.
  static INGOT_INLINE void transpose(F (&rows)[8]) {
    F pair[8], quad[8];
    INGOT_UNROLL for (int i = 0; i < 8; i += 2) {
      pair[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      pair[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    INGOT_UNROLL for (int i = 0; i < 8; i += 4) INGOT_UNROLL for (int k = 0; k < 2; k++) {
      const F a = pair[i + k], b = pair[i + k + 2];
      quad[i + 2 * k] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      quad[i + 2 * k + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      rows[i] = __builtin_shufflevector(quad[i], quad[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      rows[i + 4] = __builtin_shufflevector(quad[i], quad[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
  }
  static INGOT_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

  static INGOT_INLINE I iload_u8(const uint8_t* p) {
    return __builtin_convertvector(read<Bytes>(p), I);
  }
  static INGOT_INLINE I iload_u8_partial(const uint8_t* p, int64_t n) {
    uint8_t all[kLanes] = {};
    for (int i = 0; i < kLanes && i < n; i++) all[i] = p[i];
    return iload_u8(all);
  }
  static INGOT_INLINE void istore_u8(uint8_t* p, I v) {
    write(p, __builtin_convertvector(v, Bytes));
  }
  static INGOT_INLINE void istore_u8_partial(uint8_t* p, I v, int64_t n) {
    uint8_t all[kLanes];
    istore_u8(all, v);
    for (int i = 0; i < kLanes && i < n; i++) p[i] = all[i];
  }
  static INGOT_INLINE I imin(I a, I b) { return a < b ? a : b; }
  static INGOT_INLINE I imax(I a, I b) { return a > b ? a : b; }
  static INGOT_INLINE I isar(I a, int n) { return a >> n; }
  static INGOT_INLINE I isar_lanes(I a, I n) { return a >> n; }
  /// (a * b + add) >> 31.
  static INGOT_INLINE I upper_product(I a, I b, int64_t add) {
    const Wide product = __builtin_convertvector(a, Wide) * __builtin_convertvector(b, Wide);
    return __builtin_convertvector((product + add) >> 31, I);
  }
  static INGOT_INLINE I ihigh(I a, I b) { return upper_product(a, b, int64_t{1} << 30); }
  static INGOT_INLINE I ihigh_down(I a, I b) { return upper_product(a, b, 0); }

  static constexpr bool kPacks = true;
  static constexpr int kBytes = 4 * kLanes;
  typedef uint8_t B __attribute__((vector_size(kBytes)));
  static INGOT_INLINE B bload(const uint8_t* p) { return read<B>(p); }
  static INGOT_INLINE void bstore(uint8_t* p, B v) { write(p, v); }
  static INGOT_INLINE B bload_partial(const uint8_t* p, int64_t n) {
    uint8_t all[kBytes] = {};
    for (int i = 0; i < kBytes && i < n; i++) all[i] = p[i];
    return bload(all);
  }
  static INGOT_INLINE void bstore_partial(uint8_t* p, B v, int64_t n) {
    uint8_t all[kBytes];
    bstore(all, v);
    for (int i = 0; i < kBytes && i < n; i++) p[i] = all[i];
  }
  static INGOT_INLINE B bsplat(uint8_t x) { return x - B{}; }
  static INGOT_INLINE B bxor(B a, B b) { return a ^ b; }
  static INGOT_INLINE B bmin(B a, B b) { return a < b ? a : b; }
  static INGOT_INLINE B bmax(B a, B b) { return a > b ? a : b; }
  static INGOT_INLINE I bsum(I sum, B x) {
    Bytes quarters[4];
    write(quarters, x);
    INGOT_UNROLL for (int i = 0; i < 4; i++) sum =
        iadd(sum, __builtin_convertvector(quarters[i], I));
    return sum;
  }
  static INGOT_INLINE int32_t isum(I x) { return __builtin_reduce_add(x); }
  static INGOT_INLINE B bpack(const I (&v)[4]) {
    Bytes quarters[4];
    INGOT_UNROLL for (int i = 0; i < 4; i++) quarters[i] =
        __builtin_convertvector(imax(imin(v[i], isplat(255)), I{}), Bytes);
    return read<B>(quarters);
  }
  using Table = ByteTable;
  static INGOT_INLINE Table btable(const uint8_t* p) { return {p}; }
  static INGOT_INLINE B blookup(const Table& t, B x) { return look_up_each<V>(t, x); }
};

}  // namespace
}  // namespace ingot::cpu
