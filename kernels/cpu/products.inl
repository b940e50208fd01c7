// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/products.inl - convolutions, products and pools: the list of kernels for one
// instruction set.
#include "kernels/cpu/attention/attention.inl"
#include "kernels/cpu/block_linear/float_blocks.inl"
#if defined(INGOT_SIMD_AVX512)
#include "kernels/cpu/block_linear/without_vnni.inl"
#else
#include "kernels/cpu/block_linear/block_linear.inl"
#endif
#include "kernels/cpu/conv2d/chain.inl"
#include "kernels/cpu/conv2d/conv2d.inl"
#include "kernels/cpu/conv_transpose2d/conv_transpose2d.inl"
#include "kernels/cpu/linear/grouped_linear.inl"
#include "kernels/cpu/linear/quantized_weights.inl"
#include "kernels/cpu/matmul/matmul.inl"
#include "kernels/cpu/pool2d/pool2d.inl"
#include "kernels/cpu/quantized/products.inl"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kProductKernels[] = {
    {OpCode::kConv2d, "conv2d_direct_f32", &kConv2dContract, conv2d_direct_supports,
     conv2d_direct_f32<V>},
    {OpCode::kConv2d, "conv2d_winograd_f43_f32", &kConv2dContract, conv2d_winograd_supports,
     conv2d_winograd_f43_f32<V>},
    {OpCode::kConv2d, "conv2d_depthwise_f32", &kConv2dContract, conv2d_depthwise_supports,
     conv2d_depthwise_f32<V>},
    {OpCode::kConv2d, "conv2d_grouped_f32", &kConv2dContract, conv2d_grouped_supports,
     conv2d_grouped_f32<V>},
    {OpCode::kChain, "chain_f32", &kChainContract, chain_supports, chain_f32<V>},
    {OpCode::kLinear, "linear_f32", &kLinearContract, linear_supports, linear_f32<V>},
    {OpCode::kLinear, "linear_weights8_f32", &kLinearContract,
     quantized_weights_support<Weights8<V>>, linear_quantized_weights<V, Weights8<V>>},
    {OpCode::kLinear, "linear_weights4_f32", &kLinearContract,
     quantized_weights_support<Weights4<V>>, linear_quantized_weights<V, Weights4<V>>},
    {OpCode::kGroupedLinear, "grouped_linear_f32", &kGroupedLinearContract, grouped_linear_supports,
     grouped_linear_f32<V>},
    {OpCode::kBlockLinear, "block_linear_floats", &kBlockLinearContract, blocks::linear_floats,
     float_block_linear<V>},
    {OpCode::kGroupedLinear, "grouped_floats", &kGroupedLinearContract, blocks::grouped_floats,
     float_grouped_blocks<V>},
    {OpCode::kMatMul, "matmul_f32", &kMatMulContract, nullptr, matmul_f32<V>},
    {OpCode::kAttention, "attention_f32", &kAttentionContract, attention_supports<float>,
     attention_f32<V, float>},
    {OpCode::kAttention, "attention_cache16_f32", &kAttentionContract, attention_supports<uint16_t>,
     attention_f32<V, uint16_t>},
    {OpCode::kAttention, "attention_cache8_f32", &kAttentionContract, attention_supports<uint8_t>,
     attention_f32<V, uint8_t>},
    {OpCode::kPool2d, "pool2d_f32", &kPool2dContract, nullptr, pool2d_f32<V>},
    {OpCode::kConvTranspose2d, "conv_transpose2d_f32", &kConvTranspose2dContract,
     conv_transpose2d_supports, conv_transpose2d_f32<V>},
    INGOT_QUANTIZED_PRODUCTS,
    INGOT_BLOCK_PRODUCTS{},
};

}  // namespace
}  // namespace ingot::cpu
