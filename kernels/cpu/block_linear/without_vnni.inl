// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/without_vnni.inl - BlockLinear of AVX-512 without VNNI: avx2's.
#pragma once
#include "runtime/op/block_linear.h"

namespace ingot::cpu {

Status avx2_block_linear(const OpArguments& a, const Team& team);  // kernels/cpu/isa/avx2.cpp

}  // namespace ingot::cpu

#if INGOT_HAVE_AVX2
#define INGOT_BLOCK_PRODUCTS \
  {OpCode::kBlockLinear, "block_linear", &kBlockLinearContract, nullptr, avx2_block_linear},
#else
#define INGOT_BLOCK_PRODUCTS
#endif
