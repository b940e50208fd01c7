// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/isa/avx2.cpp - every kernel for this instruction set: built with -mavx2 -mfma.
#include "kernels/cpu/simd/avx2.h"

#define INGOT_ISA_NAME "avx2"
#define INGOT_ISA_PRODUCTS 64
#define INGOT_ISA_TABLE kAvx2Kernels
#include "kernels/cpu/kernel_table.inl"

namespace ingot::cpu {

Status avx2_block_linear(const OpArguments& a, const Team& team) {
  return block_linear<V>(a, team);
}
Status avx2_grouped_blocks(const OpArguments& a, const Team& team) {
  return grouped_blocks<V>(a, team);
}

}  // namespace ingot::cpu
