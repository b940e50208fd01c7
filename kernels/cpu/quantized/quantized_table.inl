// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/quantized_table.inl - the table of an instruction set that adds dot
// products of bytes to another, INGOT_ISA_BASE: the products of bytes again, the rest from there.
#pragma once
#include "kernels/cpu/block_linear/block_linear.inl"
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/quantized/products.inl"
#include "kernels/cpu/rows.inl"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kQuantizedKernels[] = {INGOT_QUANTIZED_PRODUCTS, INGOT_BLOCK_PRODUCTS{}};
constexpr auto kEntries = rows_of(kQuantizedKernels);

}  // namespace

const KernelTable INGOT_ISA_TABLE = {INGOT_ISA_NAME, kEntries.rows, kEntries.kCount,
                                     &INGOT_ISA_BASE, INGOT_ISA_PRODUCTS};

}  // namespace ingot::cpu
