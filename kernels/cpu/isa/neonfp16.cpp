// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/neonfp16.cpp - products of programs in fp16 by f16 arithmetic (FEAT_FP16); the
// rest is neon's.
#include "kernels/cpu/simd/neon.h"
// order: the vectors first
#include "kernels/cpu/f16_products.inl"
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/rows.inl"

namespace ingot::cpu {
namespace {

constexpr auto kEntries = rows_of(kF16Kernels);

}  // namespace

const KernelTable kNeonFp16Kernels = {"neonfp16", kEntries.rows, kEntries.kCount, &kNeonKernels,
                                      16};

}  // namespace ingot::cpu
