// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/vector_kernels.inl - what is no product of a quantized network: rows for
// the tables of whole instruction sets and for those of a firmware, which has no other.
#pragma once
#include "kernels/cpu/elementwise/elementwise.inl"
#include "kernels/cpu/quantized/binary.inl"
#include "kernels/cpu/quantized/dynamic.inl"
#include "kernels/cpu/quantized/lookup.inl"
#include "kernels/cpu/quantized/pool.inl"
#include "kernels/cpu/quantized/quantize.inl"
#include "kernels/cpu/quantized/softmax.inl"

// Between signed and unsigned bytes; before the row of all elementwise chains.
#define INGOT_FLIP_BYTES                                                           \
  {                                                                                \
    OpCode::kElementwise, "elementwise_bytes", &kElementwiseContract, flips_bytes, \
        tensors::flip_bytes<V>                                                     \
  }

#define INGOT_QUANTIZED_TENSORS                                                                   \
  {OpCode::kQuantize, "quantize", &kQuantizeContract, nullptr, tensors::quantize<V>},             \
      {OpCode::kDequantize, "dequantize", &kDequantizeContract, nullptr, tensors::dequantize<V>}, \
      {OpCode::kDynamicQuantize, "dynamic_quantize", &kDynamicQuantizeContract, nullptr,          \
       tensors::dynamic_quantize<V>},                                                             \
      {OpCode::kLookup, "lookup", &kLookupContract, nullptr, tensors::lookup<V>},                 \
      {OpCode::kQuantizedElementwise, "quantized_elementwise", &kQuantizedElementwiseContract,    \
       nullptr, tensors::quantized_elementwise<V>},                                               \
      {OpCode::kQuantizedPool2d, "quantized_pool2d", &kQuantizedPool2dContract, nullptr,          \
       tensors::quantized_pool2d<V>},                                                             \
  {                                                                                               \
    OpCode::kQuantizedSoftmax, "quantized_softmax", &kQuantizedSoftmaxContract, nullptr,          \
        tensors::quantized_softmax<V>                                                             \
  }
