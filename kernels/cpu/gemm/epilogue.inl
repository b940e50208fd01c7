// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/epilogue.inl - what happens to a tile while it is stored: activation and
// residual, in the order given. Kinds that are a clamp (none, relu, relu6, clip) stay in registers;
// the rest take one pass over the tile in L1, with the switch over the kind outside the loop.
#pragma once
#include "kernels/cpu/simd/activation.inl"
#include "kernels/cpu/simd/lockstep.inl"
#if defined(INGOT_SIMD_NEON)
#include "kernels/cpu/simd/exp_neon.inl"
#endif
#include "runtime/op/contract.h"

namespace ingot::cpu {
namespace {

struct Epilogue {
  ActivationSpec activation;
  bool clamps = false;       // min(high, max(low, x)) is needed
  bool in_registers = true;  // a clamp or nothing
  bool residual_first = false;
  float low = 0, high = 0;
  int64_t residual_stride = 0;  // elements between pixels
};

inline Epilogue make_epilogue(const ActivationSpec& activation, bool residual_first,
                              const TensorView* residual) {
  Epilogue e;
  e.activation = activation;
  e.residual_first = residual_first;
  e.residual_stride = residual ? int64_t{residual->row_stride} : 0;
  e.high = __builtin_inff();
  const ActivationCost cost = activation_cost(activation.kind);
  e.clamps = cost == ActivationCost::kClamp;
  e.in_registers = e.clamps || cost == ActivationCost::kNothing;
  if (activation.kind == Activation::kRelu6) e.high = 6.0f;
  if (activation.kind == Activation::kClip) {
    e.low = activation.alpha, e.high = activation.beta;
    // An upper limit of zero has a sign, which an instruction for minima may see otherwise.
    e.in_registers = e.high < 0.0f || e.high > 0.0f;
  }
  return e;
}

constexpr bool is_hard_swish(Activation kind) {
  return kind == Activation::kHardSwish || kind == Activation::kHardSwishAffine;
}
/// hard_swish, and the affine function behind it, of sums in registers.
template <class V, int n>
INGOT_INLINE void hard_swish_sums(const ActivationSpec& spec, typename V::F* acc) {
  INGOT_UNROLL for (int i = 0; i < n; i++) acc[i] = Math<V>::hard_swish(acc[i]);
  if (spec.kind == Activation::kHardSwish) return;
  const typename V::F alpha = V::splat(spec.alpha), beta = V::splat(spec.beta);
  INGOT_UNROLL for (int i = 0; i < n; i++) acc[i] = V::fma(acc[i], alpha, beta);
}

/// rows x cols floats of a tile in L1 -> the output. residual may be null, and may be the output
/// itself.
using FinishRows = void (*)(const Epilogue&, const float* tile, int64_t tile_stride, int64_t rows,
                            int64_t cols, float* out, int64_t out_stride, const float* residual);

/// Kinds that are one long chain.
constexpr bool is_long(Activation kind) { return activation_cost(kind) == ActivationCost::kLong; }

/// Rows of a tile that are still to be finished.
struct RowsLeft {
  const float* tile;
  int64_t tile_stride;
  float* out;
  int64_t out_stride, rows;
};
/// The first `rows` of them, of `columns` vectors, in lockstep.
template <class V, Activation kind, int rows, int columns>
INGOT_INLINE void finish_together(RowsLeft* left) {
  using All = Lockstep<V, rows * columns>;
  All::template store<columns>(
      left->out, left->out_stride,
      activate<All, kind>(All::template load<columns>(left->tile, left->tile_stride), All::zero(),
                          All::zero()));
  left->tile += rows * left->tile_stride, left->out += rows * left->out_stride;
  left->rows -= rows;
}

/// All of them, about four vectors together. Six rows of one are twice three, since one alone takes
/// longer.
template <class V, Activation kind, int columns>
INGOT_INLINE void finish_panel(RowsLeft left) {
#if defined(INGOT_SIMD_NEON)
  constexpr auto kNeon = kind == Activation::kGelu      ? neon_gelu
                         : kind == Activation::kSilu    ? neon_silu
                         : kind == Activation::kSigmoid ? neon_sigmoid
                                                        : nullptr;
  if constexpr (kNeon != nullptr && columns == kPanel / V::kLanes) {
    if (left.rows > 0)
      kNeon(left.tile, left.tile_stride * 4, left.out, left.out_stride * 4, left.rows);
    return;
  }
#endif
  constexpr int kMaxRows = columns < 4 ? 4 / columns : 1;
  while (left.rows >= kMaxRows && !(kMaxRows == 4 && left.rows == 6))
    finish_together<V, kind, kMaxRows, columns>(&left);
  if constexpr (kMaxRows == 4)
    while (left.rows >= 3) finish_together<V, kind, 3, columns>(&left);
  while (left.rows > 0) finish_together<V, kind, 1, columns>(&left);
}

template <class V, Activation kind>
void finish_rows(const Epilogue& e, const float* tile, int64_t tile_stride, int64_t rows,
                 int64_t cols, float* out, int64_t out_stride, const float* residual) {
  using F = typename V::F;
  const F alpha = V::splat(e.activation.alpha), beta = V::splat(e.activation.beta);
  const bool after = residual && !e.residual_first;
  int64_t j = 0;
  if constexpr (is_long(kind) && V::kLanes > 1) {
    constexpr int kColumns = kPanel / V::kLanes;
    for (; !residual && cols - j >= kPanel; j += kPanel)
      finish_panel<V, kind, kColumns>({tile + j, tile_stride, out + j, out_stride, rows});
    for (; !residual && cols - j >= V::kLanes; j += V::kLanes)
      finish_panel<V, kind, 1>({tile + j, tile_stride, out + j, out_stride, rows});
  }
  for (; j < cols; j += V::kLanes) {
    const int64_t n = cols - j;
    const bool whole = n >= V::kLanes;
    for (int64_t i = 0; i < rows; i++) {
      F x = V::load(tile + i * tile_stride + j), r = V::zero();
      if (residual) {
        const float* p = residual + i * e.residual_stride + j;
        r = whole ? V::load(p) : V::load_partial(p, n);
        if (!after) x = V::add(x, r);
      }
      x = activate<V, kind>(x, alpha, beta);
      if (after) x = V::add(x, r);
      float* to = out + i * out_stride + j;
      if (whole)
        V::store(to, x);
      else
        V::store_partial(to, x, n);
    }
  }
}

template <class V>
void finish_tile(const Epilogue& e, const float* tile, int64_t tile_stride, int64_t rows,
                 int64_t cols, float* out, int64_t out_stride, const float* residual) {
  // Prelu never comes here, and is nothing.
  static constexpr FinishRows kRows[] = {
#define INGOT_ACTIVATION(name, number, function, cost, form)                             \
  finish_rows<V, ActivationCost::k##cost == ActivationCost::kRefused ? Activation::kNone \
                                                                     : Activation::k##name>,
#include "runtime/op/activations.def"
  };
  kRows[int(e.activation.kind)](e, tile, tile_stride, rows, cols, out, out_stride, residual);
}

#if defined(INGOT_SIMD_NEON)
/// Whether a panel's sums are stored first and finished many pixels at a time, while they are in
/// L1: what an activation sets up is then set up once.
inline bool finishes_later(const Epilogue& e, bool has_residual, int64_t cols) {
  return !e.in_registers && is_long(e.activation.kind) && !has_residual && cols == kPanel;
}
/// `rows` pixels of a panel, stored as sums.
inline void finish_stored(const Epilogue& e, float* out, int64_t out_stride, int64_t rows) {
  finish_tile<V>(e, out, out_stride, rows, kPanel, out, out_stride, nullptr);
}
#endif

}  // namespace
}  // namespace ingot::cpu
