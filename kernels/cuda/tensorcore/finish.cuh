// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/finish.cuh - from sums to y: alpha or scale, bias, residual, activation,
// by the CPU's own functions.
#pragma once
#include "kernels/cuda/device/f16.cuh"
#include "kernels/cuda/device/global_loads.cuh"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

template <class Sum>
struct alignas(16) FourOf {
  Sum x[4];
};
using Four = FourOf<float>;

/// Kinds that are more than a few instructions: one copy of them for all kernels, since every other
/// copy would be in each.
GPU_CALLED Four activate_long(ActivationSpec spec, Four v) {
  switch (spec.kind) {
#define INGOT_ACTIVATION(name, number, function, cost, form)                                    \
  case Activation::k##name:                                                                     \
    if constexpr (is_computed(ActivationCost::k##cost, ActivationCost::kShort))                 \
      for (float& x : v.x) x = cpu::activate<V, Activation::k##name>(x, spec.alpha, spec.beta); \
    break;
#include "runtime/op/activations.def"
  }
  return v;
}

GPU_FN Four activate_four(const ActivationSpec& spec, Four v) {
  switch (spec.kind) {
    case Activation::kNone: return v;
#define INGOT_SHORT_ACTIVATION(kind)                                                       \
  case Activation::kind:                                                                   \
    for (float& x : v.x) x = cpu::activate<V, Activation::kind>(x, spec.alpha, spec.beta); \
    return v;
      INGOT_SHORT_ACTIVATION(kRelu)
      INGOT_SHORT_ACTIVATION(kRelu6)
      INGOT_SHORT_ACTIVATION(kClip)
      INGOT_SHORT_ACTIVATION(kLeakyRelu)
#undef INGOT_SHORT_ACTIVATION
    default: return activate_long(spec, v);
  }
}

/// Four neighbouring outputs from `o` on, a multiple of 4, of row m of matrix `batch`; those from
/// p.o on are not stored. Sums of scale and alpha 1.
GPU_FN void finish_plain(const ProductParams& p, int64_t batch, int64_t m, int o, Four v) {
  const float* bias = p.bias ? p.bias + batch * p.bias_batch + o : nullptr;
  Four residual = {};
  if (p.bias) {
    const Four all = load_four<Four>(bias, 0, false, p.o - o, p.is_vector);
    for (int i = 0; i < 4; i++) v.x[i] += all.x[i];
  }
  if (p.residual)
    residual = load_four<Four>(p.residual, batch * p.bias_batch + m * p.residual_stride + o,
                               p.residual_f16, p.o - o, p.is_vector);
  if (p.residual && p.residual_first)
    for (int i = 0; i < 4; i++) v.x[i] += residual.x[i];
  v = activate_four(p.activation, v);
  if (p.residual && !p.residual_first)
    for (int i = 0; i < 4; i++) v.x[i] += residual.x[i];
  store_four(p.y, batch * p.y_batch + m * p.y_stride + o, p.y_f16, p.o - o, p.is_vector, v);
}

/// The same with scale and alpha.
GPU_FN void finish_four(const ProductParams& p, int64_t batch, int64_t m, int o, Four v) {
  if (p.scale)
    for (int i = 0; i < 4; i++) v.x[i] *= o + i < p.o ? p.scale[o + i] : 0.0f;
  for (float& x : v.x) x *= p.alpha;
  finish_plain(p, batch, m, o, v);
}

GPU_FN Four* partial_of(const ProductParams& p, int64_t batch, int split, int64_t m, int o) {
  return reinterpret_cast<Four*>(p.partial + ((batch * p.splits + split) * p.m + m) * p.columns +
                                 o);
}

/// The parts of a sum, added in their order: who adds them changes no bit.
GPU_FN Four add_parts_of(const ProductParams& p, int64_t batch, int64_t m, int o) {
  const int64_t apart = int64_t(p.m) * p.columns / 4;
  const Four* from = partial_of(p, batch, 0, m, o);
  Four v = load_through(from);
  GPU_UNROLL_BY(4)
  for (int s = 1; s < p.splits; s++) {
    const Four more = load_through(from += apart);
    for (int e = 0; e < 4; e++) v.x[e] += more.x[e];
  }
  return v;
}
/// Of a block with a part of k, behind the stores of its sums: whether it adds the parts of its
/// tile, since all other blocks have stored theirs. `flag`: of shared memory.
GPU_FN bool adds_parts(const ProductParams& p, void* flag) {
  return p.counters && is_last_block(p.counters + blockIdx.z * gridDim.x + blockIdx.x,
                                     uint32_t(p.splits), static_cast<uint32_t*>(flag));
}
/// Four sums of product(); nothing is counted of pixels.
GPU_FN void store_sums(const ProductParams& p, int64_t batch, int64_t m, int o, const float* sums,
                       const int32_t*) {
  finish_four(p, batch, m, o, *reinterpret_cast<const Four*>(sums));
}

}  // namespace ingot::cuda
