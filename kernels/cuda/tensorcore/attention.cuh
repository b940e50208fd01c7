// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/attention.cuh - attention on tensor cores; contract:
// runtime/op/attention.h, but for the order of sums and the precision of products. Scores never
// leave registers.
//   block   64 queries of one head of keys, 16 a warp, and one part of the keys (a split); keys go
//           by 64 (heads up to 64 wide) or 32 (up to 128), see attention_tokens.cuh
//   scores  queries are the rows of a fragment (A, in registers throughout), keys its columns (B);
//           in units of ln 2, so that a weight is one subtraction and one 2^x
//   values  what a lane has of the scores of 16 keys is just what it multiplies as A: weights need
//           no exchange. A column of ones makes their sum
//   split   sums of a part, not yet divided, go to `partial`; combine_parts() adds them in order
// Maxima and sums are f32, keys go in their order: the same bits in every run.
#pragma once
#include "kernels/cuda/attention/tile.cuh"
#include "kernels/cuda/device/approximate.cuh"
#include "kernels/cuda/device/f16.cuh"
#include "kernels/cuda/tensorcore/attention_halves.cuh"
#include "kernels/cuda/tensorcore/finish.cuh"

namespace ingot::cuda {

constexpr float kMaxFloat = 3.40282347e38f, kLn2 = 0.693147181f;

/// In units of ln 2; what was finite stays so.
GPU_FN float in_ln2(float x) {
  const float y = x * kLog2E;
  const bool is_finite = x >= -kMaxFloat && x <= kMaxFloat;
  return is_finite ? (y < -kMaxFloat ? -kMaxFloat : y > kMaxFloat ? kMaxFloat : y) : y;
}

/// Where the mask of a lane's two rows begins, and how many keys from there on they see.
struct SeenKeys {
  int64_t mask[2];
  int count[2];
};
/// Four scores as the softmax takes them: of two neighbouring keys, for both rows. One copy for all
/// kernels.
GPU_CALLED Four finish_scores(const void* mask, bool is_bool, float hidden, float softcap,
                              SeenKeys seen, Four s) {
  constexpr float kNotSeen = -__builtin_inff();
  INGOT_UNROLL for (int e = 0; e < 4; e++) {
    const int key = e % 2;
    const int64_t at = seen.mask[e / 2] + key;
    float x = s.x[e];
    if (softcap > 0) x = in_ln2(softcap * fast_tanh(x * kLn2 * fast_reciprocal(softcap)));
    if (key >= seen.count[e / 2]) {
      x = kNotSeen;
    } else if (mask) {
      const float m = !is_bool                                ? static_cast<const float*>(mask)[at]
                      : static_cast<const uint8_t*>(mask)[at] ? 0.0f
                                                              : hidden;
      x = m == hidden ? m : x + in_ln2(m);
    }
    s.x[e] = x;
  }
  return s;
}

/// Keys that all rows of a tile see; 0 where a mask or a cap has a word in it.
GPU_FN int seen_by_all(const AttentionParams& p, const AttentionTile& tile) {
  if (p.mask || p.softcap > 0) return 0;
  if (p.causal == CausalMask::kNone) return int(tile.limit);
  const bool wraps = uint32_t(tile.row) % uint32_t(p.queries) + uint32_t(tile.rows) > p.queries;
  return wraps ? 0 : int(make_row<uint32_t>(p, tile, 0).visible);
}

/// Where the sums of a row of a part lie: the outputs, and behind them its maximum and its sum of
/// weights.
GPU_FN float* partial_row(const AttentionParams& p, int64_t row, int split) {
  return p.partial + (row * p.splits + split) * (p.value_dim + 4);
}
/// Rows of a part are counted over all units.
GPU_FN int64_t row_of_all(const AttentionParams& p, const AttentionTile& tile, int row) {
  return (tile.b * p.kv_heads + tile.kv_head) * p.group * p.queries + tile.row + row;
}

/// What a lane carries from keys to keys, of its rows g and g + 8, and where these are.
template <class Tokens, int kDim>
struct AttentionBlock {
  using Type = typename Tokens::Type;
  using Number = typename Tokens::Number;
  static constexpr int kN = Tokens::kN, kKeys = Tokens::kTokens, kSteps = kKeys / 16;
  typename Tokens::Queries q;
  int64_t mask_at[2];
  int y_at[2];  // in fours of y, or a row of a part; negative where the row does not exist
  int visible[2];
  float o[kDim / 8][4], top[2], total[4];  // total: as a product has it

  GPU_MEMBER void begin(const AttentionParams& p, const AttentionTile& tile) {
    const Number* from[2] = {};
    INGOT_UNROLL for (int h = 0; h < 2; h++) {
      const int r = int(threadIdx.x) / 32 * 16 + 8 * h + int(threadIdx.x) % 32 / 4;
      const bool exists = r < tile.rows;
      const AttentionRow row = make_row<uint32_t>(p, tile, exists ? r : 0);
      if (exists) from[h] = reinterpret_cast<const Number*>(p.q.data) + row.q;
      y_at[h] = !exists ? -1 : p.partial ? int(row_of_all(p, tile, r)) : int(row.y / 4);
      mask_at[h] = row.mask, visible[h] = exists ? int(row.visible) : 0;
      top[h] = -kMaxFloat;
    }
    q.load(from, p.dim, p.scale * kLog2E);
    INGOT_UNROLL for (int e = 0; e < 4; e++) {
      INGOT_UNROLL for (int n = 0; n < kDim / 8; n++) o[n][e] = 0;
      total[e] = 0;
    }
  }
  GPU_MEMBER void hide(const AttentionParams& p, int first, float (&s)[kN][4]) const {
    const int t = int(threadIdx.x) % 4;
    if (p.mask && !p.mask_is_bool && !(p.softcap > 0)) {
      INGOT_UNROLL for (int e = 0; e < 4; e++) {
        const int key = first + 2 * t + e % 2;
        const float* const mask = static_cast<const float*>(p.mask) + mask_at[e / 2] + key;
        INGOT_UNROLL for (int n = 0; n < kN; n++) {
          const float m = key + n * 8 < visible[e / 2] ? mask[n * 8] : -__builtin_inff();
          const float sum = V::fma(m, kLog2E, s[n][e]), least = -kMaxFloat;
          s[n][e] = m < least ? m : sum < least ? least : sum;
        }
      }
    } else if (p.mask || p.softcap > 0) {
      INGOT_UNROLL for (int n = 0; n < kN; n++) {
        const int key = first + n * 8 + 2 * t;
        const Four x = finish_scores(
            p.mask, p.mask_is_bool, p.hidden, p.softcap,
            {{mask_at[0] + key, mask_at[1] + key}, {visible[0] - key, visible[1] - key}},
            {{s[n][0], s[n][1], s[n][2], s[n][3]}});
        INGOT_UNROLL for (int e = 0; e < 4; e++) s[n][e] = x.x[e];
      }
    } else {
      INGOT_UNROLL for (int n = 0; n < kN; n++)
          INGOT_UNROLL for (int e = 0; e < 4; e++) if (first + n * 8 + 2 * t + e % 2 >=
                                                       visible[e / 2]) s[n][e] = -__builtin_inff();
    }
  }
  /// Scores become weights.
  GPU_MEMBER void weigh(float (&s)[kN][4]) {
    INGOT_UNROLL for (int h = 0; h < 2; h++) {
      float now = top[h];
      INGOT_UNROLL for (int n = 0; n < kN; n++) INGOT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++)
          now = larger(s[n][e], now);
      INGOT_UNROLL for (int apart = 1; apart < 4; apart *= 2) now =
          larger(__shfl_xor_sync(~0u, now, apart), now);
      const float correction = fast_exp2(top[h] - now);
      top[h] = now, total[2 * h] *= correction;
      INGOT_UNROLL for (int n = 0; n < kN; n++) INGOT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++)
          s[n][e] = fast_exp2(s[n][e] - now);
      INGOT_UNROLL for (int n = 0; n < kDim / 8; n++)
          INGOT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++) o[n][e] *= correction;
    }
  }
  /// kMasked: some row does not see all of these keys, or not as they are.
  template <bool kMasked>
  GPU_MEMBER void take_keys(const AttentionParams& p, Tokens& tokens, int first) {
    tokens.before_scores();
    float s[kN][4] = {};
    tokens.add_scores(q, p.dim, s);
    if (kMasked) hide(p, first, s);
    weigh(s);
    uint32_t a[kSteps][Tokens::kParts][4];
    constexpr uint32_t kOnes[2] = {Tokens::kOne, Tokens::kOne};
    INGOT_UNROLL for (int i = 0; i < kSteps; i++) {
      Tokens::pack_weights(s, i, a[i]);
      INGOT_UNROLL for (int part = 0; part < Tokens::kParts; part++)
          multiply_add(Type{}, total, a[i][part], kOnes);
    }
    tokens.before_values();
    tokens.add_values(a, p.value_dim, o);
  }
  GPU_MEMBER void store(const AttentionParams& p) const {
    struct alignas(4 * Tokens::kRun) Run {
      float x[Tokens::kRun];
    };
    INGOT_UNROLL for (int h = 0; h < 2; h++) {
      if (y_at[h] < 0) continue;
      const bool nothing = !p.partial && total[2 * h] == 0;
      const float factor = p.partial ? 1.0f : fast_reciprocal(total[2 * h]);
      const int64_t at = int64_t(y_at[h]) * 4;
      float* const to = p.partial ? partial_row(p, y_at[h], int(blockIdx.y)) : p.y.data + at;
      INGOT_UNROLL for (int i = 0; i < kDim / 4 / Tokens::kRun; i++) {
        Run y;
        Tokens::run(o, i, h, y.x);
        INGOT_UNROLL for (int j = 0; j < Tokens::kRun; j++) y.x[j] =
            nothing ? p.empty : y.x[j] * factor;
        const int column = Tokens::column(i);
        if (column >= p.value_dim) continue;
        if constexpr (Tokens::kRun == 2)  // a word of f16
          if (p.y_f16) {
            uint16_t* const halves = reinterpret_cast<uint16_t*>(p.y.data) + at;
            *reinterpret_cast<uint32_t*>(halves + column) = pack(Type{}, y.x[0], y.x[1]);
            continue;
          }
        *reinterpret_cast<Run*>(to + column) = y;
      }
      if (p.partial && threadIdx.x % 4 == 0)
        to[p.value_dim] = top[h], to[p.value_dim + 1] = total[2 * h];
    }
  }
};

template <class Tokens, int kDim>
GPU_FN void attention_on_tensor_cores(const AttentionParams& p) {
  for (uint32_t at = blockIdx.x; at < uint32_t(p.tiles); at += gridDim.x) {
    AttentionTile tile;
    if (!make_tile<uint32_t, kTensorQueries, kTensorQueries>(p, at, &tile)) {
      if (threadIdx.x == 0) *p.fault = p.fault_value;
      continue;
    }
    const int begin = int(blockIdx.y) * p.split_keys, limit = int(tile.limit),
              end = limit - begin < p.split_keys ? limit : begin + p.split_keys;
    int whole = seen_by_all(p, tile);
    whole = whole < end ? whole : end;
    AttentionBlock<Tokens, kDim> block;
    block.begin(p, tile);
    Tokens tokens = Tokens::make(p, tile, begin, end);
    tokens.begin();
    int first = begin;
    GPU_ROLLED for (; first + Tokens::kTokens <= whole; first += Tokens::kTokens)
        block.template take_keys<false>(p, tokens, first);
    GPU_ROLLED for (; first < end; first += Tokens::kTokens)
        block.template take_keys<true>(p, tokens, first);
    wait_for_copies<0>();
    block.store(p);
  }
}

/// Parts of a row in their order: four outputs a thread.
GPU_FN void combine_parts(const AttentionParams& p) {
  const uint32_t fours = uint32_t(p.value_dim) / 4, queries = uint32_t(p.queries);
  const int64_t count = p.tiles / p.tiles_of_unit * p.group * p.queries * fours;
  for (int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const int64_t row = i / fours;
    const int column = int(i - row * fours) * 4;
    float top = -kMaxFloat, total = 0;
    for (int s = 0; s < p.splits; s++) top = larger(partial_row(p, row, s)[p.value_dim], top);
    Four y = {};
    for (int s = 0; s < p.splits; s++) {
      const float* const part = partial_row(p, row, s);
      const float weight = fast_exp2(part[p.value_dim] - top);
      const Four four = *reinterpret_cast<const Four*>(part + column);
      total += part[p.value_dim + 1] * weight;
      for (int e = 0; e < 4; e++) y.x[e] += four.x[e] * weight;
    }
    const float factor = fast_reciprocal(total);
    for (float& x : y.x) x = total == 0 ? p.empty : x * factor;
    const int64_t head = row / queries, b = head / (p.kv_heads * p.group);
    const int64_t at = place_of(p.y, b, head - b * (p.kv_heads * p.group), row - head * queries);
    float* const to = p.y.data + at / (p.y_f16 ? 2 : 1);
    if (p.y_f16)
      store_f16s(to, column, 4, true, {{y.x[0], y.x[1], y.x[2], y.x[3]}});
    else
      *reinterpret_cast<Four*>(to + column) = y;
  }
}

}  // namespace ingot::cuda
