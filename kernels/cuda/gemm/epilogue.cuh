// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/epilogue.cuh - four neighbouring sums through residual and activation to
// memory.
#pragma once
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/lane.h"
// Below lane.h.
#include "kernels/cuda/gemm/epilogue_params.h"

namespace ingot::cuda {

/// 16 bytes in one load or store; addresses are multiples of 16.
struct alignas(16) Quad {
  float v[4];
};

/// For kinds that are no clamp: one copy in a kernel.
GPU_CALLED float activate_called(float x, Activation kind, float alpha, float beta) {
  switch (kind) {
#define INGOT_ACTIVATION(name, number, function, cost, form)                     \
  case Activation::k##name:                                                      \
    if constexpr (is_computed(ActivationCost::k##cost, ActivationCost::kSelect)) \
      return cpu::activate<V, Activation::k##name>(x, alpha, beta);              \
    break;
#include "runtime/op/activations.def"
  }
  return x;
}

GPU_FN Quad load_quad(const float* from, int64_t lanes, bool vector) {
  if (vector && lanes >= 4) return *reinterpret_cast<const Quad*>(from);
  Quad q = {};
  INGOT_UNROLL for (int i = 0; i < 4; i++) if (i < lanes) q.v[i] = from[i];
  return q;
}
GPU_FN void store_quad(float* to, const Quad& q, int64_t lanes, bool vector) {
  if (vector && lanes >= 4) {
    *reinterpret_cast<Quad*>(to) = q;
    return;
  }
  INGOT_UNROLL for (int i = 0; i < 4; i++) if (i < lanes) to[i] = q.v[i];
}
GPU_FN Quad add_quads(Quad a, const Quad& b) {
  INGOT_UNROLL for (int i = 0; i < 4; i++) a.v[i] = a.v[i] + b.v[i];
  return a;
}

GPU_FN Quad activate_quad(const EpilogueParams& e, Quad x) {
  if (e.clamps) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) x.v[i] = V::min(e.high, V::max(e.low, x.v[i]));
  }
  if (e.calls) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) x.v[i] =
        activate_called(x.v[i], e.activation.kind, e.activation.alpha, e.activation.beta);
  }
  return x;
}

/// The first `lanes` of four sums to `to`. `residual` may be null, and may be `to`. vector:
/// addresses are multiples of 16 bytes.
GPU_FN void finish_quad(const EpilogueParams& e, Quad x, const float* residual, float* to,
                        int64_t lanes, bool vector) {
  Quad r = {};
  if (residual) {
    r = load_quad(residual, lanes, vector);
    if (e.residual_first) x = add_quads(x, r);
  }
  x = activate_quad(e, x);
  if (residual && !e.residual_first) x = add_quads(x, r);
  store_quad(to, x, lanes, vector);
}

}  // namespace ingot::cuda
