// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/tensor_core.cuh - tensor cores: each function is one instruction (two where
// an older chip has only the half), or the emulator. The only place that names them.
//   fragments  see kernels/cuda/emulate/tensor_core.h; tests/cuda/fragments_test.cpp states them
//              element by element
//   chips      f16 and bytes: sm_75; bf16 and tf32: sm_80. On a chip without it a product traps,
//              and plans do not choose it.
#pragma once
#include "kernels/cuda/device/gpu.h"
#if !defined(__CUDACC__)
#include "kernels/cuda/emulate/tensor_core.h"
#endif

namespace ingot::cuda {

#if defined(__CUDA_ARCH__)
constexpr int kChip = __CUDA_ARCH__ / 10;
#else
constexpr int kChip = 1000;
#endif
#if defined(__CUDACC__)
/// The whole body of a kernel of products that a chip lacks: what plans never choose costs no room.
GPU_FN void refuse_product() { asm volatile("trap;"); }
#else
GPU_FN void refuse_product() { emulate::fail("a product that the chip does not have"); }
#endif

// The body of a kernel with products of Type, or none on a chip without them.
#define INGOT_BODY_OF(Type, ...)       \
  if constexpr (kChip >= Type::kSince) \
    __VA_ARGS__;                       \
  else                                 \
    refuse_product()

// How the words of a fragment are read; the first chip with such products.
struct F16 {
  using Sum = float;
  static constexpr int kSince = 75;
};
struct Bf16 {
  using Sum = float;
  static constexpr int kSince = 80;
};
struct Tf32 {
  using Sum = float;
  static constexpr int kSince = 80;
};
struct S8U8 {  // A of s8, B of u8
  using Sum = int;
  static constexpr int kSince = 75;
};

constexpr float kTf32Nudge = 1.00035226f;  // 1 + 0.7213 / 2^11

#if defined(__CUDACC__)

GPU_FN uint32_t word_of(float x) { return __float_as_uint(x); }
GPU_FN float float_of(uint32_t w) { return __uint_as_float(w); }
GPU_FN uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define INGOT_MMA_F32(Type, shape)                                                               \
  GPU_FN void multiply_add(Type, float(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2]) {   \
    asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));            \
  }
INGOT_MMA_F32(F16, "m16n8k16.row.col.f32.f16.f16.f32")
INGOT_MMA_F32(Bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
INGOT_MMA_F32(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef INGOT_MMA_F32
GPU_FN void multiply_add(S8U8, int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Half of its k: registers 0 and 1 of a, or 2 and 3, with one of b.
GPU_FN void multiply_add(S8U8, int (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a0), "r"(a1), "r"(b));
}
/// Two numbers to one word, the first in the low half, to nearest, ties to even.
GPU_FN uint32_t pack(F16, float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
GPU_FN uint32_t pack(Bf16, float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
GPU_FN void multiply_add_half(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(b));
}
GPU_FN void multiply_add(F16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_add_half(d, a[0], a[1], b[0]);
  multiply_add_half(d, a[2], a[3], b[1]);
}
GPU_FN void multiply_add_quarter(int& d0, int& d1, uint32_t a, uint32_t b) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%0,%1},{%2},{%3},{%0,%1};"
               : "+r"(d0), "+r"(d1)
               : "r"(a), "r"(b));
}
GPU_FN void multiply_add(S8U8, int (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  multiply_add_quarter(d[0], d[1], a0, b);
  multiply_add_quarter(d[2], d[3], a1, b);
}
GPU_FN void multiply_add(S8U8, int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_add(S8U8{}, d, a[0], a[1], b[0]);
  multiply_add(S8U8{}, d, a[2], a[3], b[1]);
}
GPU_FN uint32_t pack(F16, float low, float high) {
  unsigned short l, h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(l) : "f"(low));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(high));
  return l | uint32_t(h) << 16;
}
GPU_FN void multiply_add(Bf16, float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2]) {
  asm volatile("trap;");
}
GPU_FN void multiply_add(Tf32, float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2]) {
  asm volatile("trap;");
}
GPU_FN uint32_t pack(Bf16, float, float) { return 0; }
#else
template <class Type, class Sum, int A, int B>
GPU_FN void multiply_add(Type, Sum (&)[4], const uint32_t (&)[A], const uint32_t (&)[B]) {
  asm volatile("trap;");
}
GPU_FN void multiply_add(S8U8, int (&)[4], uint32_t, uint32_t, uint32_t) { asm volatile("trap;"); }
template <class Type>
GPU_FN uint32_t pack(Type, float, float) {
  return 0;
}
#endif

/// To tf32 for a product, which counts no low bits: 0.36 to 0.72 of a unit of tf32 is added, by the
/// mantissa, before the low bits go. One instruction, and every NaN stays one (cvt.rna.tf32 is two,
/// and cuts payloads). Off by at most 0.72 of a unit, tf32 numbers by none; infinite from 3.4016e38
/// on.
GPU_FN uint32_t near_tf32(float x) { return word_of(__fmul_rn(x, kTf32Nudge)); }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
#define INGOT_LDMATRIX(trans, count, ...)                                           \
  asm volatile("ldmatrix.sync.aligned.m8n8." count trans ".shared.b16 " __VA_ARGS__ \
               : "r"(shared_address(row))                                           \
               : "memory")
/// N matrices of 8x8 elements of 16 bits; lane 8 m + r passes the address of row r of matrix m,
/// 16-byte aligned.
template <bool kTransposed>
GPU_FN void load_matrices(uint32_t (&to)[4], const void* row) {
  if constexpr (kTransposed)
    INGOT_LDMATRIX(".trans", "x4", "{%0,%1,%2,%3}, [%4];"
                   : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]));
  else
    INGOT_LDMATRIX("", "x4", "{%0,%1,%2,%3}, [%4];"
                   : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]));
}
template <bool kTransposed>
GPU_FN void load_matrices(uint32_t (&to)[2], const void* row) {
  if constexpr (kTransposed)
    INGOT_LDMATRIX(".trans", "x2", "{%0,%1}, [%2];" : "=r"(to[0]), "=r"(to[1]));
  else
    INGOT_LDMATRIX("", "x2", "{%0,%1}, [%2];" : "=r"(to[0]), "=r"(to[1]));
}
#undef INGOT_LDMATRIX
#else
template <bool kTransposed, int N>
GPU_FN void load_matrices(uint32_t (&)[N], const void*) {
  asm volatile("trap;");
}
#endif

/// N neighbouring words of shared memory, 4 N-byte aligned, in one load; all lanes of the warp.
GPU_FN void load_shared(uint32_t (&to)[4], const void* from) {
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(from))
               : "memory");
}
GPU_FN void load_shared(uint32_t (&to)[2], const void* from) {
  asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(from))
               : "memory");
}
/// The first or the second number of a word, exact.
GPU_FN float unpack(F16, uint32_t word, int i) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<unsigned short>(word >> 16 * i)));
  return x;
}

#else

GPU_FN uint32_t word_of(float x) { return cpu::float_bits(x); }
GPU_FN float float_of(uint32_t w) { return cpu::bits_float(w); }
GPU_FN void multiply_add(F16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulate::tensor_product<emulate::F16Words, 2>(d, a, b);
}
GPU_FN void multiply_add(Bf16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulate::tensor_product<emulate::Bf16Words, 2>(d, a, b);
}
GPU_FN void multiply_add(Tf32, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulate::tensor_product<emulate::Tf32Words, 2>(d, a, b);
}
GPU_FN void multiply_add(S8U8, int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  emulate::tensor_product<emulate::S8Words, 2, emulate::U8Words>(d, a, b);
}
GPU_FN void multiply_add(S8U8, int (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  const uint32_t a[2] = {a0, a1};
  emulate::tensor_product<emulate::S8Words, 1, emulate::U8Words>(d, a, {b});
}
GPU_FN uint32_t pack(F16, float low, float high) {
  return cpu::f32_to_f16(low) | uint32_t(cpu::f32_to_f16(high)) << 16;
}
GPU_FN uint32_t pack(Bf16, float low, float high) {
  return cpu::f32_to_bf16(low) | uint32_t(cpu::f32_to_bf16(high)) << 16;
}
GPU_FN float unpack(F16, uint32_t word, int i) { return cpu::f16_to_f32(uint16_t(word >> 16 * i)); }
GPU_FN uint32_t near_tf32(float x) { return word_of(x * kTf32Nudge); }
using emulate::load_shared;
template <bool kTransposed, int N>
GPU_FN void load_matrices(uint32_t (&to)[N], const void* row) {
  emulate::load_matrices<kTransposed>(to, row);
}

#endif

}  // namespace ingot::cuda
