// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/block_job.inl - BlockLinear and GroupedLinear of blocks around their
// tiles: rows, panels of 32 outputs, and what becomes of a panel's sums.
#pragma once
#include "kernels/cpu/block_linear/job.inl"
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
  if (count == kOutputs) {
    constexpr int kVectors = kOutputs / V::kLanes;
    typename V::F v[kVectors];
    INGOT_UNROLL for (int i = 0; i < kVectors; i++) v[i] = V::load(sums + i * V::kLanes);
    if (bias)
      INGOT_UNROLL for (int i = 0; i < kVectors; i++) v[i] =
          V::add(v[i], V::load(bias + i * V::kLanes));
    if (residual)
      INGOT_UNROLL for (int i = 0; i < kVectors; i++) v[i] =
          V::add(v[i], V::load(residual + i * V::kLanes));
    INGOT_UNROLL for (int i = 0; i < kVectors; i++) V::store(y + i * V::kLanes, v[i]);
    return;
  }
  const auto finish = [&](int64_t i, auto load, auto store) {
    typename V::F v = V::load(sums + i);
    if (bias) v = V::add(v, load(bias + i));
    if (residual) v = V::add(v, load(residual + i));
    store(y + i, v);
  };
  int64_t i = 0;  // masked stores take tens of cycles on some cores
  for (; i + V::kLanes <= count; i += V::kLanes)
    finish(
        i, [](const float* p) { return V::load(p); },
        [](float* p, typename V::F v) { V::store(p, v); });
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
                                           : fit / 24 * 24;
}

/// Without bias and residual.
inline BlockJob job_of(const OpArguments& a, BlockType type) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const BlockFormat f = block_format(type);
  const int64_t units = w.dims[1] / f.bytes;
  return {w.as<const uint8_t>(),
          {x.as<const uint8_t>(), x.row_stride * dtype_bytes(x.dtype), units * f.unit, units},
          y.row_length(),
          y.as<float>(),
          y.row_stride,
          nullptr,
          nullptr,
          0};
}

inline bool linear_floats(const OpArguments& a) {
  return block_format(a.as<BlockLinearAttributes>().type).is_float();
}
inline bool linear_codes(const OpArguments& a) { return !linear_floats(a); }
inline bool grouped_floats(const OpArguments& a) {
  return grouped::has_blocks(a) && block_format(a.as<GroupedLinearAttributes>().type).is_float();
}
inline bool grouped_codes(const OpArguments& a) {
  return grouped::has_blocks(a) && !block_format(a.as<GroupedLinearAttributes>().type).is_float();
}

/// Calls rows_times(job, type, rows).
template <class Rows>
Status linear_of_blocks(const OpArguments& a, Rows rows_times) {
  if (a.outputs[0].elements() == 0) return {};
  const BlockType type = a.as<BlockLinearAttributes>().type;
  BlockJob job = job_of(a, type);
  if (const TensorView* const bias = a.optional(2)) job.bias = bias->as<const float>();
  if (const TensorView* const residual = a.optional(3))
    job.residual = residual->as<const float>(), job.residual_stride = residual->row_stride;
  rows_times(job, type, a.outputs[0].rows());
  return {};
}

/// The same of each expert that has rows.
template <class Rows>
Status grouped_of_blocks(const OpArguments& a, const Team& team, Rows rows_times) {
  if (a.outputs[0].elements() == 0) return {};
  const BlockType type = a.as<GroupedLinearAttributes>().type;
  const BlockJob all = job_of(a, type);
  const int64_t expert_bytes = round_up(all.outputs, kOutputs) * a.inputs[1].dims[1];
  return for_groups(a, team, [&](int64_t expert, int64_t first, int64_t rows) {
    BlockJob job = all;
    job.weights += expert * expert_bytes;
    job.x.bytes += first * job.x.stride;
    job.y += first * job.y_stride;
    rows_times(job, type, rows);
  });
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
