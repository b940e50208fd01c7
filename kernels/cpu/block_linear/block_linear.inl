// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/block_linear.inl - BlockLinear, GroupedLinear of codes: panels of 32
// outputs go over the threads. Whole tiles of many rows read a panel that is expanded to bytes once
// for a chunk of them; rows that are left, or few, read the file's bytes. Contract:
// runtime/op/block_linear.h.
#pragma once
#include "kernels/cpu/block_linear/block_job.inl"
#include "kernels/cpu/block_linear/tile.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

/// @pre rows of whole tiles
template <class V, BlockType t>
void rows_times_panels(const BlockJob& job, Range rows, Range panels, void* scratch) {
  constexpr BlockFormat f = block_format(t);
  constexpr BlockType kTile = first_alike(t, expands_alike);
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
          tile<V, kTile, kTileRows>(e, job.x, row, first, count,
                                    sums + (row - some.begin) * kOutputs);
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
  with_codes(type, [&](auto own) { block_linear_of<V, decltype(own)::kType>(job, rows, team); });
}

}  // namespace blocks

template <class V>
Status block_linear(const OpArguments& a, const Team& team) {
  return blocks::linear_of_blocks(a,
                                  [&](const blocks::BlockJob& job, BlockType type, int64_t rows) {
                                    blocks::rows_times<V>(job, type, rows, team);
                                  });
}
template <class V>
Status grouped_blocks(const OpArguments& a, const Team& team) {
  return blocks::grouped_of_blocks(a, team,
                                   [&](const blocks::BlockJob& job, BlockType type, int64_t rows) {
                                     blocks::rows_times<V>(job, type, rows, team);
                                   });
}

}  // namespace
}  // namespace ingot::cpu

// The row of a table whose instruction set has a tile of its own; scalar_kernels.inl has one for
// all others.
#if defined(INGOT_SIMD_VNNI) || defined(INGOT_SIMD_AVX2) || defined(INGOT_SIMD_DOTPROD) || \
    defined(INGOT_SIMD_I8MM)
#define INGOT_BLOCK_PRODUCTS                                                                     \
  {OpCode::kBlockLinear, "block_linear", &kBlockLinearContract, blocks::linear_codes,            \
   block_linear<V>},                                                                             \
      {OpCode::kGroupedLinear, "grouped_blocks", &kGroupedLinearContract, blocks::grouped_codes, \
       grouped_blocks<V>},
#else
#define INGOT_BLOCK_PRODUCTS
#endif
