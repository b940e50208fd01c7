// SPDX-License-Identifier: Apache-2.0
// tests/conformance/attention_case.h - shapes and masks of an attention, for the contract's test
// and for that of tensor cores.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/op/attention.h"
#include "tests/conformance/runner.h"

namespace ingot::conformance {

enum class MaskKind { kNone, kFloat, kBool };

/// Lengths and widths of one attention, key counts per batch, what masks it; `padding`: elements
/// between rows.
struct AttentionCase {
  const char* name;
  int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
  CausalMask causal = CausalMask::kNone;
  std::vector<int64_t> mask = {};
  MaskKind kind = MaskKind::kNone;
  std::vector<double> counts = {};
  float softcap = 0;
  int64_t padding = 0;
};

/// [B, T, heads * D] for rank 3, [B, heads, T, D] for rank 4.
inline Tensor heads_tensor(int rank, int64_t batch, int64_t heads, int64_t length, int64_t dim,
                           int64_t padding, DType dtype = DType::kF32) {
  if (rank == 3) return Tensor(dtype, {batch, length, heads * dim}, padding);
  return Tensor(dtype, {batch, heads, length, dim}, padding);
}

inline Tensor mask_tensor(const AttentionCase& c) {
  if (c.kind == MaskKind::kNone) return Tensor();
  Tensor mask(c.kind == MaskKind::kBool ? DType::kBool : DType::kF32, c.mask,
              c.kind == MaskKind::kBool ? 0 : c.padding);
  mask.random(7, -4, 4);
  const int64_t n = mask.view().elements();
  for (int64_t i = 0; i < n; i++) {
    if (c.kind == MaskKind::kBool) mask.set(i, i * 7 % 11 > 3);
    if (c.kind == MaskKind::kFloat && i * 5 % 7 > 4) mask.set(i, i % 2 ? -INFINITY : -3.4028234e38);
  }
  return mask;
}

}  // namespace ingot::conformance
