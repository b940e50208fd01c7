// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/attention/attention.cuh - exact attention. Contract and order:
// runtime/op/attention.h; the twin on the CPU is kernels/cpu/attention. A block has 14 queries of
// one head of keys, or one where there are few, and goes through the keys 256 at a time:
//   scores   a thread makes those of two keys with every query: keys come through shared memory, 16
//            of the head's numbers at a time
//   weights  half a warp has a query, and its 16 lanes are the 16 virtual lanes of the contract
//   values   a thread has a column of y for all queries, or where heads are narrow for some of them
#pragma once
#include "kernels/cuda/attention/attention_kernels.h"
#include "kernels/cuda/attention/tile.cuh"
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/device/f16.cuh"

namespace ingot::cuda {

constexpr int kAttentionBlock = int(attention::kKeyBlock), kScorePitch = kAttentionBlock + 4,
              kDepth = 16;
constexpr float kNever = -__builtin_inff(), kLowestScore = -3.40282347e38f;

template <int n>
struct AttentionShared {
  static constexpr int kQueries = n;
  alignas(16) float scores[kQueries][kScorePitch];
  float keys[kAttentionBlock][kDepth + 1];
  alignas(16) float queries[kQueries][kDepth];
  float lanes[kQueries][16], maxima[kQueries], corrections[kQueries], totals[kQueries];
  // Of each query, found once: divisions are slow, and 14 addresses are too many registers.
  const float* q[kQueries];
  float* y[kQueries];
  int64_t mask[kQueries], visible[kQueries];
};

template <class S>
GPU_FN void find_queries(const AttentionParams& p, const AttentionTile& t, S& s) {
  const int r = int(threadIdx.x);
  if (r >= t.rows) return;
  const AttentionRow row = make_row<int64_t>(p, t, r);
  s.q[r] = p.q.data + row.q, s.y[r] = p.y.data + row.y, s.mask[r] = row.mask,
  s.visible[r] = row.visible;
  if (p.sinks) s.maxima[r] = p.sinks[row.head];  // until the first block's weights
}
/// The batch of keys and values. False where the file's number is none.
GPU_FN bool find_kept_batch(const AttentionParams& p, AttentionTile* t) {
  t->kept_b = t->b;
  if (!p.key_batches) return true;
  t->kept_b = p.batches_are_i64 ? static_cast<const int64_t*>(p.key_batches)[t->b]
                                : static_cast<const int32_t*>(p.key_batches)[t->b];
  return t->kept_b >= 0 && t->kept_b < p.kept_batches;
}
/// What a row of y is that reads no key.
template <class S>
GPU_FN float empty_row(const AttentionParams& p, const S& s, int r) {
  return p.sinks && s.maxima[r] != s.maxima[r] ? s.maxima[r] : p.empty;
}

/// Number i of a row of `dim`, a key or value: T is float, or uint16_t and uint8_t where a program
/// keeps them in f16 and 8 bits.
GPU_FN float kept_number(const float* row, int i, int, bool) { return row[i]; }
GPU_FN float kept_number(const uint16_t* row, int i, int, bool) { return widen_f16(row[i]); }
GPU_FN float kept_number(const uint8_t* row, int i, int dim, bool is_aligned) {
  const int scale = dim + i / int(attention::kScaledUnit) * 4;
  return float(int8_t(row[i])) * cpu::bits_float(word_at(row + scale, is_aligned));
}
template <class T>
GPU_FN const T* kept_rows(const AttentionOperand& o, const AttentionTile& t, int64_t first) {
  return reinterpret_cast<const T*>(o.data) + place_of(o, t.kept_b, t.kv_head, first);
}

/// Four of them at once where those of all rows lie at multiples of their size.
GPU_FN FourFloats kept_four(const float* row, int i, int) {
  return *reinterpret_cast<const FourFloats*>(row + i);
}
GPU_FN FourFloats kept_four(const uint16_t* row, int i, int) {
  const FourHalves four = *reinterpret_cast<const FourHalves*>(row + i);
  return {{widen_f16(four.x[0]), widen_f16(four.x[1]), widen_f16(four.x[2]), widen_f16(four.x[3])}};
}
GPU_FN FourFloats kept_four(const uint8_t* row, int i, int dim) {
  const uint32_t four = word_at(row + i, true);
  const float scale =
      cpu::bits_float(word_at(row + dim + i / int(attention::kScaledUnit) * 4, true));
  const auto number = [&](int n) { return float(int8_t(uint8_t(four >> 8 * n))) * scale; };
  return {{number(0), number(1), number(2), number(3)}};
}

/// `depth` numbers from d on of each key to shared memory, the rest of kDepth zero.
template <class T, class S>
GPU_FN void copy_keys(const AttentionParams& p, const T* from, int d, int depth, int keys, S& s) {
  const int me = int(threadIdx.x);
  if (S::kQueries == 1 && p.fours_aligned) {
    INGOT_UNROLL for (int j = 0; j < kAttentionBlock * kDepth / 4; j += 128) {
      const int key = (j + me) / (kDepth / 4), n = (j + me) % (kDepth / 4) * 4;
      const FourFloats four =
          key < keys && n < depth ? kept_four(from + key * p.k.token, d + n, p.dim) : FourFloats{};
      INGOT_UNROLL for (int e = 0; e < 4; e++) s.keys[key][n + e] = four.x[e];
    }
    return;
  }
  GPU_UNROLL_BY(8)
  for (int i = me; i < kAttentionBlock * kDepth; i += 128) {
    const int key = i / kDepth, n = i % kDepth;
    s.keys[key][n] = key < keys && n < depth
                         ? kept_number(from + key * p.k.token, d + n, p.dim, p.fours_aligned)
                         : 0.0f;
  }
}

template <class T, class S>
GPU_FN void attention_scores(const AttentionParams& p, const AttentionTile& t, int64_t first,
                             int keys, S& s) {
  constexpr int kQueries = S::kQueries;
  const int me = int(threadIdx.x);
  const T* from = kept_rows<T>(p.k, t, first);
  float sums[kQueries][2] = {};
  for (int d = 0; d < p.dim; d += kDepth) {
    const int depth = p.dim - d < kDepth ? p.dim - d : kDepth;
    __syncthreads();
    copy_keys(p, from, d, depth, keys, s);
    for (int i = me; i < kQueries * kDepth; i += 128) {
      const int r = i / kDepth, n = i % kDepth;
      s.queries[r][n] = r < t.rows && n < depth ? s.q[r][d + n] * p.scale : 0.0f;
    }
    __syncthreads();
    GPU_UNROLL_BY(2)
    for (int n = 0; n < depth; n++) {
      const float k0 = s.keys[me][n], k1 = s.keys[me + 128][n];
      INGOT_UNROLL for (int r = 0; r < kQueries; r++) {
        const float q = s.queries[r][n];
        sums[r][0] = V::fma(q, k0, sums[r][0]), sums[r][1] = V::fma(q, k1, sums[r][1]);
      }
    }
  }
  INGOT_UNROLL for (int r = 0; r < kQueries; r++) s.scores[r][me] = sums[r][0],
                                                  s.scores[r][me + 128] = sums[r][1];
}

/// What the softmax takes instead of score x of key j.
GPU_FN float masked_score(const AttentionParams& p, float x, int64_t mask_at) {
  if (p.softcap > 0) x = p.softcap * cpu::Math<V>::tanh(x / p.softcap);
  if (!p.mask) return x;
  const float m = !p.mask_is_bool ? static_cast<const float*>(p.mask)[mask_at]
                  : static_cast<const uint8_t*>(p.mask)[mask_at] != 0 ? 0.0f
                                                                      : p.hidden;
  return m == p.hidden ? m : x + m;
}

/// Scores become weights; maxima, lanes and corrections go on by a block.
template <class S>
GPU_FN void attention_weights(const AttentionParams& p, const AttentionTile& t, int64_t first,
                              int keys, bool is_last, S& s) {
  const int lane = int(threadIdx.x) % 16, padded = (keys + 15) / 16 * 16;
  for (int pass = 0; pass < (S::kQueries + 7) / 8; pass++) {
    const int r = pass * 8 + int(threadIdx.x) / 16, own = r < t.rows ? r : 0;
    const bool exists = r < t.rows;
    const int64_t visible = s.visible[own] - first,
                  mask_at = s.mask[own] + first * p.mask_strides[3];
    float top = kLowestScore;
    for (int j = lane; exists && j < padded; j += 16) {
      const float x = j < visible && j < keys
                          ? masked_score(p, s.scores[own][j], mask_at + j * p.mask_strides[3])
                          : kNever;
      s.scores[own][j] = x;
      top = V::max(top, x);
    }
    for (int half = 8; half > 0; half /= 2) top = V::max(top, __shfl_down_sync(~0u, top, half, 16));
    const bool has_sink = p.sinks && first == 0 && exists;
    const float before = has_sink                ? attention::sink_maximum(s.maxima[own])
                         : first == 0 || !exists ? kLowestScore
                                                 : s.maxima[own],
                now = V::max(before, __shfl_sync(~0u, top, 0, 16));
    const float correction = cpu::Math<V>::exp_flush(before - now);
    float sum = has_sink && lane == 0   ? attention::sink_sum(s.maxima[own]) * correction
                : first == 0 || !exists ? 0.0f
                                        : s.lanes[own][lane] * correction;
    for (int j = lane; exists && j < padded; j += 16) {
      const float e = cpu::Math<V>::exp_flush(s.scores[own][j] - now);
      s.scores[own][j] = e;
      sum += e;
    }
    if (exists) s.lanes[own][lane] = sum;
    if (is_last)
      for (int half = 8; half > 0; half /= 2) sum += __shfl_down_sync(~0u, sum, half, 16);
    __syncwarp();
    if (exists && lane == 0)
      s.maxima[own] = now, s.corrections[own] = correction, s.totals[own] = sum;
  }
}

/// Columns of y for kRows of the queries from `begin` on.
template <class T, int kRows, class S>
GPU_FN void attention_values(const AttentionParams& p, const AttentionTile& t, int64_t first,
                             int keys, bool is_last, int column, int apart, int begin, S& s) {
  [[maybe_unused]] constexpr int kAhead = S::kQueries == 1 ? 16 : 4;  // loads
  for (int d = column; d < p.value_dim; d += apart) {
    const T* from = kept_rows<T>(p.v, t, first);
    float sums[kRows] = {};
    GPU_UNROLL_BY(kAhead)
    for (int j = 0; j < keys; j++) {
      const float v = kept_number(from + j * p.v.token, d, p.value_dim, p.fours_aligned);
      INGOT_UNROLL for (int r = 0; r < kRows; r++) if (begin + r < S::kQueries) sums[r] =
          V::fma(s.scores[begin + r][j], v, sums[r]);
    }
    INGOT_UNROLL for (int r = 0; r < kRows; r++) {
      const int own = begin + r;
      if (own >= t.rows) break;
      float* to = s.y[own] + d;
      float y = first == 0 ? sums[r] : V::fma(*to, s.corrections[own], sums[r]);
      if (is_last) y = s.totals[own] == 0 ? p.empty : y * (1.0f / s.totals[own]);
      *to = y;
    }
  }
}

template <class T, int kQueries>
GPU_FN void exact_attention(const AttentionParams& p) {
  using Room = AttentionShared<kQueries>;
  GPU_COMMON_SHARED(Room, s);
  const int me = int(threadIdx.x);
  for (int64_t at = blockIdx.x; at < p.tiles; at += gridDim.x) {
    AttentionTile t;
    if (!make_tile<int64_t, kQueries, int(attention::kQueryGroup)>(p, at, &t) ||
        !find_kept_batch(p, &t)) {
      if (me == 0) *p.fault = p.fault_value;
      continue;
    }
    __syncthreads();
    find_queries(p, t, s);
    __syncthreads();
    if (t.limit == 0)
      for (int r = 0; r < t.rows; r++)
        for (int d = me; d < p.value_dim; d += 128) s.y[r][d] = empty_row(p, s, r);
    for (int64_t first = 0; first < t.limit; first += kAttentionBlock) {
      const int keys = int(t.limit - first < kAttentionBlock ? t.limit - first : kAttentionBlock);
      const bool is_last = first + kAttentionBlock >= t.limit;
      __syncthreads();
      attention_scores<T>(p, t, first, keys, s);
      __syncthreads();
      attention_weights(p, t, first, keys, is_last, s);
      __syncthreads();
      if (kQueries == 1)
        attention_values<T, 1>(p, t, first, keys, is_last, me, 128, 0, s);
      else if (p.value_dim > 64)
        attention_values<T, kQueries>(p, t, first, keys, is_last, me, 128, 0, s);
      else if (p.value_dim > 32)
        attention_values<T, 7>(p, t, first, keys, is_last, me % 64, 64, me / 64 * 7, s);
      else
        attention_values<T, 4>(p, t, first, keys, is_last, me % 32, 32, me / 32 * 4, s);
    }
  }
}

#define INGOT_ATTENTION(name, T)                           \
  INGOT_GPU_KERNEL_BLOCKS(name, AttentionParams, 128, 3) { \
    exact_attention<T, kAttentionQueries>(p);              \
  }                                                        \
  INGOT_GPU_KERNEL_BLOCKS(name##_few, AttentionParams, 128, 3) { exact_attention<T, 1>(p); }
INGOT_ATTENTION(attention, float)
INGOT_ATTENTION(attention_cache16, uint16_t)
INGOT_ATTENTION(attention_cache8, uint8_t)
#undef INGOT_ATTENTION

}  // namespace ingot::cuda
