// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/attention/attention_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/attention/attention_params.h"

#define INGOT_CUDA_ATTENTION(X)              \
  X(attention, AttentionParams, 128)         \
  X(attention_cache16, AttentionParams, 128) \
  X(attention_cache8, AttentionParams, 128)  \
  X(attention_few, AttentionParams, 128)     \
  X(attention_cache16_few, AttentionParams, 128) X(attention_cache8_few, AttentionParams, 128)
