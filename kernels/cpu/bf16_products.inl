// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/bf16_products.inl - products in bf16: the list of kernels of an instruction set that
// multiplies it. The last row is empty.
#pragma once
#include "kernels/cpu/conv2d/half_conv.inl"
#if defined(INGOT_SIMD_AVX512)
#include "kernels/cpu/gemm/pairs_avx512.inl"
#if INGOT_HAVE_AMXBF16
#include "kernels/cpu/gemm/pairs_amx.inl"
#endif
#else
#include "kernels/cpu/gemm/half_bf16.inl"
#endif
#include "kernels/cpu/linear/half_linear.inl"

namespace ingot::cpu {
namespace {

template <class Format>
constexpr KernelEntry kBf16KernelsOf[] = {
    {OpCode::kConv2d, "conv2d_direct_bf16", &kConv2dContract, half_conv2d_supports<Format>,
     half_conv2d<Format>},
    {OpCode::kChain, "chain_bf16", &kChainContract, half_chain_supports<Format>,
     half_chain<Format>},
    {OpCode::kLinear, "linear_bf16", &kLinearContract, half_linear_supports<Format>,
     half_linear<Format>},
    {},
};
constexpr const auto& kBf16Kernels = kBf16KernelsOf<Bf16Format>;

}  // namespace
}  // namespace ingot::cpu
