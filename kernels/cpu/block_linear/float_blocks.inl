// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/float_blocks.inl - BlockLinear, GroupedLinear of f16 and bf16, which are
// widened on the way into registers: one chain of fma an output. Contract:
// runtime/op/block_linear.h.
#pragma once
#include "kernels/cpu/block_linear/block_job.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

/// Rows of a tile, a power of two, whose sums the registers hold beside two vectors of weights.
template <class V>
constexpr int kFloatRows = V::kLanes == 16  ? 8
                           : V::kLanes == 1 ? 1
                                            : 4;

template <class V, BlockType t>
INGOT_INLINE typename V::F widened_at(const uint16_t* p) {
  if constexpr (t == BlockType::kF16)
    return V::load_f16(p);
  else
    return V::load_bf16(p);
}

/// R rows times a panel -> sums [R][32].
template <class V, BlockType t, int R>
void rows_times_floats(const uint8_t* panel, const BlockRows& x, int64_t row, float* sums) {
  using F = typename V::F;
  constexpr int kAll = kOutputs / V::kLanes, kMaxVectors = R == 1 ? 4 : 2,
                kVectors = kAll < kMaxVectors ? kAll : kMaxVectors;
  constexpr int64_t kAhead = 32;  // k
  const float* const from = reinterpret_cast<const float*>(x.bytes + row * x.stride);
  const int64_t stride = x.stride / int64_t(sizeof(float));
  for (int first = 0; first < kOutputs; first += kVectors * V::kLanes) {
    const uint16_t* w = reinterpret_cast<const uint16_t*>(panel) + first;
    F acc[R][kVectors];
    INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
        acc[r][v] = V::zero();
    for (int64_t k = 0; k < x.k; k++, w += kOutputs) {
      V::prefetch(w + kAhead * kOutputs);
      F own[kVectors];
      INGOT_UNROLL for (int v = 0; v < kVectors; v++) own[v] = widened_at<V, t>(w + v * V::kLanes);
      INGOT_UNROLL for (int r = 0; r < R; r++) {
        const F one = V::splat(from[r * stride + k]);
        INGOT_UNROLL for (int v = 0; v < kVectors; v++) acc[r][v] = V::fma(one, own[v], acc[r][v]);
      }
    }
    INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
        V::store(sums + r * kOutputs + first + v * V::kLanes, acc[r][v]);
  }
}

/// Rows from `row` on, R at a time, then half as many.
template <class V, BlockType t, int R>
void float_tiles(const BlockJob& job, int64_t row, int64_t rows, int64_t panel) {
  const uint8_t* const p = job.weights + panel * job.x.k * kOutputs * int64_t(sizeof(uint16_t));
  for (; row + R <= rows; row += R) {
    alignas(64) float sums[R * kOutputs];
    rows_times_floats<V, t, R>(p, job.x, row, sums);
    for (int r = 0; r < R; r++) finish_row<V>(job, row + r, panel, sums + r * kOutputs);
  }
  if constexpr (R > 1) float_tiles<V, t, R / 2>(job, row, rows, panel);
}

template <class V, BlockType t>
void rows_times_all(const BlockJob& job, int64_t rows, const Team& team) {
  const int64_t panels = ceil_div(job.outputs, kOutputs), chunk = chunk_rows(job.x.stride);
  Range mine{0, rows}, cut{0, panels};
  if (panels >= team.size || rows < team.size)
    cut = part(panels, team.id, team.size);
  else
    mine = part(rows, team.id, team.size);
  for (int64_t from = mine.begin; from < mine.end; from += chunk)
    for (int64_t panel = cut.begin; panel < cut.end; panel++)
      float_tiles<V, t, kFloatRows<V>>(job, from, min_of(mine.end, from + chunk), panel);
}
template <class V>
void floats_times(const BlockJob& job, BlockType type, int64_t rows, const Team& team) {
  if (type == BlockType::kF16)
    rows_times_all<V, BlockType::kF16>(job, rows, team);
  else
    rows_times_all<V, BlockType::kBF16>(job, rows, team);
}

}  // namespace blocks

template <class V>
Status float_block_linear(const OpArguments& a, const Team& team) {
  return blocks::linear_of_blocks(a,
                                  [&](const blocks::BlockJob& job, BlockType type, int64_t rows) {
                                    blocks::floats_times<V>(job, type, rows, team);
                                  });
}
template <class V>
Status float_grouped_blocks(const OpArguments& a, const Team& team) {
  return blocks::grouped_of_blocks(a, team,
                                   [&](const blocks::BlockJob& job, BlockType type, int64_t rows) {
                                     blocks::floats_times<V>(job, type, rows, team);
                                   });
}

}  // namespace
}  // namespace ingot::cpu
