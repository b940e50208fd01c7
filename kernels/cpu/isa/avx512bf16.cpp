// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/avx512bf16.cpp - products of programs in bf16 by AVX512-BF16, and by AMX where
// the compiler has it; the rest is avx512vnni's. One file, since both share all but the innermost
// loop, and compilers use no tile by themselves.
#include "kernels/cpu/simd/avx512.h"
// order: the vectors first
#include "kernels/cpu/bf16_products.inl"
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/rows.inl"

namespace ingot::cpu {
namespace {

constexpr auto kEntries = rows_of(kBf16Kernels);

}  // namespace

const KernelTable kAvx512Bf16Kernels = {
    "avx512bf16", kEntries.rows, kEntries.kCount, &kAvx512VnniKernels, 256, {}, true};

#if INGOT_HAVE_AMXBF16
namespace {

constexpr auto kAmxEntries = rows_of(kBf16KernelsOf<AmxFormat>);

}  // namespace

// A system may refuse tiles: the vectors' products read the same weights.
const KernelTable kAmxBf16Kernels = {
    "amxbf16", kAmxEntries.rows, kAmxEntries.kCount, &kAvx512Bf16Kernels, 256, {}, true};
#endif

}  // namespace ingot::cpu
