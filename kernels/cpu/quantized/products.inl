// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/products.inl - convolutions and linear layers of bytes: their rows, for the
// tables of whole instruction sets and for those that add instructions for bytes alone.
#pragma once
#include "kernels/cpu/quantized/chain.inl"
#include "kernels/cpu/quantized/matmul.inl"
#include "kernels/cpu/recurrent/byte_products.inl"

#define INGOT_QUANTIZED_PRODUCTS                                                             \
  {OpCode::kQuantizedConv2d, "quantized_conv2d_direct", &kQuantizedConv2dContract,           \
   quantized_direct_supports, quantized_conv2d_direct<V>},                                   \
      {OpCode::kQuantizedConv2d, "quantized_conv2d_depthwise", &kQuantizedConv2dContract,    \
       quantized_depthwise_supports, quantized_conv2d_depthwise<V>},                         \
      {OpCode::kQuantizedConv2d, "quantized_conv2d_grouped", &kQuantizedConv2dContract,      \
       quantized_grouped_supports, quantized_conv2d_grouped<V>},                             \
      {OpCode::kQuantizedChain, "quantized_chain", &kQuantizedChainContract,                 \
       quantized_chain_supports, quantized_chain<V>},                                        \
      {OpCode::kQuantizedMatMul, "quantized_matmul", &kQuantizedMatMulContract, nullptr,     \
       quantized_matmul<V>},                                                                 \
      {OpCode::kRecurrent, "recurrent_bytes", &kRecurrentContract,                           \
       tensors::recurrent_has_byte_panels, tensors::recurrent<V, tensors::ByteProducts<V>>}, \
  {                                                                                          \
    OpCode::kQuantizedLinear, "quantized_linear", &kQuantizedLinearContract,                 \
        quantized_linear_supports, quantized_linear<V>                                       \
  }
