// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/pack.inl - panels made at run time, where the operand is no constant or its
// groups do not fit panels.
#pragma once
#include "kernels/cpu/gemm/tile.inl"

namespace ingot::cpu {
namespace {

/// rows [o][k], `stride` apart -> panels16 [ceil(o/16)][k][16], lanes past the last row zero.
inline void pack_rows(const float* rows, int64_t o, int64_t k, int64_t stride, float* panels) {
  for (int64_t p = 0; p < o; p += kPanel, panels += k * kPanel) {
    const int64_t n = min_of(kPanel, o - p);
    for (int64_t i = 0; i < k; i++) {
      for (int64_t lane = 0; lane < n; lane++)
        panels[i * kPanel + lane] = rows[(p + lane) * stride + i];
      for (int64_t lane = n; lane < kPanel; lane++) panels[i * kPanel + lane] = 0.0f;
    }
  }
}

/// columns of k rows [k][o], `stride` apart -> panels16 likewise.
inline void pack_columns(const float* rows, int64_t o, int64_t k, int64_t stride, float* panels) {
  for (int64_t p = 0; p < o; p += kPanel, panels += k * kPanel) {
    const int64_t n = min_of(kPanel, o - p);
    for (int64_t i = 0; i < k; i++) {
      const float* from = rows + i * stride + p;
      for (int64_t lane = 0; lane < n; lane++) panels[i * kPanel + lane] = from[lane];
      for (int64_t lane = n; lane < kPanel; lane++) panels[i * kPanel + lane] = 0.0f;
    }
  }
}

}  // namespace
}  // namespace ingot::cpu
