// An activation goes into the store of the convolution or Linear before it, and so do a factor and
// a number that follow a Relu or HardSwish (learnable affine blocks of PP-LCNet and PP-HGNet).
#include <cmath>
#include <map>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

bool takes_activation(const Node& node) {
  return node.op == "Conv2d" || node.op == "Linear" || node.op == "ConvTranspose2d";
}

const std::map<Op, const char*> kActivationNames = {{Op::kRelu, "relu"},
                                                    {Op::kClip, "clip"},
                                                    {Op::kLeakyRelu, "leaky_relu"},
                                                    {Op::kSigmoid, "sigmoid"},
                                                    {Op::kTanh, "tanh"},
                                                    {Op::kSilu, "silu"},
                                                    {Op::kHardSwish, "hard_swish"},
                                                    {Op::kHardSigmoid, "hard_sigmoid"},
                                                    {Op::kGelu, "gelu"},
                                                    {Op::kGeluTanh, "gelu_tanh"},
                                                    {Op::kElu, "elu"},
                                                    {Op::kSoftplus, "softplus"},
                                                    {Op::kMish, "mish"}};

/// y = x * scale + shift, the same numbers for every element of x.
struct OneAffine {
  double scale = 1, shift = -0.0;  // of which no zero changes its sign
};

std::optional<double> one_number(const Editor& e, const Node& node, int reg, double constant) {
  if (reg == kConstantRegister) return constant;
  const auto numbers = per_channel(e.model, node.inputs[size_t(reg)], e.dims(node.outputs[0]));
  if (!numbers || numbers->empty()) return std::nullopt;
  for (const double number : *numbers)
    if (number != numbers->front()) return std::nullopt;
  return numbers->front();
}

std::optional<OneAffine> affine_of(const Editor& e, const Node& node, ValueId x) {
  const std::optional<Step> s = only_step(node);
  if (!s || node.text("compute", "f32") != "f32" || e.value(node.outputs[0]).dtype != DType::kF32 ||
      !same(e.dims(x), e.dims(node.outputs[0])))
    return std::nullopt;
  if (s->op == Op::kScaleShift) return OneAffine{s->alpha, s->beta};
  const auto is_x = [&](int reg) {
    return reg != kConstantRegister && node.inputs[size_t(reg)] == x;
  };
  if ((s->op != Op::kAdd && s->op != Op::kSub && s->op != Op::kMul) || is_x(s->a) == is_x(s->b))
    return std::nullopt;
  const bool is_first = is_x(s->a);
  const std::optional<double> number = one_number(e, node, is_first ? s->b : s->a, s->alpha);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  if (s->op == Op::kMul) return OneAffine{*number};
  if (s->op == Op::kAdd) return OneAffine{1, *number};
  if (is_first) return OneAffine{1, -*number};
  return OneAffine{-1, *number};
}

/// Behind relu or hard_swish: a factor, then a sum, rounded once where there are both.
bool fold_affine_behind(Editor& e, Node& node) {
  Node* maker = nullptr;
  std::optional<OneAffine> affine;
  for (const ValueId x : node.inputs) {
    Node* const producer = x >= 0 ? e.producer(x) : nullptr;
    if (!producer || !takes_activation(*producer) || !e.read_once(x)) continue;
    maker = producer, affine = affine_of(e, node, x);
  }
  if (!affine) return false;
  const bool has_residual = maker->inputs.size() > 3 && maker->inputs[3] >= 0;
  if (has_residual && !maker->integer("residual_first", 0)) return false;
  const std::string kind = maker->text("activation", "none");
  const bool is_scaled = (kind == "relu_affine" || kind == "hard_swish_affine") &&
                         maker->number("activation_beta", 0) == 0 && affine->scale == 1;
  if (kind != "relu" && kind != "hard_swish" && !is_scaled) return false;
  if (!is_scaled) {
    maker->attributes["activation"] = kind + "_affine";
    maker->attributes["activation_alpha"] = affine->scale;
  }
  maker->attributes["activation_beta"] = affine->shift;
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
    if (node->dead || !is_unary(*node) || node->text("compute", "f32") != "f32") continue;
    Step step = *only_step(*node);
    auto kind = kActivationNames.find(step.op);
    Node* maker = e.producer(node->inputs[0]);
    if (kind == kActivationNames.end() || !maker || !e.read_once(node->inputs[0])) continue;
    if (!takes_activation(*maker) || maker->has("activation")) continue;
    if (e.value(node->outputs[0]).dtype != DType::kF32) continue;
    bool six = step.op == Op::kClip && step.alpha == 0 && step.beta == 6;
    maker->attributes["activation"] = std::string(six ? "relu6" : kind->second);
    if (!six && (step.alpha != 0 || step.beta != 0)) {
      maker->attributes["activation_alpha"] = step.alpha;
      maker->attributes["activation_beta"] = step.beta;
    }
    if (maker->inputs.size() > 3 && maker->inputs[3] >= 0)
      maker->attributes["residual_first"] = int64_t(1);
    ValueId out = node->outputs[0];
    e.kill(*node);
    e.set_outputs(*maker, {out});
    e.merge_sources(*maker, *node);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
