// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/attention/attention_params.h - what the kernel of attention takes.
#pragma once
#include "runtime/device/gpu/kernel_set.h"
#include "runtime/op/attention_blocks.h"

namespace ingot::cuda {

// queries of a block: a group that shares its last key is three blocks
constexpr int kAttentionQueries = 14;
static_assert(attention::kQueryGroup % kAttentionQueries == 0, "");
// on tensor cores: queries of a block; the widest head
constexpr int kTensorQueries = 64, kTensorHead = 128;

/// Element (b, h, t, 0) of an operand lies at b * batch + h * head + t * token.
struct AttentionOperand {
  float* data;  // or f16: on tensor cores; keys and values as a program keeps them: f16, u8
  int64_t batch, head, token;
};

struct AttentionParams {
  AttentionOperand q, k, v, y;
  const void *mask, *counts, *key_batches;  // or null
  const float* sinks;                       // of query heads, or null
  int64_t kept_batches;                     // of k and v
  int64_t mask_strides[4];
  // a unit: one batch, one head of keys, and all query heads that read it
  int64_t tiles, tiles_of_unit;
  int64_t queries, keys, group;  // group: query heads to a key head
  int dim, value_dim, kv_heads;
  float scale, softcap;
  float hidden, empty;  // the score of a key that a bool hides; what a row is that sees nothing
  CausalMask causal;
  bool mask_is_bool, counts_are_i64, one_count, batches_are_i64;
  bool fours_aligned;  // keys and values, to four numbers: rows of 8 bits to words then
  bool y_f16;          // what the launch writes to y; on tensor cores
  uint32_t fault_value;
  uint32_t* fault;
  // on tensor cores: keys are cut into parts of split_keys, whose sums are
  // [row][split][value_dim + 4]; null: one part
  float* partial;
  int splits, split_keys;
};

/// From the instruction, for blocks of `rows` queries. y is not empty.
AttentionParams attention_params(const GpuWork& work, int rows);

}  // namespace ingot::cuda
