// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/attention/attention.inl - softmax(scale q k' + mask) v. Contract:
// runtime/op/attention.h.
//
// A unit of work is a chunk of queries of one batch and one head of keys (all query heads that
// share it). For each block of 256 keys keys and values are packed into panels once; then tiles of
// up to 14 queries make their scores in L1, their exponentials in place, and their part of the
// output. Few queries read keys and values where they lie (skinny_rows.inl). Nothing depends on
// chunk or tile: queries that share their last key are groups of 42.
#pragma once
#include <cstring>

#include "kernels/cpu/attention/mask.inl"
#include "kernels/cpu/attention/skinny_rows.inl"
#include "kernels/cpu/gemm/gemm.inl"
#include "kernels/cpu/reduce/lanes.inl"
#include "kernels/cpu/simd/lockstep.inl"
#include "kernels/cpu/simd/math.inl"
#include "runtime/op/attention_blocks.h"

namespace ingot::cpu {
namespace {

constexpr float kLowest = -3.40282347e38f;

/// What one thread works on.
struct AttentionJob {
  const AttentionAttributes* t = nullptr;
  attention::Heads q, k, v, y;
  const float* q_data = nullptr;
  const void *k_data = nullptr, *v_data = nullptr;
  void (*pack)(AttentionJob& j, int64_t first, int64_t count) = nullptr;
  // Of few rows, from the scratch's queries and scores.
  void (*score_skinny)(AttentionJob& j, int64_t rows, int64_t first, int64_t keys) = nullptr;
  void (*weigh_skinny)(AttentionJob& j, int64_t rows, int64_t first, int64_t keys, float* out,
                       int64_t stride) = nullptr;
  bool is_packed = true;  // the block of keys
  float* y_data = nullptr;
  attention::Scratch room;
  float* scratch = nullptr;
  MaskRows mask;
  const float* sinks = nullptr;           // of query heads, or null
  float empty = 0;                        // of a row that sees nothing
  int64_t group = 1;                      // query heads to a key head
  int64_t b = 0, kv_head = 0, count = 0;  // of the unit; keys that exist
  float* at(int64_t part) const { return scratch + part; }

  int64_t rows() const { return group * q.length; }
  int64_t head(int64_t row) const { return kv_head * group + row / q.length; }
  int64_t query(int64_t row) const { return row % q.length; }
  /// What a row of a head is that reads no key.
  float empty_of(int64_t head) const {
    return sinks && sinks[head] != sinks[head] ? sinks[head] : empty;
  }
  /// Keys that query i sees.
  int64_t limit(int64_t i) const {
    int64_t n = count;
    if (t->causal == CausalMask::kTopLeft) n = i + 1;
    if (t->causal == CausalMask::kBottomRight) n = i + 1 + count - q.length;
    return max_of(0, min_of(n, count));
  }
  /// Keys that rows [rows) read: the most that one sees.
  int64_t limit(Range rows) const {
    if (t->causal == CausalMask::kNone) return count;
    if (query(rows.begin) + rows.count() > q.length) return limit(q.length - 1);
    return limit(query(rows.end - 1));
  }
};

/// Rows of a against panels of b; every part of a tile that is short is stored partially.
template <class V>
void attention_product(const float* a, int64_t a_stride, int64_t k, const float* b,
                       int64_t panel_stride, float* out, int64_t out_stride, int64_t rows,
                       int64_t columns) {
  const Segment whole{0, 0};
  const Epilogue plain;
  const TileShape shape{&whole, 1, k, a_stride, panel_stride, out_stride, &plain};
#if defined(INGOT_SIMD_NEON)
  if (rows > 3) {
    GemmJob g;
    g.a = a, g.a_stride = a_stride, g.k = k, g.weights = b, g.out = out, g.out_stride = out_stride,
    g.o = columns, g.epilogue = &plain;
    for (int64_t p = 0; p * kPanel < columns; p++) {
      const int64_t cols = min_of(columns - p * kPanel, kPanel);
      gemm_column<V>(g, shape, nullptr, 0, rows, p, 1, cols);
    }
    return;
  }
#endif
  const int64_t half = (rows + 1) / 2;
  int64_t first = 0;
  if (rows == 1) {
    constexpr int kWide = TileSize<V::kLanes>::kWide;
    for (; (first + kWide) * kPanel <= columns; first += kWide)
      gemm_tile<V, 1, kWide>(shape, a, 0, b + first * panel_stride, kZeros, out + first * kPanel, 0,
                             nullptr, 0, kWide * kPanel);
  }
  for_panels<V>(
      {first, ceil_div(columns, kPanel)}, columns, [&](int64_t p, int panels, int64_t some) {
        Tiles<V>::tile(panels, rows)(shape, a, half * a_stride, b + p * panel_stride, kZeros,
                                     out + p * kPanel, half * out_stride, nullptr, 0, some);
      });
}

/// s = what the softmax takes, `mask` a row of `rows` or null; minus infinity from `seen` on up to
/// a multiple of 16; lanes = the maximum of each lane.
template <class V>
INGOT_INLINE void finish_scores(float* s, int64_t seen, int64_t keys, const MaskRows& rows,
                                const float* mask, float softcap, float* lanes) {
  using F = typename V::F;
  constexpr int kVecs = kPanel / V::kLanes;
  const F never = V::splat(rows.hidden);
  if (softcap > 0) {
    const F cap = V::splat(softcap);
    for (int64_t j = 0; j < seen; j += V::kLanes)
      V::store(s + j, V::mul(cap, Math<V>::tanh(V::div(V::load(s + j), cap))));
  }
  const auto masked = [&](int64_t j, F m) __attribute__((always_inline)) {
    return V::select(V::eq(m, never), never, V::add(V::load(s + j), m));
  };
  F top[kVecs];
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) top[v] = V::splat(kLowest);
  const int64_t whole = seen / kPanel * kPanel, all = round_up(keys, kPanel);
  const int64_t rest = mask ? whole : 0;  // whose maxima are taken behind
#if defined(INGOT_SIMD_NEON)
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) V::store(lanes + v * V::kLanes, top[v]);
  if (rest > 0) neon_maxima<true>(s, mask, rest / kPanel, &rows.hidden, lanes);
#else
  for (int64_t j = 0; j < rest; j += kPanel) INGOT_UNROLL for (int v = 0; v < kVecs; v++) {
      const F x = masked(j + v * V::kLanes, V::load(mask + j + v * V::kLanes));
      V::store(s + j + v * V::kLanes, x);
      top[v] = V::max(top[v], x);
    }
#endif
  if (mask)
    for (int64_t j = whole; j < seen; j += V::kLanes)
      V::store(s + j, masked(j, V::load_partial(mask + j, min_of(seen - j, V::kLanes))));
  for (int64_t j = seen; j < all; j++) s[j] = -__builtin_inff();
#if defined(INGOT_SIMD_NEON)
  if (rest < all) neon_maxima<false>(s + rest, nullptr, (all - rest) / kPanel, &rows.hidden, lanes);
#else
  for (int64_t j = rest; j < all; j += kPanel)
    INGOT_UNROLL for (int v = 0; v < kVecs; v++) top[v] =
        V::max(top[v], V::load(s + j + v * V::kLanes));
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) V::store(lanes + v * V::kLanes, top[v]);
#endif
}

/// s = exp(s - top) for G groups of 16, added to the lanes in order.
template <class V, int G>
INGOT_INLINE void exponentials(float* s, typename V::F top,
                               typename V::F (&sum)[kPanel / V::kLanes]) {
  constexpr int kVecs = kPanel / V::kLanes, kAll = G * kVecs;
  using Together = Lockstep<V, kAll>;
  typename Together::F e = Together::template load<1>(s, V::kLanes);
  INGOT_UNROLL for (int v = 0; v < kAll; v++) e.v[v] = V::sub(e.v[v], top);
  e = Math<Together>::exp_flush(e);
  Together::template store<1>(s, V::kLanes, e);
  INGOT_UNROLL for (int v = 0; v < kAll; v++) sum[v % kVecs] = V::add(sum[v % kVecs], e.v[v]);
}
template <class V>
INGOT_INLINE void exponentials_of_row(float* s, int64_t keys, float top, float* lanes,
                                      bool is_first, float correction) {
  constexpr int kVecs = kPanel / V::kLanes;
  typename V::F sum[kVecs];
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) sum[v] =
      is_first ? V::zero() : V::mul(V::load(lanes + v * V::kLanes), V::splat(correction));
#if defined(INGOT_SIMD_NEON)
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) V::store(lanes + v * V::kLanes, sum[v]);
  if (keys > 0) neon_exponentials(s, keys / kPanel, &top, lanes);
#else
  constexpr int kGroups = V::kLanes > 1 && 4 / kVecs > 0 ? 4 / kVecs : 1;
  const typename V::F shift = V::splat(top);
  int64_t j = 0;
  for (; j + kGroups * kPanel <= keys; j += kGroups * kPanel)
    exponentials<V, kGroups>(s + j, shift, sum);
  for (; j < keys; j += kPanel) exponentials<V, 1>(s + j, shift, sum);
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) V::store(lanes + v * V::kLanes, sum[v]);
#endif
}

/// y = x * factor.
template <class V>
INGOT_INLINE void scale_row(const float* x, float* y, int64_t n, typename V::F factor) {
  constexpr int kVecs = kPanel / V::kLanes;
  int64_t d = 0;
  for (; d + kPanel <= n; d += kPanel)
    INGOT_UNROLL for (int v = 0; v < kVecs; v++)
        V::store(y + d + v * V::kLanes, V::mul(V::load(x + d + v * V::kLanes), factor));
  for (; d + V::kLanes <= n; d += V::kLanes) V::store(y + d, V::mul(V::load(x + d), factor));
  if (d < n) V::store_partial(y + d, V::mul(V::load_partial(x + d, n - d), factor), n - d);
}

/// y = o * (1 / sum), or `empty` where nothing was seen.
template <class V>
INGOT_INLINE void finish_row(float* y, int64_t n, float sum, float empty) {
  if (sum == 0) {
    for (int64_t d = 0; d < n; d++) y[d] = empty;
    return;
  }
  scale_row<V>(y, y, n, V::splat(1.0f / sum));
}

/// y = y * correction + o.
template <class V>
INGOT_INLINE void add_block(float* y, const float* o, int64_t n, float correction) {
  const typename V::F factor = V::splat(correction);
  for (int64_t d = 0; d < n; d += V::kLanes) {
    const int64_t left = min_of(n - d, V::kLanes);
    V::store_partial(y + d, V::fma(V::load_partial(y + d, left), factor, V::load(o + d)), left);
  }
}

/// Rows [row, row + n) of the unit against keys [first, first + keys); `slot` is the row's place in
/// the chunk.
template <class V>
void attention_tile(AttentionJob& j, int64_t row, int64_t n, int64_t slot, int64_t first,
                    int64_t keys, bool is_last) {
  const attention::Scratch& r = j.room;
  float *scores = j.at(r.scores), *queries = j.at(r.queries),
        *lanes = j.at(r.lanes) + slot * kPanel;
  float *maxima = j.at(r.maxima) + slot, *corrections = j.at(r.corrections);
  float* rows_of_y[attention::kTileRows];
  const typename V::F scale = V::splat(j.t->scale);
  int64_t heads[attention::kTileRows], places[attention::kTileRows];
  heads[0] = j.head(row), places[0] = j.query(row);
  for (int64_t i = 1; i < n; i++) {
    const bool wraps = places[i - 1] + 1 == j.q.length;
    heads[i] = heads[i - 1] + wraps, places[i] = wraps ? 0 : places[i - 1] + 1;
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t h = heads[i], query = places[i];
    rows_of_y[i] = j.y_data + j.y.at(j.b, h, query);
    const float* from = j.q_data + j.q.at(j.b, h, query);
    scale_row<V>(from, queries + i * j.q.dim, j.q.dim, scale);
  }
  const int64_t padded = round_up(keys, kPanel);
  if (j.is_packed)
    attention_product<V>(queries, j.q.dim, j.q.dim, j.at(r.key_panels), j.q.dim * kPanel, scores,
                         r.scores_stride, n, padded);
  else
    j.score_skinny(j, n, first, keys);
  alignas(64) float tops[kPanel * kPanel], highest[kPanel], before[kPanel];
  for (int64_t i = 0; i < n; i++) {
    const int64_t seen = max_of(0, min_of(j.limit(places[i]) - first, keys));
    const float* mask = j.mask.row(j.b, heads[i], places[i], first, keys);
    finish_scores<V>(scores + i * r.scores_stride, seen, keys, j.mask, mask, j.t->softcap,
                     tops + i * kPanel);
  }
  tensors::fold_rows<V>(tops, n, highest,
                        [](typename V::F a, typename V::F b) { return V::max(a, b); });
  for (int64_t i = 0; i < n; i++) before[i] = first == 0 ? kLowest : maxima[i];
  const bool begins_with_sinks = first == 0 && j.sinks;
  for (int64_t i = 0; begins_with_sinks && i < n; i++) {
    before[i] = attention::sink_maximum(j.sinks[heads[i]]);
    for (int64_t l = 0; l < kPanel; l++) lanes[i * kPanel + l] = 0;
    lanes[i * kPanel] = attention::sink_sum(j.sinks[heads[i]]);
  }
  for (int64_t i = n; i < kPanel; i++) before[i] = highest[i] = 0;
  for (int64_t i = 0; i < kPanel; i += V::kLanes) {
    const typename V::F old = V::load(before + i), now = V::max(old, V::load(highest + i));
    V::store(corrections + i, Math<V>::exp_flush(V::sub(old, now)));
    V::store(highest + i, now);
  }
  for (int64_t i = 0; i < n; i++) {
    maxima[i] = highest[i];
    exponentials_of_row<V>(scores + i * r.scores_stride, padded, highest[i], lanes + i * kPanel,
                           first == 0 && !begins_with_sinks, corrections[i]);
  }
  // Rows of y that lie evenly apart take the first block's sums themselves.
  const int64_t apart = n > 1 ? rows_of_y[1] - rows_of_y[0] : j.y.dim;
  bool even = first == 0;
  for (int64_t i = 2; i < n; i++) even = even && rows_of_y[i] - rows_of_y[i - 1] == apart;
  float* sums = even ? rows_of_y[0] : j.at(r.sums);
  const int64_t sums_stride = even ? apart : r.sums_stride;
  if (j.is_packed)
    attention_product<V>(scores, r.scores_stride, keys, j.at(r.value_panels), r.keys * kPanel, sums,
                         sums_stride, n, j.y.dim);
  else
    j.weigh_skinny(j, n, first, keys, sums, sums_stride);
  if (!even) {
    for (int64_t i = 0; i < n; i++)
      if (first == 0)
        std::memcpy(rows_of_y[i], sums + i * r.sums_stride, size_t(j.y.dim) * sizeof(float));
      else
        add_block<V>(rows_of_y[i], sums + i * r.sums_stride, j.y.dim, corrections[i]);
  }
  if (!is_last) return;
  tensors::fold_rows<V>(lanes, n, highest,
                        [](typename V::F a, typename V::F b) { return V::add(a, b); });
  for (int64_t i = 0; i < n; i++) finish_row<V>(rows_of_y[i], j.y.dim, highest[i], j.empty);
}

/// Keys or values of the unit from `first` on. T: what they are in memory.
template <class V, class T>
StoredRows<V, T> rows_from(const AttentionJob& j, const void* data, const attention::Heads& h,
                           int64_t first) {
  return {static_cast<const T*>(data) + h.at(j.b, j.kv_head, first), h.token_stride, h.dim};
}
/// Keys and values [first, first + count) of the unit as panels.
template <class V, class T>
void pack_block(AttentionJob& j, int64_t first, int64_t count) {
  pack_keys(rows_from<V, T>(j, j.k_data, j.k, first), count, j.at(j.room.key_panels));
  pack_values(rows_from<V, T>(j, j.v_data, j.v, first), count, j.room.keys,
              j.at(j.room.value_panels));
}
template <class V, class T>
void score_skinny(AttentionJob& j, int64_t rows, int64_t first, int64_t keys) {
  SkinnyRows<V, T>::kScore[rows - 1](rows_from<V, T>(j, j.k_data, j.k, first), keys,
                                     j.at(j.room.queries), j.at(j.room.scores),
                                     j.room.scores_stride);
}
template <class V, class T>
void weigh_skinny(AttentionJob& j, int64_t rows, int64_t first, int64_t keys, float* out,
                  int64_t stride) {
  SkinnyRows<V, T>::kWeigh[rows - 1](rows_from<V, T>(j, j.v_data, j.v, first), keys,
                                     j.at(j.room.scores), j.room.scores_stride, out, stride);
}

/// Rows [rows) of the unit; rows.begin is a multiple of 42 unless all rows see the same keys.
template <class V>
void attention_chunk(AttentionJob& j, Range rows) {
  using attention::kKeyBlock;
  using attention::kQueryGroup;
#if defined(INGOT_SIMD_NEON)
  // two tiles of five; the last four rows are part of the tile before them
  constexpr int64_t kRows = 10, kLast = 4;
  const int64_t step = j.t->causal == CausalMask::kNone ? rows.count() : kQueryGroup;
#else
  constexpr int64_t kRows = TileSize<V::kLanes>::kRows, kLast = 0;
  constexpr int64_t step = kQueryGroup;
#endif
  static_assert(kRows + kLast <= attention::kTileRows);
  j.is_packed = !j.score_skinny || rows.count() > kSkinnyRows;
  int64_t most = 0;
  for (int64_t g = rows.begin; g < rows.end; g += step) {
    const Range group{g, min_of(g + step, rows.end)};
    most = max_of(most, j.limit(group));
    if (j.limit(group) == 0)
      for (int64_t i = group.begin; i < group.end; i++)
        finish_row<V>(j.y_data + j.y.at(j.b, j.head(i), j.query(i)), j.y.dim, 0,
                      j.empty_of(j.head(i)));
  }
  for (int64_t first = 0; first < most; first += kKeyBlock) {
    if (j.is_packed) j.pack(j, first, min_of(kKeyBlock, most - first));
    j.mask.made_from = nullptr;
    for (int64_t g = rows.begin; g < rows.end; g += step) {
      const Range group{g, min_of(g + step, rows.end)};
      const int64_t limit = j.limit(group), keys = min_of(kKeyBlock, limit - first);
      if (keys <= 0) continue;
      const int64_t tiles = max_of(1, ceil_div(group.count() - kLast, kRows));
      for (int64_t i = 0; i < tiles; i++) {
        Range tile = tile_part<V>(group.count(), i, kRows);
        if (kLast > 0 && i + 1 == tiles) tile.end = group.count();
        attention_tile<V>(j, g + tile.begin, tile.count(), g + tile.begin - rows.begin, first, keys,
                          first + kKeyBlock >= limit);
      }
    }
  }
}

/// Number `i` of an index operand, or -1 where it is not one of 0 to `most`.
inline int64_t index_up_to(const TensorView& indices, int64_t i, int64_t most) {
  const int64_t n = indices.dtype == DType::kI64 ? indices.as<const int64_t>()[i]
                                                 : indices.as<const int32_t>()[i];
  return n < 0 || n > most ? -1 : n;
}
inline int64_t key_count(const TensorView* counts, int64_t b, int64_t keys) {
  return counts ? index_up_to(*counts, counts->elements() > 1 ? b : 0, keys) : keys;
}

/// Rows that a chunk has a multiple of: of one query all heads see the same keys.
inline int64_t rows_together(const AttentionJob& j) {
  return j.q.length == 1 ? kSkinnyRows : attention::kQueryGroup;
}
/// Chunks of a unit, at most 252 rows each; more of them where that gives every thread its share.
/// `units`: that there are of the kind.
inline int64_t chunks_of(const AttentionJob& j, int64_t units, int team) {
  const int64_t most = ceil_div(j.rows(), rows_together(j));
  int64_t chunks = ceil_div(j.rows(), attention::kChunkRows);
  while (chunks < most && units * chunks % team != 0 && units * chunks < 4 * team) chunks++;
  return chunks;
}
template <class V>
void attention_part(AttentionJob& j, int64_t chunk, int64_t chunks) {
  const int64_t step = rows_together(j);
  const Range some = part(ceil_div(j.rows(), step), chunk, chunks);
  attention_chunk<V>(j, {some.begin * step, min_of(some.end * step, j.rows())});
}

/// Batches of queries that say which keys they read. Batches of one query, each with one key more
/// of the same sequence than the one before, are one batch in causal order: they share packed keys.
template <class V>
Status attention_of_key_batches(AttentionJob j, const OpArguments& g, const Team& team) {
  const attention::Heads q = j.q, y = j.y;
  const AttentionAttributes& own = *j.t;
  AttentionAttributes joined = own;
  joined.causal = CausalMask::kBottomRight;
  const MaskView mask = j.mask.mask;
  const auto from = [&](int64_t b) { return index_up_to(*g.optional(5), b, j.k.batch - 1); };
  const auto count = [&](int64_t b) { return key_count(g.optional(4), b, j.k.length); };
  const bool joins = q.length == 1 && own.causal != CausalMask::kTopLeft;
  int64_t unit = 0;  // of all batches: threads take turns
  bool good = true;
  for (int64_t b = 0, n = 1; b < q.batch; b += n, n = 1) {
    j.b = from(b), j.count = count(b);
    if (j.b < 0 || j.count < 0) {
      good = false;
      continue;
    }
    while (joins && b + n < q.batch && from(b + n) == j.b && count(b + n) == j.count + n) n++;
    j.t = n > 1 ? &joined : &own;
    j.count += n - 1;
    j.q_data = g.inputs[0].as<const float>() + b * q.batch_stride;
    j.y_data = g.outputs[0].as<float>() + b * y.batch_stride;
    j.q.length = n * q.length, j.q.token_stride = n > 1 ? q.batch_stride : q.token_stride;
    j.y.token_stride = n > 1 ? y.batch_stride : y.token_stride;
    j.q.batch_stride = j.y.batch_stride = 0;  // of j.b, which is that of the keys
    j.mask.mask = mask.from_batch(b, n > 1);
    const int64_t chunks = chunks_of(j, j.t->kv_heads * (n > 1 ? 1 : q.batch), team.size);
    for (j.kv_head = 0; j.kv_head < j.t->kv_heads; j.kv_head++)
      for (int64_t chunk = 0; chunk < chunks; chunk++)
        if (unit++ % team.size == team.id) attention_part<V>(j, chunk, chunks);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

/// T: what keys and values are in memory. A row each, so that a firmware links one.
template <class T>
bool attention_supports(const OpArguments& g) {
  return dtype_bytes(g.inputs[1].dtype) == sizeof(T);
}
template <class V, class T>
Status attention_f32(const OpArguments& g, const Team& team) {
  const TensorView &q = g.inputs[0], &k = g.inputs[1], &v = g.inputs[2], &y = g.outputs[0];
  if (y.elements() == 0) return {};
  AttentionJob j;
  j.t = &g.as<AttentionAttributes>(), j.group = j.t->heads / j.t->kv_heads;
  j.q = attention::heads_of(q, j.t->heads), j.k = attention::heads_of(k, j.t->kv_heads);
  j.v = attention::heads_of(v, j.t->kv_heads), j.y = attention::heads_of(y, j.t->heads);
  j.q_data = q.as<const float>(), j.k_data = k.data, j.v_data = v.data;
  j.pack = pack_block<V, T>;
  if constexpr (V::kLanes > 1)
    j.score_skinny = score_skinny<V, T>, j.weigh_skinny = weigh_skinny<V, T>;
  j.y_data = y.as<float>();
  j.room = attention::scratch_of(attention::unit_rows(j.q, *j.t, g.optional(5) != nullptr),
                                 j.k.length, j.q.dim, j.v.dim);
  j.scratch = static_cast<float*>(team.scratch);
  j.mask.mask = mask_view(g.optional(3)), j.mask.room = j.at(j.room.mask);
  j.mask.hidden = attention::hidden_score(*j.t), j.empty = attention::empty_value(*j.t, j.k.length);
  if (const TensorView* sinks = g.optional(attention::kSinks)) j.sinks = sinks->as<const float>();
  if (g.optional(5)) return attention_of_key_batches<V>(j, g, team);
  bool good = true;
  // Where all queries see the same keys a chunk may begin anywhere: then each thread takes some
  // tokens of every head, as it did in the product before.
  const int64_t heads = j.k.batch * int64_t(j.t->kv_heads);
  const bool by_tokens =
      j.t->causal == CausalMask::kNone && j.rows() >= 2 * attention::kQueryGroup * team.size;
  const int64_t chunks = by_tokens ? round_up(ceil_div(j.rows(), attention::kChunkRows), team.size)
                                   : chunks_of(j, heads, team.size);
  const Range mine = part(heads * chunks, team.id, team.size);
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t head = by_tokens ? i % heads : i / chunks,
                  chunk = by_tokens ? i / heads : i % chunks;
    j.b = head / j.t->kv_heads, j.kv_head = head % j.t->kv_heads;
    j.count = key_count(g.optional(4), j.b, j.k.length);
    if (j.count < 0)
      good = false;
    else if (by_tokens)
      attention_chunk<V>(j, part(j.rows(), chunk, chunks));
    else
      attention_part<V>(j, chunk, chunks);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace
}  // namespace ingot::cpu
