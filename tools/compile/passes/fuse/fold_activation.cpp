// SPDX-License-Identifier: Apache-2.0
// An activation goes into the store of the convolution or Linear before it, and so do a factor and
// a number that follow a Relu or HardSwish (learnable affine blocks of PP-LCNet and PP-HGNet).
#include <cmath>
#include <string_view>

#include "ingot_schema/ingot_generated.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/fuse/affine.h"

namespace ingot::passes {
namespace {

/// The spelling of the activation that a step is; null: none.
const char* activation_name(Op op) {
  static constexpr struct {
    Activation kind;
    ActivationCost cost;
    Op op;
    bool is_plain;
  } kRows[] = {
#define INGOT_ACTIVATION(name, number, function, cost, form)      \
  {Activation::k##name, ActivationCost::k##cost, Op::k##function, \
   std::string_view(#form) == "Plain"},
#include "runtime/op/activations.def"
  };
  for (const auto& row : kRows)  // clip, not relu6, which has no numbers
    if (row.op == op && row.is_plain && row.kind != Activation::kRelu6 &&
        is_computed(row.cost, ActivationCost::kClamp))
      return fb::EnumNameActivation(fb::Activation(row.kind));
  return nullptr;
}

bool is_one_number(const std::vector<double>& v) {
  for (const double x : v)
    if (x != v.front() || !std::isfinite(x)) return false;
  return !v.empty();
}

/// Behind relu or hard_swish: a factor, then a sum, rounded once where there are both.
bool fold_affine_behind(Editor& e, Node& node) {
  Node* maker = nullptr;
  std::optional<Affine> found;
  for (const ValueId x : node.inputs) {
    Node* const producer = x >= 0 ? e.producer(x) : nullptr;
    if (!producer || !has_weights(*producer) || !e.read_once(x)) continue;
    maker = producer, found = affine(e, node, x);
  }
  // A quotient is rounded once, a product with the reciprocal twice.
  if (!found || !is_one_number(found->factor) || !is_one_number(found->shift) ||
      only_step(node)->op == Op::kDiv)
    return false;
  const double factor = found->factor.front(), shift = found->shift.front();
  const bool has_residual = maker->inputs.size() > 3 && maker->inputs[3] >= 0;
  if (has_residual && !maker->integer(attr::residual_first, 0)) return false;
  const std::string kind = maker->text(attr::activation, "none");
  const bool is_scaled = (kind == "relu_affine" || kind == "hard_swish_affine") &&
                         maker->number(attr::activation_beta, 0) == 0 && factor == 1;
  if (kind != "relu" && kind != "hard_swish" && !is_scaled) return false;
  if (!is_scaled) {
    maker->attributes[attr::activation] = kind + "_affine";
    maker->attributes[attr::activation_alpha] = factor;
  }
  maker->attributes[attr::activation_beta] = shift != 0 ? shift : -0.0;  // no zero changes its sign
  const ValueId out = node.outputs[0];
  e.kill(node);
  e.set_outputs(*maker, {out});
  e.merge_sources(*maker, node);
  return true;
}

}  // namespace

uint32_t fold_activation(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (!node->dead && fold_affine_behind(e, *node)) {
      changed++;
      continue;
    }
    if (node->dead || !is_unary(*node) || node->text(attr::compute, "f32") != "f32") continue;
    Step step = *only_step(*node);
    const char* const kind = activation_name(step.op);
    Node* maker = e.producer(node->inputs[0]);
    if (!kind || !maker || !e.read_once(node->inputs[0])) continue;
    if (!has_weights(*maker) || maker->has(attr::activation)) continue;
    if (e.value(node->outputs[0]).dtype != DType::kF32) continue;
    bool six = step.op == Op::kClip && step.alpha == 0 && step.beta == 6;
    maker->attributes[attr::activation] = std::string(six ? "relu6" : kind);
    if (!six && (step.alpha != 0 || step.beta != 0)) {
      maker->attributes[attr::activation_alpha] = step.alpha;
      maker->attributes[attr::activation_beta] = step.beta;
    }
    if (maker->inputs.size() > 3 && maker->inputs[3] >= 0)
      maker->attributes[attr::residual_first] = int64_t(1);
    ValueId out = node->outputs[0];
    e.kill(*node);
    e.set_outputs(*maker, {out});
    e.merge_sources(*maker, *node);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
