// SPDX-License-Identifier: Apache-2.0
// runtime/op/activation.h - the activation that a producer applies while it stores.
#pragma once
#include <cstdint>

namespace ingot {

/// Same numbers as ingot.fb.Activation.
enum class Activation : uint8_t {
#define INGOT_ACTIVATION(name, number, function, cost, form) k##name = (number),
#include "runtime/op/activations.def"
};

/// What it takes, in ascending order; kRefused: no epilogue has it.
enum class ActivationCost : uint8_t { kNothing, kClamp, kSelect, kShort, kLong, kRefused };
constexpr ActivationCost kActivationCosts[] = {
#define INGOT_ACTIVATION(name, number, function, cost, form) ActivationCost::k##cost,
#include "runtime/op/activations.def"
};
constexpr int kActivationCount = sizeof kActivationCosts / sizeof *kActivationCosts;
/// @pre `kind` is a row.
constexpr ActivationCost activation_cost(Activation kind) { return kActivationCosts[int(kind)]; }

/// Whether an epilogue has it and it takes at least `least`.
constexpr bool is_computed(ActivationCost cost, ActivationCost least) {
  return cost >= least && cost != ActivationCost::kRefused;
}

/// y = act(x). clip: min(max(x, alpha), beta). leaky_relu, elu: slope alpha. hard_sigmoid:
/// min(max(alpha x + beta, 0), 1). hard_swish: x * min(max(x / 6 + 1/2, 0), 1), alpha and beta
/// unused. relu_affine, hard_swish_affine: alpha * act(x) + beta, rounded once.
/// prelu is not allowed in an epilogue (use Elementwise).
struct ActivationSpec {
  Activation kind = Activation::kNone;
  float alpha = 0;
  float beta = 0;
};

}  // namespace ingot
