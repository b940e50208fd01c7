// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/block_linear.inl - BlockLinear, GroupedLinear of blocks: panels of 32
// outputs go over the threads. Whole tiles of many rows read a panel that is expanded to bytes once
// for a chunk of them; rows that are left, or few, read the file's bytes. Contract:
// runtime/op/block_linear.h.
#pragma once
#include "kernels/cpu/block_linear/tile.inl"
#include "kernels/cpu/gemm/gemm.inl"
#include "kernels/cpu/gemm/groups.inl"
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/grouped_linear.h"

namespace ingot::cpu {
namespace {
namespace blocks {

struct BlockJob {
  const uint8_t* weights;
  BlockRows x;
  int64_t outputs;
  float* y;
  int64_t y_stride;
  const float *bias, *residual;
  int64_t residual_stride;
};

constexpr int64_t kRowsAhead = 12;

/// Fetches what finish_row takes of a later row: parts of rows, which processors' own prefetchers
/// do not follow.
template <class V>
INGOT_INLINE void fetch_row(const BlockJob& job, int64_t row, int64_t panel) {
  constexpr int64_t kLine = 16;
  INGOT_UNROLL for (int64_t i = 0; i < kOutputs; i += kLine) {
    V::prefetch(job.y + row * job.y_stride + panel * kOutputs + i);
    if (job.residual) V::prefetch(job.residual + row * job.residual_stride + panel * kOutputs + i);
  }
}

/// The sums of a row and a panel -> y.
template <class V>
void finish_row(const BlockJob& job, int64_t row, int64_t panel, const float* sums) {
  const int64_t first = panel * kOutputs, count = min_of(job.outputs - first, kOutputs);
  float* const y = job.y + row * job.y_stride + first;
  const float *const bias = job.bias ? job.bias + first : nullptr,
                     *const residual =
                         job.residual ? job.residual + row * job.residual_stride + first : nullptr;
  const auto finish = [&](int64_t i, auto load, auto store) {
    typename V::F v = V::load(sums + i);
    if (bias) v = V::add(v, load(bias + i));
    if (residual) v = V::add(v, load(residual + i));
    store(y + i, v);
  };
  int64_t i = 0;  // masked stores take tens of cycles on some cores
  for (; i + V::kLanes <= count; i += V::kLanes) finish(i, V::load, V::store);
  const int64_t n = count - i;
  if (n > 0)
    finish(
        i, [n](const float* p) { return V::load_partial(p, n); },
        [n](float* p, typename V::F v) { V::store_partial(p, v, n); });
}

/// Rows of a chunk, so that their bytes stay in the second-level cache.
inline int64_t chunk_rows(int64_t row_bytes) {
  const int64_t fit = (int64_t{768} << 10) / (row_bytes > 0 ? row_bytes : 1);
  return fit < 48                          ? 48
         : fit > block_weights::kChunkRows ? block_weights::kChunkRows
                                           : fit / 12 * 12;
}

/// @pre rows of whole tiles
template <class V, BlockType t>
void rows_times_panels(const BlockJob& job, Range rows, Range panels, void* scratch) {
  constexpr BlockFormat f = block_format(t);
  constexpr int64_t kMaxUnits = block_weights::kSliceK / f.unit, kPanelBlock = kOutputs * f.bytes;
  const Expanded e = expanded_at(scratch);
  float* const sums =
      reinterpret_cast<float*>(static_cast<uint8_t*>(scratch) + block_weights::kExpandedSums);
  const int64_t units = job.x.units, chunk = chunk_rows(job.x.stride);
  for (int64_t from = rows.begin; from < rows.end; from += chunk) {
    const Range some = {from, min_of(rows.end, from + chunk)};
    for (int64_t panel = panels.begin; panel < panels.end; panel++) {
      std::memset(sums, 0, size_t((some.end - some.begin) * kOutputs) * sizeof(float));
      for (int64_t first = 0; first < units; first += kMaxUnits) {
        const int64_t count = min_of(kMaxUnits, units - first);
        for (int64_t i = 0; i < count; i++)
          expand_block<t>(job.weights + (panel * units + first + i) * kPanelBlock, e, i);
        for (int64_t row = some.begin; row < some.end; row += kTileRows)
          tile<V, t, kTileRows>(e, job.x, row, first, count, sums + (row - some.begin) * kOutputs);
      }
      for (int64_t row = some.begin; row < some.end; row++) {
        fetch_row<V>(job, row + kRowsAhead, panel);
        finish_row<V>(job, row, panel, sums + (row - some.begin) * kOutputs);
      }
    }
  }
}

/// Rows from `row` on, R at a time, then half as many, times a panel as it lies in the file.
template <class V, BlockType t, int R>
void file_tiles(const BlockJob& job, int64_t row, int64_t rows, int64_t panel) {
  const uint8_t* const p = job.weights + panel * job.x.units * kOutputs * block_format(t).bytes;
  for (; row + R <= rows; row += R) {
    alignas(64) float sums[R * kOutputs];
    rows_times_panel<V, t, R>(p, job.x, row, sums);
    for (int r = 0; r < R; r++) finish_row<V>(job, row + r, panel, sums + r * kOutputs);
  }
  if constexpr (R > 1) file_tiles<V, t, R / 2>(job, row, rows, panel);
}

template <class V, BlockType t>
void block_linear_of(const BlockJob& job, int64_t rows, const Team& team) {
  const int64_t panels = ceil_div(job.outputs, kOutputs);
  Range mine{0, rows}, cut{0, panels};
  if (panels >= team.size || rows <= kFileRows)
    cut = part(panels, team.id, team.size);
  else
    mine = part(rows, team.id, team.size);
  const int64_t count = mine.end - mine.begin,
                whole = rows <= kFileRows ? 0 : count / kTileRows * kTileRows;
  rows_times_panels<V, t>(job, {mine.begin, mine.begin + whole}, cut, team.scratch);
  if (whole == count) return;
  for (int64_t panel = cut.begin; panel < cut.end; panel++)
    file_tiles<V, t, kFileTileRows>(job, mine.begin + whole, mine.end, panel);
}

template <class V>
void rows_times(const BlockJob& job, BlockType type, int64_t rows, const Team& team) {
  switch (type) {
    case BlockType::kQ4_0: return block_linear_of<V, BlockType::kQ4_0>(job, rows, team);
    case BlockType::kQ4_1: return block_linear_of<V, BlockType::kQ4_1>(job, rows, team);
    case BlockType::kQ5_0: return block_linear_of<V, BlockType::kQ5_0>(job, rows, team);
    case BlockType::kQ5_1: return block_linear_of<V, BlockType::kQ5_1>(job, rows, team);
    case BlockType::kQ8_0: return block_linear_of<V, BlockType::kQ8_0>(job, rows, team);
    case BlockType::kQ4_K: return block_linear_of<V, BlockType::kQ4_K>(job, rows, team);
    case BlockType::kQ5_K: return block_linear_of<V, BlockType::kQ5_K>(job, rows, team);
    case BlockType::kQ6_K: return block_linear_of<V, BlockType::kQ6_K>(job, rows, team);
  }
}

/// Without bias and residual.
inline BlockJob job_of(const OpArguments& a, BlockType type) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const BlockFormat f = block_format(type);
  const int64_t units = w.dims[1] / f.bytes;
  return {w.as<const uint8_t>(),
          {x.as<const uint8_t>(), x.row_stride, units * f.unit, units},
          y.row_length(),
          y.as<float>(),
          y.row_stride,
          nullptr,
          nullptr,
          0};
}

}  // namespace blocks

template <class V>
Status block_linear(const OpArguments& a, const Team& team) {
  if (a.outputs[0].elements() == 0) return {};
  const BlockType type = a.as<BlockLinearAttributes>().type;
  blocks::BlockJob job = blocks::job_of(a, type);
  if (const TensorView* const bias = a.optional(2)) job.bias = bias->as<const float>();
  if (const TensorView* const residual = a.optional(3))
    job.residual = residual->as<const float>(), job.residual_stride = residual->row_stride;
  blocks::rows_times<V>(job, type, a.outputs[0].rows(), team);
  return {};
}

template <class V>
Status grouped_blocks(const OpArguments& a, const Team& team) {
  if (a.outputs[0].elements() == 0) return {};
  const BlockType type = a.as<GroupedLinearAttributes>().type;
  const blocks::BlockJob all = blocks::job_of(a, type);
  const int64_t expert_bytes = round_up(all.outputs, blocks::kOutputs) * a.inputs[1].dims[1];
  return for_groups(a, team, [&](int64_t expert, int64_t first, int64_t rows) {
    blocks::BlockJob job = all;
    job.weights += expert * expert_bytes;
    job.x.bytes += first * job.x.stride;
    job.y += first * job.y_stride;
    blocks::rows_times<V>(job, type, rows, team);
  });
}

}  // namespace
}  // namespace ingot::cpu

// The row of a table whose instruction set has a tile of its own; scalar_kernels.inl has one for
// all others.
#if defined(INGOT_SIMD_VNNI) || defined(INGOT_SIMD_AVX2) || defined(INGOT_SIMD_DOTPROD) || \
    defined(INGOT_SIMD_I8MM)
#define INGOT_BLOCK_PRODUCTS                                                                   \
  {OpCode::kBlockLinear, "block_linear", &kBlockLinearContract, nullptr, block_linear<V>},     \
      {OpCode::kGroupedLinear, "grouped_blocks", &kGroupedLinearContract, grouped::has_blocks, \
       grouped_blocks<V>},
#else
#define INGOT_BLOCK_PRODUCTS
#endif
