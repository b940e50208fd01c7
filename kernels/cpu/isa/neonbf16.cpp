// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/neonbf16.cpp - products of programs in bf16 by BFMMLA (FEAT_BF16); the rest is
// neoni8mm's.
#include "kernels/cpu/simd/neon.h"
// order: the vectors first
#include "kernels/cpu/bf16_products.inl"
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/rows.inl"

namespace ingot::cpu {
namespace {

constexpr auto kEntries = rows_of(kBf16Kernels);

}  // namespace

const KernelTable kNeonBf16Kernels = {"neonbf16", kEntries.rows, kEntries.kCount, &kNeonI8mmKernels,
                                      64};

}  // namespace ingot::cpu
