// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/bf16_products.inl - products in bf16: the list of kernels of an instruction set that
// multiplies it. The last row is empty.
#pragma once
#include "kernels/cpu/conv2d/half_conv.inl"
#include "kernels/cpu/gemm/half_bf16.inl"
#include "kernels/cpu/linear/half_linear.inl"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kBf16Kernels[] = {
    {OpCode::kConv2d, "conv2d_direct_bf16", &kConv2dContract, half_conv2d_supports<Bf16Format>,
     half_conv2d<Bf16Format>},
    {OpCode::kChain, "chain_bf16", &kChainContract, half_chain_supports<Bf16Format>,
     half_chain<Bf16Format>},
    {OpCode::kLinear, "linear_bf16", &kLinearContract, half_linear_supports<Bf16Format>,
     half_linear<Bf16Format>},
    {},
};

}  // namespace
}  // namespace ingot::cpu
