// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/without_vnni.inl - products of blocks of AVX-512 without VNNI:
// avx2's.
#pragma once
#include "kernels/cpu/block_linear/block_job.inl"

namespace ingot::cpu {

// kernels/cpu/isa/avx2.cpp
Status avx2_block_linear(const OpArguments& a, const Team& team);
Status avx2_grouped_blocks(const OpArguments& a, const Team& team);

}  // namespace ingot::cpu

#if INGOT_HAVE_AVX2
#define INGOT_BLOCK_PRODUCTS                                                                     \
  {OpCode::kBlockLinear, "block_linear", &kBlockLinearContract, blocks::linear_codes,            \
   avx2_block_linear},                                                                           \
      {OpCode::kGroupedLinear, "grouped_blocks", &kGroupedLinearContract, blocks::grouped_codes, \
       avx2_grouped_blocks},
#else
#define INGOT_BLOCK_PRODUCTS
#endif
