// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/amxint8.cpp - products of bytes by AMX where they fill its tiles; the rest is
// amxbf16's, and from there avx512vnni's.
#include "kernels/cpu/simd/avx512.h"

#define INGOT_SIMD_VNNI 1
#define INGOT_SIMD_AMX 1
// order: the vectors first
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/quantized/products_amx.inl"
#include "kernels/cpu/rows.inl"

namespace ingot::cpu {
namespace {

constexpr auto kEntries = rows_of(kAmxProducts);

}  // namespace

// A system may refuse tiles: nothing here then supports anything.
const KernelTable kAmxInt8Kernels = {
    "amxint8", kEntries.rows, kEntries.kCount, &kAmxBf16Kernels, 256, {}, true};

}  // namespace ingot::cpu
