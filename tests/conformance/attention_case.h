// SPDX-License-Identifier: Apache-2.0
// tests/conformance/attention_case.h - shapes and masks of an attention, for the contract's test
// and for that of tensor cores.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/op/attention_blocks.h"
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

/// Keys or values of any type that they are kept in. Of u8: codes, and scales in front of 2.
inline Tensor kept_tensor(int rank, int64_t batch, int64_t heads, int64_t length, int64_t dim,
                          int64_t padding, DType dtype, uint32_t seed) {
  if (dtype != DType::kU8)
    return heads_tensor(rank, batch, heads, length, dim, padding, dtype).random(seed);
  const int64_t row = attention::scaled_row_bytes(dim);
  Tensor t = heads_tensor(rank, batch, heads, length, row, padding, dtype).random(seed, 0, 255);
  for (int64_t i = 0; i < batch * heads * length; i++)
    for (int64_t u = 0; u < dim / attention::kScaledUnit; u++) {
      const float scale = float(1 + (i * 7 + u * 3) % 5) / 256;
      uint8_t bytes[4];
      std::memcpy(bytes, &scale, 4);
      for (int64_t n = 0; n < 4; n++) t.set(i * row + dim + 4 * u + n, bytes[n]);
    }
  return t;
}
/// Number i of such a tensor, in the order of its rows of heads.
inline double kept_at(const Tensor& t, DType dtype, int64_t dim, int64_t i) {
  if (dtype != DType::kU8) return t.at(i);
  const int64_t from = i / dim * attention::scaled_row_bytes(dim), d = i % dim;
  uint8_t bytes[4];
  for (int64_t n = 0; n < 4; n++)
    bytes[n] = uint8_t(t.at(from + dim + d / attention::kScaledUnit * 4 + n));
  float scale;
  std::memcpy(&scale, bytes, 4);
  return double(float(int8_t(uint8_t(t.at(from + d)))) * scale);
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
