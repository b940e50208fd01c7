// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/epilogue_params.h - what happens to a sum while it is stored: residual and
// activation in the order given.
#pragma once
#include "runtime/op/activation.h"

namespace ingot::cuda {

struct EpilogueParams {
  ActivationSpec activation;
  float low, high;      // of a clamp
  bool residual_first;  // act(sum + residual), else act(sum) + residual
  bool clamps;          // min(high, max(low, x)) is the whole activation
  bool calls;           // an activation that is neither nothing nor a clamp
};

/// The same rules as kernels/cpu/gemm/epilogue.inl.
inline EpilogueParams epilogue_params(const ActivationSpec& activation, bool residual_first) {
  EpilogueParams e = {activation, 0.0f, __builtin_inff(), residual_first, false, false};
  const ActivationCost cost = activation_cost(activation.kind);
  e.clamps = cost == ActivationCost::kClamp;
  e.calls = cost > ActivationCost::kClamp;
  if (activation.kind == Activation::kRelu6) e.high = 6.0f;
  if (activation.kind == Activation::kClip) e.low = activation.alpha, e.high = activation.beta;
  return e;
}

}  // namespace ingot::cuda
