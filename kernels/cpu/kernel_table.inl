// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/kernel_table.inl - the table of one instruction set, INGOT_ISA_TABLE, from struct V
// and the two lists of kernels that use it. Everything but the table has internal linkage.
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/products.inl"
#include "kernels/cpu/rows.inl"
#include "kernels/cpu/vector_kernels.inl"

namespace ingot::cpu {
namespace {

constexpr auto kEntries = rows_of(kProductKernels, kTensorKernels);

}  // namespace

const KernelTable INGOT_ISA_TABLE = {INGOT_ISA_NAME, kEntries.rows, kEntries.kCount,
                                     &kPlainKernelTable, INGOT_ISA_PRODUCTS};

}  // namespace ingot::cpu
