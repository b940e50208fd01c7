// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/plain.cpp - kernels that use no vectors, once for all instruction sets.
#include "kernels/cpu/simd/scalar.h"
// whose V the kernels are made of
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/rows.inl"
#include "kernels/cpu/scalar_kernels.inl"

namespace ingot::cpu {
namespace {

constexpr auto kEntries = rows_of(kPlainKernels);

}  // namespace

const KernelTable kPlainKernelTable = {"plain", kEntries.rows, kEntries.kCount, nullptr};

}  // namespace ingot::cpu
