// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/activation.inl - y = act(x) for every kind of runtime/op/activation.h but prelu.
#pragma once
#include "kernels/cpu/simd/math.inl"
#include "runtime/op/activation.h"

namespace ingot::cpu {
namespace {

/// For a kind known when compiling. alpha and beta are those of the ActivationSpec, splat once
/// outside the loop.
template <class V, Activation kind>
INGOT_INLINE typename V::F activate(typename V::F x, [[maybe_unused]] typename V::F alpha,
                                    [[maybe_unused]] typename V::F beta) {
  using Fn = Math<V>;
  if constexpr (kind == Activation::kRelu)
    return Fn::relu(x);
  else if constexpr (kind == Activation::kRelu6)
    return Fn::clip(x, V::zero(), V::splat(6.0f));
  else if constexpr (kind == Activation::kClip)
    return Fn::clip(x, alpha, beta);
  else if constexpr (kind == Activation::kLeakyRelu)
    return Fn::leaky_relu(x, alpha);
  else if constexpr (kind == Activation::kSigmoid)
    return Fn::sigmoid(x);
  else if constexpr (kind == Activation::kTanh)
    return Fn::tanh(x);
  else if constexpr (kind == Activation::kSilu)
    return Fn::silu(x);
  else if constexpr (kind == Activation::kHardSwish)
    return Fn::hard_swish(x);
  else if constexpr (kind == Activation::kHardSigmoid)
    return Fn::hard_sigmoid(x, alpha, beta);
  else if constexpr (kind == Activation::kGelu)
    return Fn::gelu(x);
  else if constexpr (kind == Activation::kGeluTanh)
    return Fn::gelu_tanh(x);
  else if constexpr (kind == Activation::kElu)
    return Fn::elu(x, alpha);
  else if constexpr (kind == Activation::kSoftplus)
    return Fn::softplus(x);
  else if constexpr (kind == Activation::kMish)
    return Fn::mish(x);
  else if constexpr (kind == Activation::kReluAffine)
    return V::fma(Fn::relu(x), alpha, beta);
  else if constexpr (kind == Activation::kHardSwishAffine)
    return V::fma(Fn::hard_swish(x), alpha, beta);
  else
    return x;
}

template <class V, Activation kind>
INGOT_FN void activate_rows_of(float* tile, int64_t rows, int64_t columns, int64_t stride,
                               float alpha, float beta) {
  const typename V::F a = V::splat(alpha), b = V::splat(beta);
  for (int64_t r = 0; r < rows; r++) {
    float* row = tile + r * stride;
    int64_t j = 0;
    if constexpr (V::kLanes > 1) {  // two at once hide the latency of the chains
      for (; j + 2 * V::kLanes <= columns; j += 2 * V::kLanes) {
        const typename V::F x0 = V::load(row + j), x1 = V::load(row + j + V::kLanes);
        V::store(row + j, activate<V, kind>(x0, a, b));
        V::store(row + j + V::kLanes, activate<V, kind>(x1, a, b));
      }
    }
    for (; j + V::kLanes <= columns; j += V::kLanes)
      V::store(row + j, activate<V, kind>(V::load(row + j), a, b));
    if (j < columns)
      V::store_partial(row + j, activate<V, kind>(V::load_partial(row + j, columns - j), a, b),
                       columns - j);
  }
}

/// Applies an activation in place to rows x columns floats, rows `stride` floats apart: one switch
/// for the whole tile. Call it while the tile is in L1; cheap kinds (relu, clip) are better fused
/// into the store with activate<V, kind>.
template <class V>
INGOT_FN void activate_rows(const ActivationSpec& spec, float* tile, int64_t rows, int64_t columns,
                            int64_t stride) {
  switch (spec.kind) {
#define INGOT_ACTIVATION(name, number, function, cost, form)                            \
  case Activation::k##name:                                                             \
    if constexpr (is_computed(ActivationCost::k##cost, ActivationCost::kClamp))         \
      activate_rows_of<V, Activation::k##name>(tile, rows, columns, stride, spec.alpha, \
                                               spec.beta);                              \
    return;
#include "runtime/op/activations.def"
  }
}

}  // namespace
}  // namespace ingot::cpu
