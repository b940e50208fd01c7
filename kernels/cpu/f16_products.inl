// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/f16_products.inl - products in f16: the list of kernels of an instruction set that
// multiplies it. The last row is empty.
#pragma once
#include "kernels/cpu/conv2d/half_conv.inl"
#include "kernels/cpu/gemm/half_f16.inl"
#include "kernels/cpu/linear/half_linear.inl"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kF16Kernels[] = {
    {OpCode::kConv2d, "conv2d_direct_f16", &kConv2dContract, half_conv2d_supports<F16Format>,
     half_conv2d<F16Format>},
    {OpCode::kChain, "chain_f16", &kChainContract, half_chain_supports<F16Format>,
     half_chain<F16Format>},
    {OpCode::kLinear, "linear_f16", &kLinearContract, half_linear_supports<F16Format>,
     half_linear<F16Format>},
    {},
};

}  // namespace
}  // namespace ingot::cpu
