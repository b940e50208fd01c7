// SPDX-License-Identifier: Apache-2.0
// runtime/op/attention_blocks.h - how attention is cut, and what a thread needs for it; contract
// and kernels call the same functions.
#pragma once
#include "runtime/base/checked_math.h"
#include "runtime/op/attention.h"

namespace ingot::attention {

constexpr int64_t kKeyBlock = 256;  // keys that share a maximum
// queries that share the last key they read: a multiple of 14 and of 6
constexpr int64_t kQueryGroup = 42;
constexpr int64_t kChunkRows = 252;  // queries that share packed keys and values
constexpr int64_t kTileRows = 14;    // the most rows of a register tile
constexpr int64_t kMaxHeadDim = 4096;
constexpr int kKeyBatches = 5, kSinks = 6;  // operands, each with a feature of its own

/// The score of a key that a bool mask hides.
constexpr float hidden_score(const AttentionAttributes& t) {
  return t.empty_rows == EmptyRows::kMean ? -3.40282347e38f : -__builtin_inff();
}
/// What a row of weights is whose sum is zero.
constexpr float empty_value(const AttentionAttributes& t, int64_t keys) {
  return t.empty_rows == EmptyRows::kNan && keys > 0 ? __builtin_nanf("") : 0.0f;
}

/// Where a row of a head with a sink begins: its maximum, and its sum of exponentials.
constexpr float sink_maximum(float sink) { return sink <= 3.40282347e38f ? sink : 3.40282347e38f; }
constexpr float sink_sum(float sink) { return sink == sink ? 1.0f : sink; }

/// Keys and values of u8: elements that share a scale, and their bytes.
constexpr int64_t kScaledUnit = 32, kScaledBytes = kScaledUnit + 4;
/// Bytes of a head's row of `dim` elements. @pre a multiple of kScaledUnit
constexpr int64_t scaled_row_bytes(int64_t dim) { return dim / kScaledUnit * kScaledBytes; }

/// One of q, k, v, y: where head h of token t of batch b begins, in elements as they lie in memory,
/// and how many numbers it is.
struct Heads {
  int64_t batch = 0, length = 0, dim = 0;
  int64_t batch_stride = 0, head_stride = 0, token_stride = 0;
  [[gnu::always_inline]] int64_t at(int64_t b, int64_t h, int64_t t) const {
    return b * batch_stride + h * head_stride + t * token_stride;
  }
};
/// @pre rank 3 with a last dimension that `heads` divides, or rank 4.
Heads heads_of(const TensorType& t, int64_t heads);

/// Rows of queries that share keys at most: heads of a group times queries of a batch, or of all
/// batches where they choose theirs.
constexpr int64_t unit_rows(const Heads& q, const AttentionAttributes& t, bool has_key_batches) {
  return (has_key_batches ? q.batch : 1) * q.length * (t.heads / t.kv_heads);
}

/// A thread's scratch in floats from its start; every part begins at a multiple of 16.
struct Scratch {
  int64_t keys = 0;                                // of a block, rounded up to 16
  int64_t chunk = 0;                               // queries at most
  int64_t key_panels = 0, value_panels = 0;        // [keys/16][D][16], [Dv/16][keys][16]
  int64_t scores = 0, scores_stride = 0;           // [14][keys + 16]
  int64_t queries = 0, sums = 0, sums_stride = 0;  // [14][D]; [14][Dv up to 16]
  int64_t lanes = 0, maxima = 0, corrections = 0;  // [chunk + 16][16]; [chunk + 16]; [16]
  int64_t mask = 0;                                // [keys]
  int64_t total = 0;
};
Scratch scratch_of(int64_t rows, int64_t keys, int64_t dim, int64_t value_dim);

}  // namespace ingot::attention
